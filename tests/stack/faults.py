"""Faults at seeded random times: what is killed, when, and for how long it stays away."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.servers.handle import Server
from tests.stack.orphans import parent_of, worker_processes
from tests.stack.stack import Stack
from tests.stack.waiting import until

#: How often each part is hit.
PLAN = {
    "agent": 6,
    "child": 8,
    "telemetry": 3,
    "scheduler": 3,
    "registry": 2,
    "broker": 2,
    "database": 2,
    "redis": 1,
}


@dataclass
class Saboteur:
    """Breaks parts of *stack* one after the other and puts them up again.

    It works in the caller's thread, because what it starts dies with that thread.
    """

    stack: Stack
    dice: random.Random
    injected: Counter[str] = field(default_factory=Counter)
    diary: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Return what will be hit, in a random order."""
        chosen = [target for target, times in PLAN.items() for _ in range(times)]
        self.dice.shuffle(chosen)
        return chosen

    def needs_a_worker(self, target: str) -> bool:
        """Tell whether *target* can only be hit while some worker runs."""
        return target in ("agent", "child")

    def inject(self, target: str) -> None:
        """Break *target* and repair it; returns when it runs again, though perhaps not yet ready."""
        acts: dict[str, Callable[[], None]] = {
            "agent": lambda: self._restart(self._busy_agent()),
            "child": self._kill_child,
            "broker": lambda: self._restart_server(self.stack.servers.rabbitmq),
            "database": lambda: self._restart_server(self.stack.servers.postgres),
            "redis": lambda: self._restart_server(self.stack.servers.redis),
        }
        acts.get(target, lambda: self._restart(target))()
        self.injected[target] += 1

    def rest(self) -> None:
        """Let things go well for a moment."""
        time.sleep(self.dice.uniform(0.2, 2.5))

    def _restart(self, name: str) -> None:
        part = self.stack.parts[name]
        self._note(f"kill -9 {name}")
        part.kill()
        time.sleep(self.dice.uniform(0, 1.5))
        part.start()

    def _busy_agent(self) -> str:
        """Choose an agent that executes something, since killing an idle one proves little."""
        parents = {parent_of(process) for process in self._some_children()}
        busy = [name for name in self.stack.agent_names if self.stack.parts[name].pid in parents]
        return self.dice.choice(busy or self.stack.agent_names)

    def _kill_child(self) -> None:
        victim = self.dice.choice(self._some_children())
        self._note(f"kill -9 child {victim}")
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)

    def _some_children(self) -> list[int]:
        return until(lambda: sorted(worker_processes(self.stack.runs_root)), what="a worker to be running")

    def _restart_server(self, server: Server) -> None:
        end = self.dice.choice([server.stop, server.kill])
        self._note(f"{end.__name__} {server.kind}")
        end()
        # Whoever comes up while it is away must wait for it, not die.
        if self.dice.random() < 0.5:
            self._restart(self.dice.choice(["telemetry", "scheduler", *self.stack.agent_names]))
        server.start()

    def _note(self, what: str) -> None:
        self.diary.append(f"{time.strftime('%H:%M:%S')} {what}")

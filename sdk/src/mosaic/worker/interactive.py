"""A trained policy on a leash: commands as JSON lines on stdin, one answer each on stdout.

=====================  =========================================================================
command                answer
=====================  =========================================================================
``reset``              ``ready``: the episode begins, with ``seed`` if one is given
``step``               ``step``: the policy acts once; then ``episode_done`` if that ended it
``init_agent``         ``agent_initialized``: the policy will act for ``player_id``
``select_action``      ``action_selected``: what the policy would do, without any environment
``ping``               ``pong``
``stop``               ``stopped``, and the loop ends
=====================  =========================================================================

Anything else, and anything that goes wrong, is answered by ``error`` with a sentence; the loop goes on.
The end of stdin counts as ``stop``. The first line, before any command, is ``init``.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TextIO

from mosaic.errors import MosaicError, did_you_mean
from mosaic.worker.plain import plain, to_json

PROTOCOL_VERSION = "1.0"
#: How often a loop that waits for a command looks whether it should end.
_LOOK_S = 0.2
#: How many commands are read ahead.
_WAITING = 16

#: Takes an observation and the mask of legal actions, or None when all are legal; returns an action.
Policy = Callable[[Any, Any], Any]
Answer = dict[str, Any]


class PlayedEnvironment(Protocol):
    """What of gymnasium's interface is used here; any gymnasium environment fits."""

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act once: observation, reward, terminated, truncated, info."""


class InteractiveSession:
    """Answers commands with one policy and, if it has one, one environment."""

    def __init__(self, policy: Policy, env: PlayedEnvironment | None, *, run_id: str, env_id: str) -> None:
        self._policy = policy
        self._env = env
        self._names = {"run_id": run_id, "env_id": env_id}
        self._observation: Any = None
        self._mask: Any = None
        self._is_playing = False
        self._step_index = 0
        self._episode_index = -1
        self._episode_reward = 0.0
        self.is_stopped = False
        self._commands: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Answer]]] = {
            "reset": self._reset,
            "step": self._step,
            "init_agent": self._init_agent,
            "select_action": self._select_action,
            "ping": self._ping,
            "stop": self._stop,
        }

    def greeting(self) -> Answer:
        """Return the line that comes before any command."""
        return {"type": "init", **self._names, "version": PROTOCOL_VERSION, "commands": sorted(self._commands)}

    def answer(self, line: str) -> list[Answer]:
        """Return the answers to one line; never raises for what it holds or causes."""
        try:
            command = json.loads(line)
            if not isinstance(command, dict):
                return [_error('a command must be a JSON object such as {"cmd": "ping"}')]
            return list(self._obey(command))
        except json.JSONDecodeError as error:
            return [_error(f"not JSON: {error.msg} at column {error.colno}")]
        except MosaicError as error:
            return [_error(str(error))]
        except Exception as error:
            return [_error(f"{type(error).__name__}: {error}")]

    @property
    def summary(self) -> dict[str, Any]:
        """Return what was played, as the summary of a run."""
        return {"status": "completed", "mode": "interactive", "episodes": self._episode_index + 1}

    def _obey(self, command: Mapping[str, Any]) -> Iterator[Answer]:
        name = str(command.get("cmd", ""))
        if name not in self._commands:
            yield _error(f"there is no command {name!r}{did_you_mean(name, list(self._commands))}")
            return
        yield from self._commands[name](command)

    def _reset(self, command: Mapping[str, Any]) -> Iterator[Answer]:
        if self._env is None:
            yield _error("this session has no environment; use select_action")
            return
        seed = command.get("seed")
        self._observation, info = self._env.reset(seed=None if seed is None else int(seed))
        self._mask = _mask_in(info)
        self._is_playing, self._step_index, self._episode_reward = True, 0, 0.0
        self._episode_index += 1
        yield {
            "type": "ready",
            **self._names,
            "seed": seed,
            "observation": plain(self._observation),
            "observation_shape": list(getattr(self._observation, "shape", ())),
            **self._place(),
        }

    def _step(self, command: Mapping[str, Any]) -> Iterator[Answer]:
        if self._env is None or not self._is_playing:
            yield _error("no episode is under way; send reset first")
            return
        action = command["action"] if "action" in command else self._policy(self._observation, self._mask)
        self._observation, reward, terminated, truncated, info = self._env.step(action)
        self._mask = _mask_in(info)
        self._step_index += 1
        self._episode_reward += float(reward)
        yield {
            "type": "step",
            "run_id": self._names["run_id"],
            "action": plain(action),
            "observation": plain(self._observation),
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            **self._place(),
        }
        if terminated or truncated:
            self._is_playing = False
            yield self._episode_done()

    def _episode_done(self) -> Answer:
        return {
            "type": "episode_done",
            "run_id": self._names["run_id"],
            "total_reward": self._episode_reward,
            "episode_length": self._step_index,
            "episode_index": self._episode_index,
        }

    def _place(self) -> Answer:
        return {
            "step_index": self._step_index,
            "episode_index": self._episode_index,
            "episode_reward": self._episode_reward,
        }

    def _init_agent(self, command: Mapping[str, Any]) -> Iterator[Answer]:
        told = {name: command.get(name) for name in ("game_name", "player_id")}
        yield {"type": "agent_initialized", "run_id": self._names["run_id"], **told, "mode": "action_selector"}

    def _select_action(self, command: Mapping[str, Any]) -> Iterator[Answer]:
        if "observation" not in command:
            yield _error("select_action needs an observation")
            return
        action = self._policy(command["observation"], command.get("action_mask"))
        player = command.get("player_id")
        yield {
            "type": "action_selected",
            "run_id": self._names["run_id"],
            "player_id": player,
            "action": plain(action),
        }

    def _ping(self, _command: Mapping[str, Any]) -> Iterator[Answer]:
        yield {"type": "pong"}

    def _stop(self, _command: Mapping[str, Any]) -> Iterator[Answer]:
        self.is_stopped = True
        yield {"type": "stopped"}


def serve(
    policy: Policy,
    env: PlayedEnvironment | None = None,
    *,
    run_id: str,
    env_id: str,
    commands: Iterable[str] | None = None,
    answers: TextIO | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Answer *commands* (stdin) on *answers* (stdout) until told to stop; return a summary.

    *should_stop* is asked while waiting, so that a signal ends the loop although no command comes.
    """
    session = InteractiveSession(policy, env, run_id=run_id, env_id=env_id)
    output = sys.stdout if answers is None else answers
    _say(output, [session.greeting()])
    for line in _lines(sys.stdin if commands is None else commands, should_stop):
        if line.strip():
            _say(output, session.answer(line))
        if session.is_stopped:
            break
    return session.summary


def _lines(commands: Iterable[str], should_stop: Callable[[], bool]) -> Iterator[str]:
    """Yield lines as they come; read in a thread, because a blocked read cannot be asked to end."""
    # Bounded, so that commands nobody has answered yet wait in the pipe and not in memory.
    arrived: queue.Queue[str | None] = queue.Queue(_WAITING)
    threading.Thread(target=_read, args=(commands, arrived), name="mosaic-commands", daemon=True).start()
    while not should_stop():
        try:
            line = arrived.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
        if line is None:
            return
        yield line


def _read(commands: Iterable[str], arrived: queue.Queue[str | None]) -> None:
    try:
        for line in commands:
            arrived.put(line)
    finally:
        arrived.put(None)


def _say(output: TextIO, answers: Iterable[Answer]) -> None:
    for answer in answers:
        output.write(f"{to_json(answer)}\n")
    output.flush()


def _error(message: str) -> Answer:
    return {"type": "error", "message": message}


def _mask_in(info: Any) -> Any:
    return info.get("action_mask") if isinstance(info, Mapping) else None

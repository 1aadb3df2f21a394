"""Weights & Biases beside the training, never in its way.

The client runs in a process of its own, fed by a pipe: whatever it does (hang, crash, leave threads or
handlers behind) cannot stop, slow or change the training. It is in a session of its own too, so that a signal
to the worker's group leaves it alive to send the rest; it ends soon after the worker, however that ended.
Points that it does not take in time are dropped and counted. The key is read by the client from
``WANDB_API_KEY`` in its environment; it is on no command line and in no file of ours. A run that is to send its
curves and has no key is refused before it begins.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from mosaic.errors import BadInput
from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.plain import to_json

#: Rows that may wait for the client; later ones are dropped.
QUEUE_ROWS = 20_000
#: How long the client may take to connect, and to send the rest when the run has ended.
INIT_TIMEOUT_S = 60.0
FINISH_TIMEOUT_S = 30.0
#: The same when the run was asked to stop: a part of the grace that a run has before it is killed.
STOP_TIMEOUT_S = 5.0
#: How long a client may outlive its worker.
ORPHAN_S = 5.0
_LOOK_S = 0.1
_ORPHAN_LOOK_S = 1.0

MODES = ("online", "offline")

_NO_KEY = (
    "the curves are to be sent to W&B, but the run has no key; hand one over with `--secret WANDB_API_KEY=NAME`, "
    "or set wandb_mode=offline to keep them for `wandb sync`"
)


@dataclass(frozen=True)
class WandbSettings:
    """What the client is told when it starts."""

    project: str
    mode: str = "offline"
    entity: str | None = None
    name: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    #: Hyper-parameters to show beside the curves.
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a mode that the client does not know."""
        if self.mode not in MODES:
            raise BadInput("wandb_mode", [f"must be one of {', '.join(MODES)}, is {self.mode!r}"])

    @classmethod
    def of_config(cls, config: Any) -> WandbSettings | None:
        """Return what the ``wandb_`` settings of a worker's *config* ask for; None if they ask for nothing."""
        if not config.track_wandb:
            return None
        return cls(
            project=config.wandb_project,
            mode=config.wandb_mode,
            entity=config.wandb_entity,
            name=config.wandb_run_name or config.run_id,
            group=config.wandb_group,
            tags=tuple(config.wandb_tags),
            notes=config.notes or None,
            config=config.to_dict(),
        )


class WandbGuard:
    """Hands rows to a client process; every method returns at once, except `finish`, which is bounded.

    *warn* hears, in a sentence and at most once each, that the client failed or that rows were dropped.
    Without *settings* there is no client, and nothing is told to anybody.
    """

    def __init__(
        self,
        settings: WandbSettings | None,
        directory: Path,
        *,
        warn: Callable[[str], None],
        command: Sequence[str] = (sys.executable, "-m", "mosaic.worker.wandb_guard"),
        queue_rows: int = QUEUE_ROWS,
    ) -> None:
        """Start the client, which keeps its files under *directory*; a client that cannot start is a warning."""
        self._warn = warn
        self._rows: queue.Queue[str | None] = queue.Queue(queue_rows)
        self._threads: list[threading.Thread] = []
        self._mode = settings.mode if settings else None
        #: What the client says of the run once it knows it.
        self._run: dict[str, Any] = {}
        self.dropped = 0
        self._client = self._start(command, directory) if settings else None
        if settings:
            self._put({"settings": asdict(settings), "directory": str(directory)})

    @classmethod
    def of_run(cls, config: Any, emitter: TelemetryEmitter, run_dir: Path) -> WandbGuard:
        """Start what *config* asks for, its files beside the others in *run_dir*; its troubles go to the run's log.

        Raises:
            BadInput: the curves are to be sent, and there is no key to send them with. What goes wrong later, also
                a key that is refused, is only a warning.
        """
        settings = WandbSettings.of_config(config)
        if settings is not None and settings.mode == "online" and not has_key(os.environ):
            raise BadInput("track_wandb", [_NO_KEY])
        return cls(settings, run_dir / "wandb", warn=lambda sentence: emitter.log(sentence, "warning"))

    @property
    def is_alive(self) -> bool:
        """Tell whether there still is a client that could take rows."""
        return self._client is not None and self._client.poll() is None

    @property
    def run_path(self) -> str | None:
        """``entity/project/id`` of the run once the client knows it."""
        return self._run.get("run_path")

    def told(self) -> dict[str, Any] | None:
        """Return where the curves are, for the run's summary; None when no client has begun a run.

        ``project``, ``entity``, ``run_id``, ``run_path``, ``url`` and ``mode``; a run that is offline has no ``url``.
        """
        return {**self._run, "mode": self._mode} if self._run else None

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Hand over one row of values at *step*; dropped when the client is gone or too slow."""
        if self.is_alive:
            self._put({"step": step, "values": dict(values)})
        else:
            self.dropped += 1

    def finish(self, timeout_s: float = FINISH_TIMEOUT_S, *, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Let the client send what it has, for *timeout_s* at most, then end it.

        Once *is_stopping*, also when that comes true meanwhile, it has `STOP_TIMEOUT_S` at most.
        """
        if self._client is None:
            return
        if not self._ends_within(timeout_s, is_stopping):
            self._warn("W&B did not finish in time and was ended; `wandb sync` can send the rest from its files")
            self._client.kill()
            self._client.wait()
        for thread in self._threads:
            thread.join(1.0)
        if self.dropped:
            self._warn(f"W&B did not take {self.dropped} rows in time; TensorBoard and the platform have them all")
        self._client = None

    def _ends_within(self, timeout_s: float, is_stopping: Callable[[], bool]) -> bool:
        assert self._client is not None
        began, is_told = time.monotonic(), False
        while self._client.poll() is None:
            is_told = is_told or self._tell_of_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._client.wait(_LOOK_S)
                break
            if time.monotonic() - began >= (min(timeout_s, STOP_TIMEOUT_S) if is_stopping() else timeout_s):
                return False
        return True

    def _tell_of_end(self) -> bool:
        """Ask for the end of rows; False while too many are waiting for it to be noted."""
        try:
            self._rows.put_nowait(None)
        except queue.Full:
            return False
        return True

    def _start(self, command: Sequence[str], directory: Path) -> subprocess.Popen[str] | None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            client = subprocess.Popen(
                [*command, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._warn(f"W&B is left out: its client cannot be started: {error}")
            return None
        assert client.stdin is not None
        assert client.stdout is not None
        for target, stream in ((self._feed, client.stdin), (self._listen, client.stdout)):
            thread = threading.Thread(target=target, args=(stream,), name="mosaic-wandb", daemon=True)
            thread.start()
            self._threads.append(thread)
        return client

    def _put(self, row: Mapping[str, Any]) -> None:
        try:
            self._rows.put_nowait(to_json(row))
        except queue.Full:
            self.dropped += 1

    def _feed(self, pipe: IO[str]) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while (row := self._rows.get()) is not None:
                pipe.write(f"{row}\n")
                if self._rows.empty():
                    pipe.flush()

    def _listen(self, pipe: IO[str]) -> None:
        with pipe:
            for line in pipe:
                said = _answer_in(line)
                self._run = said.get("run", self._run)
                if "error" in said:
                    self._warn(f"W&B is left out: {said['error']}")


def has_key(environment: Mapping[str, str]) -> bool:
    """Tell whether the client would find a key where it looks for one: the environment, then ``.netrc``."""
    if environment.get("WANDB_API_KEY"):
        return True
    host = urlsplit(environment.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    path = Path(environment.get("NETRC") or Path(environment.get("HOME") or "/", ".netrc"))
    try:
        return netrc(path).authenticators(host) is not None
    except (OSError, NetrcParseError, UnicodeDecodeError):
        return False


def run_client(lines: Iterable[str], wandb: Any, say: Callable[[Mapping[str, Any]], None]) -> None:
    """Be the client: the first of *lines* holds the settings, the others are rows for *wandb*."""
    rows = iter(lines)
    first = json.loads(next(rows))
    try:
        run = wandb.init(**_init_arguments(first, wandb))
        say({"run": _facts_of(run)})
        newest = 0
        for line in rows:
            row = json.loads(line)
            # W&B drops a row that is older than its newest; an evaluation is of the checkpoint that it played.
            newest = max(newest, row["step"])
            run.log({**row["values"], "global_step": row["step"]}, step=newest)
        run.finish()
    except Exception as error:
        say({"error": _without_secrets(f"{type(error).__name__}: {error}", os.environ)})


def _init_arguments(first: Mapping[str, Any], wandb: Any) -> dict[str, Any]:
    told = first["settings"]
    # Its console capture and its prints are for people at a terminal; here they would be noise.
    settings = wandb.Settings(console="off", silent=True, init_timeout=INIT_TIMEOUT_S)
    return {**told, "tags": list(told["tags"]) or None, "dir": first["directory"], "settings": settings}


def _facts_of(run: Any) -> dict[str, Any]:
    path = "/".join(part for part in (run.entity, run.project, run.id) if part)
    facts = {"project": run.project, "entity": run.entity or None, "run_id": run.id, "run_path": path}
    return {**facts, "url": None if run.offline else run.url or None}


def _without_secrets(text: str, environment: Mapping[str, str]) -> str:
    key = environment.get("WANDB_API_KEY")
    return text.replace(key, "***") if key else text


def _answer_in(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _end_after(worker: int) -> None:
    """End this process by force soon after *worker*, its parent, whatever then still hangs."""
    while os.getppid() == worker:
        time.sleep(_ORPHAN_LOOK_S)
    time.sleep(ORPHAN_S)
    os._exit(1)


def main() -> None:
    """Run the client on stdin, answering on the real stdout, which nobody else may write to.

    The last argument is the process of the worker.
    """
    threading.Thread(target=_end_after, args=(int(sys.argv[-1]),), name="mosaic-orphan", daemon=True).start()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: Mapping[str, Any]) -> None:
        answers.write(f"{to_json(answer)}\n")
        answers.flush()

    try:
        wandb = import_module("wandb")
    except Exception as error:
        say({"error": f"wandb cannot be imported: {error}"})
        return
    run_client(sys.stdin, wandb, say)


if __name__ == "__main__":
    main()

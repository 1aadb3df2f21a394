"""Telemetry as one JSON line per fact, on stdout.

Lines have exactly four top-level keys, sorted, and are ASCII::

    {"event":"run_started","payload":{"a":[1,2],"b":1},"run_id":"R1","timestamp":1794794175.0477881}

Life cycle, log and artifact lines are written and flushed at once. Metric, episode and step lines
wait for the next ones, a second at most, so that many share one write (see `mosaic.worker.lines`);
their order is kept. No payload raises: see `mosaic.worker.plain` for what becomes of values JSON
does not know.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from time import time
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from mosaic.worker.lines import LineWriter, writer_for
from mosaic.worker.plain import plain, to_json

if TYPE_CHECKING:
    import logging

#: The unit in which a metric's step is counted when nothing else is said.
ENV_STEPS = "env_steps"
#: Metric lines this close together carry one timestamp: printing a float anew costs as much as the rest.
METRIC_CLOCK_S = 0.001


class LogConstant(Protocol):
    """A message with a stable code, as workers of the desktop log beside what they emit."""

    def log(self, logger: logging.Logger, *, extra: Mapping[str, Any], exc_info: Any) -> None:
        """Log it, with *extra* as fields."""


class LifecycleEventType(str, Enum):
    """The life cycle as a worker tells it; the values are what stands on the wire."""

    RUN_STARTED = "run_started"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"
    HEARTBEAT = "heartbeat"
    CHECKPOINT_SAVED = "checkpoint_saved"
    CHECKPOINT_LOADED = "checkpoint_loaded"


#: The events that end a run.
TERMINAL_EVENTS = frozenset({"run_completed", "run_failed", "run_cancelled"})


@dataclass(frozen=True)
class LifecycleEvent:
    """One line of the life cycle."""

    event: str
    run_id: str
    timestamp: float  #: seconds since 1970, UTC
    payload: dict[str, Any]


class TelemetryEmitter:
    """Writes the telemetry of one run.

    All methods may be called from any thread and return None. None of them raises because of
    what a payload holds or because nobody reads the lines any more.
    """

    def __init__(self, run_id: str, *, sink: TextIO | None = None, logger: logging.Logger | None = None) -> None:
        """Write to *sink*, or to what ``sys.stdout`` is at this moment; nothing is written yet."""
        self._run_id = run_id
        self._logger = logger
        self._sink = sink or sys.stdout
        self._tail = f'}},"run_id":{to_json(run_id)},"timestamp":'
        self._metric_heads: dict[str, str] = {}
        self._ending = (0.0, "")

    @property
    def _sink(self) -> TextIO:
        return self._writer.stream

    @_sink.setter
    def _sink(self, sink: TextIO) -> None:
        self._writer: LineWriter = writer_for(sink)

    @property
    def _lock(self) -> Any:
        return self._writer.lock

    def run_started(self, payload: dict[str, Any], *, constant: LogConstant | None = None) -> None:
        """Say that work begins; usual keys are worker_type, algo, env_id, seed and config."""
        self._lifecycle(LifecycleEventType.RUN_STARTED, payload, constant)

    def run_completed(self, payload: dict[str, Any], *, constant: LogConstant | None = None) -> None:
        """Say that all is done; usual keys are episodes, total_reward, duration_seconds and final_metrics."""
        self._lifecycle(LifecycleEventType.RUN_COMPLETED, payload, constant)

    def run_failed(self, payload: dict[str, Any], *, constant: LogConstant | None = None, exc_info: Any = None) -> None:
        """Say that it could not be done; usual keys are error, error_type, traceback, episode and step."""
        self._lifecycle(LifecycleEventType.RUN_FAILED, payload, constant, exc_info)

    def run_cancelled(self, payload: dict[str, Any], *, constant: LogConstant | None = None) -> None:
        """Say that it was ended early; usual keys are reason, completed_episodes and partial_results."""
        self._lifecycle(LifecycleEventType.RUN_CANCELLED, payload, constant)

    def heartbeat(self, payload: dict[str, Any] | None = None, *, constant: LogConstant | None = None) -> None:
        """Say that the worker is alive; usual keys are episode, step, memory_mb and cpu_percent."""
        self._lifecycle(LifecycleEventType.HEARTBEAT, {} if payload is None else payload, constant)

    def checkpoint_saved(self, payload: dict[str, Any], *, constant: LogConstant | None = None) -> None:
        """Say where the run could go on from; usual keys are checkpoint_path, episode, step and metrics."""
        self._lifecycle(LifecycleEventType.CHECKPOINT_SAVED, payload, constant)

    def checkpoint_loaded(self, payload: dict[str, Any], *, constant: LogConstant | None = None) -> None:
        """Say what the run went on from; usual keys are checkpoint_path, episode and step."""
        self._lifecycle(LifecycleEventType.CHECKPOINT_LOADED, payload, constant)

    def settings_resolved(self, settings: Mapping[str, Mapping[str, Any]], **facts: Any) -> None:
        """Say with which settings the run really works: for each its ``value`` and its ``origin``.

        The origin is ``asked``, ``preset`` or ``default``; usual *facts* are seed, env_id and algo. Told again, the
        newest counts. See `mosaic.worker.library.settings`.
        """
        self._writer.write(self._line("settings_resolved", {"settings": settings, **facts}))

    def metric(self, name: str, value: float, step: int, *, unit: str = ENV_STEPS, agent: str | None = None) -> None:
        """Give one point of the series *name* at *step*; the cheapest line there is.

        *value* may be any real scalar, also of an array library; NaN and infinities are kept.
        *unit* says what *step* counts.
        """
        # Building the line by hand costs a quarter of json.dumps, and this is called in training loops.
        # The subtraction is zero for every finite number and for nothing else.
        kind = type(value)
        if (
            agent is None
            and unit == ENV_STEPS
            and type(step) is int
            and (kind is float or kind is int)
            and value - value == 0
        ):
            stamped_at, ending = self._ending
            now = time()
            if not 0 <= now - stamped_at < METRIC_CLOCK_S:
                ending = f"{self._tail}{now!r}}}\n"
                self._ending = (now, ending)
            try:
                head = self._metric_heads.get(name) or self._metric_head(name)
                line = f'{head}{step},"value":{value!r}{ending}'
            except (TypeError, ValueError):
                # A name that cannot be looked up, or an int of more digits than Python prints.
                self._uncommon_metric(name, value, step, unit, agent)
            else:
                self._writer.put(line)
        else:
            self._uncommon_metric(name, value, step, unit, agent)

    def metrics(
        self, values: Mapping[str, float], step: int, *, unit: str = ENV_STEPS, agent: str | None = None
    ) -> None:
        """Give one point of each series in *values*, all at *step*."""
        for name, value in values.items():
            self.metric(name, value, step, unit=unit, agent=agent)

    def episode(
        self,
        index: int,
        episode_return: float,
        length: int,
        *,
        step: int | None = None,
        agent: str | None = None,
        terminated: bool | None = None,
        truncated: bool | None = None,
        seed: int | None = None,
        evaluation: bool = False,
        **extra: Any,
    ) -> None:
        """Report a finished episode: its number, its return and how many steps it took.

        *step* is where the whole run stands. Without *agent* it is the episode of the run: of its only agent, or
        the sum over a team. *evaluation* keeps it apart from training. *extra* keys are kept as they are.
        """
        known = {
            "step": step,
            "agent_id": agent,
            "terminated": terminated,
            "truncated": truncated,
            "seed": seed,
            "evaluation": evaluation or None,
        }
        payload = {**extra, "episode_index": index, "total_reward": episode_return, "steps": length}
        self._writer.put(self._line("episode", payload | _given(known)))

    def step(
        self,
        episode_index: int,
        step_index: int,
        reward: float,
        *,
        terminated: bool = False,
        truncated: bool = False,
        action: Any = None,
        observation: Any = None,
        agent: str | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """Report one step of an episode. Under pressure these, and only these, may be thinned out."""
        payload = {
            "episode_index": episode_index,
            "step_index": step_index,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        known = {"action": action, "observation": observation, "agent_id": agent, "info": info}
        self._writer.put(self._line("step", payload | _given(known)))

    def log(self, text: str, level: str = "info") -> None:
        """Say *text* to the people who read the run's log."""
        self._writer.write(self._line("log", {"text": text, "level": level, "stream": "worker"}))

    def artifact(self, path: str | os.PathLike[str], kind: str, sha256: str | None = None, **extra: Any) -> None:
        """Name a file the run has written, relative to its run directory where possible.

        Its size is added when it can be seen from here. The file is not read: *sha256* is the
        caller's to give.
        """
        payload = {**extra, "path": plain(path), "kind": kind}
        known = {"sha256": sha256, "size_bytes": _size_of(path)}
        self._writer.write(self._line("artifact", _given(known) | payload))

    def event(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Say something that has no method here: a kind of `docs/reference/events.md`, or a word of your own."""
        self._writer.write(self._line(to_json(str(kind))[1:-1], payload))

    def flush(self) -> None:
        """Write what still waits. Normal exit does so by itself; who leaves by ``os._exit`` or a signal must."""
        self._writer.flush()

    def _lifecycle(
        self,
        kind: LifecycleEventType,
        payload: dict[str, Any],
        constant: LogConstant | None,
        exc_info: Any = None,
    ) -> None:
        event = kind.value
        line = self._line(event, payload)
        if kind is LifecycleEventType.RUN_STARTED:
            self._writer.start(self._run_id, line)
        else:
            self._writer.write(line)
        self._writer.seen.add((self._run_id, event))
        if kind is LifecycleEventType.HEARTBEAT and "quiet_s" in payload:
            # The session's own thread says this, whether the runtime does anything or not.
            self._writer.accepted -= 1
        if constant and self._logger:
            self._log_constant(constant, payload, exc_info)

    def _log_constant(self, constant: LogConstant, payload: Any, exc_info: Any) -> None:
        assert self._logger is not None
        told = plain(payload)
        extra = {"run_id": self._run_id, **(told if isinstance(told, dict) else {"payload": told})}
        constant.log(self._logger, extra=extra, exc_info=exc_info)

    def _line(self, event: str, payload: Any) -> str:
        return f'{{"event":"{event}","payload":{to_json(payload)}{self._tail[1:]}{time()!r}}}\n'

    def _metric_head(self, name: str) -> str:
        head = f'{{"event":"metric","payload":{{"name":{to_json(str(plain(name)))},"step":'
        self._metric_heads[name] = head
        return head

    def _uncommon_metric(self, name: str, value: Any, step: Any, unit: str, agent: str | None) -> None:
        payload = {"name": str(plain(name)), "value": _scalar(value), "step": plain(step)}
        if unit != ENV_STEPS:
            payload["unit"] = unit
        if agent is not None:
            payload["agent"] = agent
        self._writer.put(self._line("metric", payload))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _scalar(value: Any) -> Any:
    """Unwrap a number out of an array library; an array of one number counts as that number."""
    single = plain(value)
    while isinstance(single, list) and len(single) == 1:
        single = single[0]
    return single


def _size_of(path: str | os.PathLike[str]) -> int | None:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError, TypeError):
        return None

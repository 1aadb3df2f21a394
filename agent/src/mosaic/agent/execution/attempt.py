"""One attempt, from its launch to its terminal report.

Everything here happens in one thread, the loop's; each method is short and returns at once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import structlog

from mosaic.agent.execution.artifacts import Artifact, find_artifacts
from mosaic.agent.execution.attempt_store import AttemptHome, Checkpoint, FinalReport
from mosaic.agent.execution.child import Child, Command, spawn
from mosaic.agent.execution.final_report import compose, finalize
from mosaic.agent.execution.memory import Use, measure_mb
from mosaic.agent.execution.outcome import Ending, Evidence, Outcome, judge
from mosaic.agent.execution.walls import Walls, give, is_checkpoint, named_paths
from mosaic.agent.inventory import count_oom_kills
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.telemetry.lines import LifecycleLine
from mosaic.agent.telemetry.pipes import DISK_RETRY_S, Listener
from mosaic.agent.telemetry.stream import Stream
from mosaic.agent.timers import Timers
from mosaic.errors import BadInput, MosaicError, NotFound
from mosaic.events import ENDING_KINDS
from mosaic.launching import RunDirectory, child_environment, prepare
from mosaic.lifecycle import AttemptFact
from mosaic.model.attempt import Directive, HeldAttempt, Launch, Report
from mosaic.model.fleet import Node
from mosaic.processes import Seen, new_mark

log = structlog.get_logger()

#: What outlives the child is asked to go, and gets so long before it is killed.
LINGER_S = 5.0
#: A worker that can hold still by itself gets so long to say that it does, before it is stopped in place.
PAUSE_GRACE_S = 5.0
#: How often the dead are counted while some still live.
SWEEP_S = 0.02
#: Checkpoints are reported at most this often; the terminal report names the newest anyway.
CHECKPOINT_REPORT_S = 5.0

_ENDINGS = {
    Directive.CANCEL: Ending.CANCEL,
    # The scheduler counts the time too, and knows why it asked when the end is reported.
    Directive.EXPIRE: Ending.CANCEL,
    Directive.PREEMPT: Ending.PREEMPT,
    Directive.ABANDON: Ending.ABANDON,
}


@dataclass(frozen=True)
class AttemptContext:
    """What all attempts of an agent share."""

    agent_id: str
    machine: Node
    worker: WorkerProfile
    runs_root: Path
    #: What children may inherit from, filtered by `rundir.INHERITED`.
    environment: Mapping[str, str]
    heartbeat_s: float
    #: Put before the child's command so that it dies with the agent; may be empty.
    death_wrapper: Sequence[str]
    walls: Walls
    send: Callable[[Report], None]
    #: Frames were closed.
    on_frames: Callable[[], None]

    def placement(self, launch: Launch) -> dict[str, Any]:
        """Return where and with what *launch* is executed, for the agent's own events."""
        gpu_ids = list(launch.lease.gpu_ids)
        return {
            "node": self.machine.node_id,
            "gpus": gpu_ids,
            "versions": dict(self.worker.worker.versions),
            "machine": {
                "hostname": self.machine.hostname,
                "cpus": self.machine.cpus,
                "memory_mb": self.machine.memory_mb,
                "gpu_models": [gpu.model for gpu in self.machine.gpus if gpu.gpu_id in gpu_ids],
            },
        }


class Attempt:
    """Executes one launch and says how it went. `start` first; then the loop drives it."""

    def __init__(
        self,
        launch: Launch,
        home: AttemptHome,
        stream: Stream,
        context: AttemptContext,
        loop: asyncio.AbstractEventLoop,
        *,
        on_end: Callable[[Attempt], None],
        on_wait: Callable[[], None],
    ) -> None:
        self.launch = launch
        self.home = home
        self.stream = stream
        self.has_ended = False
        #: Nothing of its child lives, and the disk takes neither its last lines nor its end.
        self.waits_for_disk = False
        self._around = context
        self._loop = loop
        self._timers = Timers(loop)
        self._on_end = on_end
        self._on_wait = on_wait
        self._mark = new_mark()
        self._child: Child | None = None
        self._directory = RunDirectory(context.runs_root / launch.run_id)
        self._listener = Listener(
            stream,
            loop,
            on_lifecycle_line=self._notice,
            on_first_line=lambda: self._tell(AttemptFact.STARTED.value),
            on_frames=context.on_frames,
        )
        #: 0 = nobody looks, in both.
        self._hang_limit_s = _seconds(launch.hang_limit)
        self._max_wall_s = _seconds(launch.spec.max_wall)
        self._started_at = loop.time()
        self._paused_at: float | None = None
        self._is_asked_to_hold = False
        self._ending: Ending | None = None
        self._is_killing = False
        self._limit_s = 0.0
        self._last_word: str | None = None
        self._error: Mapping[str, Any] = {}
        self._checkpoint: Checkpoint | None = None
        self._checkpoint_told_at = float("-inf")
        self._oom_kills_before = 0
        self._uid: int | None = None
        self._memory = ""

    @property
    def held(self) -> HeldAttempt:
        """What keeps its lease alive."""
        return HeldAttempt(self.launch.run_id, self.launch.attempt, self.launch.control_token)

    @property
    def disk_fault(self) -> str | None:
        """Why what its worker says cannot be written down, None while it can."""
        return self._listener.disk_fault

    def start(self) -> None:
        """Start the child and listen to it. A start that fails ends the attempt with its reason."""
        try:
            lost = self._forget_lost_checkpoint()
            self.home.save_entry(self.launch, self._mark)
            self._child = child = self._spawn()
        except BadInput as error:
            self._end(judge(Evidence(exit_code=None, refusal=str(error))), None, [])
            return
        except (OSError, MosaicError, ValueError) as error:
            self._end(judge(Evidence(exit_code=None, start_fault=str(error))), None, [])
            return
        self._listener.say("attempt_started", **self._introduction(child))
        if lost:
            self._listener.say("log", text=lost, level="warning", stream="agent")
        self._listener.listen(child.stdout, child.stderr, is_roomy=child.has_roomy_pipe)
        self._loop.add_reader(child.exit_descriptor, self._on_exit, child)
        self._started_at = self._loop.time()
        self._watch_limits()
        # Without this note what is left of the child is found by its mark alone.
        self._remember(lambda: self.home.save_process(child.birth))
        log.info("worker started", pid=child.pid, **self._names)

    def obey(self, directive: Directive) -> None:
        """Do what the scheduler wants; wanting it twice changes nothing."""
        if directive in _ENDINGS:
            self.stop(_ENDINGS[directive])
        elif directive is Directive.PAUSE:
            self._pause()
        elif directive is Directive.RESUME:
            self._resume()

    def stop(self, ending: Ending) -> None:
        """End the child: SIGTERM to its group, its grace, SIGKILL. The first reason counts.

        An attempt that no longer counts gets no grace, whatever was wanted of it before.
        """
        if self._child is None or self.has_ended:
            return
        if ending is Ending.ABANDON:
            self._ending = ending
            self._kill()
        elif self._ending is None:
            self._ending = ending
            self._timers.cancel("hang", "wall", "pause")
            self._listener.hear_out()
            self._child.signal_group(signal.SIGTERM)
            self._child.signal_group(signal.SIGCONT)
            self._paused_at = None
            self._timers.after("kill", self.launch.grace.total_seconds(), self._kill)

    def use_of_memory(self, seen: Mapping[int, Seen]) -> Use | None:
        """Return what its processes among *seen* use, None when there is no child."""
        child, lease_mb = self._child, self.launch.lease.memory_mb
        if child is None or self.has_ended:
            return None
        used_mb = measure_mb(child.members(seen), enough_mb=lease_mb)
        # What nobody asked for is what the worker estimates.
        is_asked = lease_mb not in (0, self._around.worker.estimated_memory_mb)
        return Use(self.launch.run_id, self.launch.attempt, used_mb, lease_mb, is_asked)

    def end_for_memory(self, reason: str) -> None:
        """Kill the child, which uses more memory than it may; there is no time for a grace."""
        if self._child is not None and not self.has_ended and self._ending is None:
            self._ending, self._memory = Ending.MEMORY, reason
            self._kill()

    def let_go(self) -> None:
        """Leave a child that still lives to die with the thread that started it."""
        if self._child is not None:
            self._child.let_go()

    def _spawn(self) -> Child:
        around = self._around
        self._directory, config = prepare(around.runs_root, self.launch)
        self._uid = around.walls.take_uid()
        environment = child_environment(
            around.environment, self._with_own_checkpoint(), self._directory, heartbeat_s=around.heartbeat_s
        )
        if self._uid is not None:
            give(self._directory.path, self._uid, os.getegid())
        self._oom_kills_before = count_oom_kills()
        command = Command(
            [around.worker.python, *around.worker.worker.launch, "--config", str(config)],
            environment,
            self._directory.path,
            self._mark,
            self.launch.secrets,
            self._uid,
            lambda: around.walls.enter(self._directory.path, self._readable()),
        )
        return spawn(command, around.death_wrapper)

    def _readable(self) -> list[Path]:
        """Return the checkpoints of other runs that this one begins from or plays."""
        root = self._around.runs_root
        begun = [self._directory.find(self.launch.resume_from)] if self.launch.resume_from else []
        return [*(path for path in begun if is_checkpoint(path, root)), *named_paths(self.launch.spec.config, root)]

    def _with_own_checkpoint(self) -> Launch:
        """Return the launch; under a user id of its own, with a copy of the checkpoint of another run.

        Raises:
            NotFound: what is there is no checkpoint but a link.
        """
        wanted = self.launch.resume_from
        if self._uid is None or not wanted.startswith("../"):
            return self.launch
        source = self._directory.find(wanted)
        if not is_checkpoint(source, self._around.runs_root):
            raise NotFound(f"the checkpoint that this run is to begin from is a link: {source}")
        copy = self._directory.path / "inherited" / source.name
        copy.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, copy, follow_symlinks=False)
        return replace(self.launch, resume_from=f"inherited/{source.name}")

    def _forget_lost_checkpoint(self) -> str:
        """Begin anew when the checkpoint is not here, which no retry would change; return what to say of it.

        Raises:
            NotFound: it is that of a run which this one is to continue: who asks for that wants nothing else.
        """
        wanted = self.launch.resume_from
        if not wanted or self._directory.holds(wanted):
            return ""
        if wanted.startswith("../"):
            place = self._directory.find(wanted)
            raise NotFound(f"the checkpoint that this run is to begin from is not there: {place}. Was it deleted?")
        self.launch = replace(self.launch, resume_from="")
        log.warning("attempt begins anew, its checkpoint is gone", checkpoint=wanted, **self._names)
        return (
            f"there is no checkpoint {wanted} in {self._directory.path}: this attempt begins anew. "
            "Was it deleted, or do agents not share the directory of runs?"
        )

    def _introduction(self, child: Child) -> dict[str, Any]:
        return {
            "attempt": self.launch.attempt,
            "worker": self.launch.spec.worker,
            "agent": self._around.agent_id,
            "pid": child.pid,
            "resumed_from": self.launch.resume_from or None,
            "environment": self._around.worker.environment,
            **self._around.placement(self.launch),
        }

    def _notice(self, lifecycle_line: LifecycleLine) -> None:
        if lifecycle_line.kind == "checkpoint_saved":
            self._note_checkpoint(lifecycle_line)
        elif lifecycle_line.kind == "heartbeat":
            self._note_pause(is_paused=lifecycle_line.payload.get("paused") is True)
        elif lifecycle_line.kind in ENDING_KINDS:
            self._last_word = lifecycle_line.kind
            self._error = lifecycle_line.payload if lifecycle_line.kind == "run_failed" else {}

    def _note_checkpoint(self, lifecycle_line: LifecycleLine) -> None:
        path = lifecycle_line.payload.get("checkpoint_path") or lifecycle_line.payload.get("path")
        if isinstance(path, str):
            path = self._directory.relative(self.stream.mask(path))
            self._checkpoint = checkpoint = Checkpoint(path, datetime.now(timezone.utc))
            # Without this note a new agent does not know of it, and a later checkpoint may be written down again.
            self._remember(lambda: self.home.save_checkpoint(checkpoint))
            wait_s = self._checkpoint_told_at + CHECKPOINT_REPORT_S - self._loop.time()
            self._timers.after("checkpoint", wait_s, self._tell_checkpoint)

    def _remember(self, save: Callable[[], None]) -> None:
        """Write down what helps a new agent; a full disk must not keep this one from its work."""
        try:
            save()
        except OSError as error:
            log.warning("attempt goes on unremembered", reason=str(error), **self._names)

    def _tell_checkpoint(self) -> None:
        self._checkpoint_told_at = self._loop.time()
        self._tell("checkpoint")

    def _watch_limits(self) -> None:
        now = self._loop.time()
        if self._hang_limit_s > 0:
            wait_s = self._listener.heard_at + self._hang_limit_s - now
            self._timers.after("hang", wait_s, self._check_silence)
        if self._max_wall_s > 0:
            self._timers.after("wall", self._started_at + self._max_wall_s - now, self._run_out_of_time)

    def _check_silence(self) -> None:
        if self._loop.time() - self._listener.heard_at >= self._hang_limit_s:
            self._limit_s = self._hang_limit_s
            self.stop(Ending.HUNG)
        else:
            self._watch_limits()

    def _run_out_of_time(self) -> None:
        self._limit_s = self._max_wall_s
        self.stop(Ending.TIME_LIMIT)

    def _pause(self) -> None:
        can_pause = self._child is not None and self._child.exit_code() is None and self._ending is None
        if self._child is not None and can_pause and self._paused_at is None:
            self._paused_at = self._loop.time()
            self._timers.cancel("hang", "wall")
            if self._around.worker.can_pause:
                # It holds between two steps; to be stopped in place breaks what others keep alive, such as connections.
                self._is_asked_to_hold = True
                self._child.signal_leader(signal.SIGTSTP)
                self._timers.after("pause", PAUSE_GRACE_S, self._freeze)
            else:
                self._freeze()

    def _freeze(self) -> None:
        self._is_asked_to_hold = False
        if self._child is not None and self._paused_at is not None:
            self._child.signal_group(signal.SIGSTOP)
            self._tell(AttemptFact.PAUSED.value)

    def _note_pause(self, *, is_paused: bool) -> None:
        if is_paused and self._is_asked_to_hold:
            self._is_asked_to_hold = False
            self._timers.cancel("pause")
            self._tell(AttemptFact.PAUSED.value)
        elif is_paused and self._paused_at is None and self._child is not None:
            # It was told to go on before it had heard that it should hold.
            self._child.signal_leader(signal.SIGCONT)

    def _resume(self) -> None:
        if self._child is not None and self._paused_at is not None:
            # Time in which it could not run is held against neither limit.
            asleep_s = self._loop.time() - self._paused_at
            self._started_at += asleep_s
            self._listener.heard_at += asleep_s
            self._paused_at = None
            self._is_asked_to_hold = False
            self._timers.cancel("pause")
            self._child.signal_group(signal.SIGCONT)
            self._watch_limits()
            self._tell(AttemptFact.RESUMED.value)

    def _kill(self) -> None:
        if self._child is not None:
            self._is_killing = True
            self._child.kill()

    def _on_exit(self, child: Child) -> None:
        self._loop.remove_reader(child.exit_descriptor)
        child.exit_code()
        self._timers.cancel("hang", "wall", "pause")
        self._paused_at = None
        self._sweep(child, signal.SIGTERM)

    def _sweep(self, child: Child, number: signal.Signals | None = None) -> None:
        """Go on only when nothing of the child lives any more: that is what frees the lease."""
        if child.signal_survivors(signal.SIGKILL if self._is_killing else number):
            self._timers.after("kill", min(self.launch.grace.total_seconds(), LINGER_S), self._kill)
            self._timers.after("sweep", SWEEP_S, lambda: self._sweep(child))
            return
        try:
            self._listener.drain()
        except OSError:
            self._wait_for_disk("sweep", lambda: self._sweep(child))
            return
        self.waits_for_disk = False
        self._timers.cancel_all()
        child.close()
        scan = self._loop.run_in_executor(None, find_artifacts, self._directory.path)
        scan.add_done_callback(lambda done: self._on_scanned(child.exit_code(), done))

    def _on_scanned(self, exit_code: int | None, scan: asyncio.Future[list[Artifact]]) -> None:
        artifacts = [] if scan.cancelled() or scan.exception() else scan.result()
        self._end(judge(self._evidence(exit_code)), exit_code, artifacts)

    def _evidence(self, exit_code: int | None) -> Evidence:
        return Evidence(
            exit_code=exit_code,
            ending=self._ending,
            last_word=self._last_word,
            last_error=str(self._error.get("error") or ""),
            error_type=str(self._error.get("error_type") or ""),
            traceback=str(self._error.get("traceback") or ""),
            stderr_tail=tuple(self.stream.stderr_tail),
            oom_killed=count_oom_kills() > self._oom_kills_before,
            limit_s=self._limit_s,
            memory=self._memory,
        )

    def _end(self, outcome: Outcome, exit_code: int | None, artifacts: Sequence[Artifact]) -> None:
        final_report = compose(
            self.launch,
            self.stream,
            outcome,
            exit_code=exit_code,
            checkpoint=self._checkpoint,
            artifacts=artifacts,
            placement=self._around.placement(self.launch),
        )
        self._close(final_report)

    def _close(self, final_report: FinalReport) -> None:
        try:
            finalize(self.home, self.stream, final_report)
        except OSError as error:
            log.error("attempt waits: its end cannot be written", reason=str(error), **self._names)
            self._wait_for_disk("close", lambda: self._close(final_report))
            return
        self.has_ended = True
        self._around.walls.return_uid(self._uid)
        self._around.on_frames()
        if self._ending is Ending.ABANDON:
            self.home.acknowledge()
        else:
            self._around.send(final_report.report)
        log.info("attempt ended", outcome=final_report.report.fact, reason=final_report.report.reason, **self._names)
        self._on_end(self)

    def _wait_for_disk(self, name: str, action: Callable[[], None]) -> None:
        self.waits_for_disk = True
        self._on_wait()
        self._timers.after(name, DISK_RETRY_S, action)

    def _tell(self, fact: str) -> None:
        report = Report(
            self.launch.run_id,
            self.launch.attempt,
            self.launch.control_token,
            fact,
            last_seq=self.stream.spool.last_seq,
            checkpoint=self._checkpoint.path if self._checkpoint else "",
            checkpoint_at=self._checkpoint.saved_at if self._checkpoint else None,
            versions=dict(self._around.worker.worker.versions),
        )
        self._around.send(report)

    @property
    def _names(self) -> dict[str, Any]:
        return {"run_id": self.launch.run_id, "attempt": self.launch.attempt}


def _seconds(span: timedelta | None) -> float:
    return span.total_seconds() if span else 0.0

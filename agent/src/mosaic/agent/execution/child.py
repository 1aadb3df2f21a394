"""One child process and everything it starts: in its own session, ended as a whole, provably.

The child dies with the agent (PDEATHSIG). What it started may outlive both; such processes are found again by the
session they are in, by a mark in their environment, by their parents, and by their user id where they have one of
their own. What hides all of that becomes a child of the agent when its parent dies, and cannot hide that it has
given up its privileges.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.agent.execution import kernel
from mosaic.processes import (
    Seen,
    carries,
    family,
    has_given_up_privileges,
    living_processes,
    look_around,
    newest_pid,
    owned_by,
    read_birth,
)

#: The variable that carries the mark.
MARK_VARIABLE = "MOSAIC_AGENT_MARK"

#: A big pipe lets the agent read seldom and the worker never wait for it.
_PIPE_BYTES = 1024 * 1024

#: Processes and threads of an attempt that has a user id of its own.
MOST_PROCESSES = 8192

#: Runs in the interpreter of the worker before anything of it does: what the kernel shows of the environment is what a
#: process began with, so secrets are added later. Then it does what the interpreter would have done.
_READ_SECRETS = """
def start():
    import json, os, runpy, sys
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        os.environ.update(json.load(file))
    del sys.argv[:2]
    if sys.argv[0] == "-m":
        sys.path[0] = os.getcwd()
        del sys.argv[0]
        runpy._run_module_as_main(sys.argv[0])
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        with open(sys.argv[0], "rb") as file:
            code = compile(file.read(), sys.argv[0], "exec")
        main = sys.modules["__main__"].__dict__
        main["__file__"] = sys.argv[0]
        exec(code, main)
start()
"""


def death_wrapper() -> tuple[str, ...]:
    """Return the command that makes what follows it die with the thread that started it, or nothing.

    The alternative, a ``preexec_fn``, may deadlock in a process that has threads.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    wrapper = (setpriv, "--pdeathsig", "KILL", "--")
    works = subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode == 0
    return wrapper if works else ()


@dataclass(frozen=True)
class Trace:
    """How the processes of a child are found again."""

    mark: str
    #: The session they began in; None when the mark must do.
    session: int | None = None


@dataclass(frozen=True)
class Command:
    """What to start."""

    #: An interpreter of Python, and what follows it.
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    mark: str
    #: Added to its environment by the child itself, so that they stand nowhere before.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The user id that it gets for itself alone; None = the agent's.
    uid: int | None = None
    #: Called by the thread that starts it: what that thread may no longer do, the child may not either.
    enter_walls: Callable[[], None] = lambda: None


class Child:
    """A started child. Its pipes do not block; its exit makes `exit_descriptor` readable."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str, uid: int | None = None) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = process.pid
        self.birth = read_birth(process.pid)
        self.stdout = process.stdout.fileno()
        self.stderr = process.stderr.fileno()
        #: Whether stdout takes so much that the agent may let it fill for some milliseconds.
        self.has_roomy_pipe = _make_roomy(self.stdout)
        self.exit_descriptor = os.pidfd_open(process.pid)
        self._process = process
        self._mark = mark
        self._uid = uid
        #: Which process each was that belonged to it when somebody looked last.
        self._known: dict[int, int] = {}
        self._is_over = threading.Event()
        self._born = time.monotonic()
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)

    def exit_code(self) -> int | None:
        """Return how it ended (negative: by that signal), None while it lives."""
        return self._process.poll()

    def signal_group(self, number: signal.Signals) -> None:
        """Send *number* to the whole group; a group that is gone does not mind."""
        # Once the leader is reaped its number may belong to somebody else.
        if self._process.returncode is None:
            _signal_group(self.pid, number)
        else:
            self.signal_survivors(number)

    def signal_leader(self, number: signal.Signals) -> None:
        """Send *number* to the child alone, unless it is gone."""
        self._process.send_signal(number)

    def signal_survivors(self, number: signal.Signals | None) -> int:
        """Send *number*, if any, to every process that still lives; return how many there are."""
        survivors = self.survivors()
        if number is not None:
            for pid in survivors:
                _signal(pid, number)
        return len(survivors)

    def kill(self) -> None:
        """SIGKILL to the group and to whatever left the group."""
        if self._process.returncode is None:
            _signal_group(self.pid, signal.SIGKILL)
        self.signal_survivors(signal.SIGKILL)

    def survivors(self) -> list[int]:
        """Return every process of this child that still lives, wherever it went."""
        # Descendants are younger than the child, and a young child's descendants have higher numbers.
        is_young = time.monotonic() - self._born < 30 and newest_pid() >= self.pid
        newer_than = self.pid if is_young else 0
        _reap_group(self.pid, leader_is_reaped=self._process.returncode is not None)
        found = set(living_processes(self._mark, session=self.pid, newer_than=newer_than))
        with _STARTING:
            seen = look_around(newer_than)
            found |= self.members(seen) | self._strays(seen)
        return sorted(found)

    def members(self, seen: Mapping[int, Seen]) -> set[int]:
        """Return those of *seen* that are known to be of this child and live, and remember them."""
        heads = {process.pid for process in seen.values() if process.session == self.pid}
        heads |= {pid for pid, ticks in self._known.items() if pid in seen and seen[pid].start_ticks == ticks}
        if self._uid is not None:
            heads |= set(owned_by({self._uid}))
        found = family(seen, heads)
        self._known = {pid: seen[pid].start_ticks for pid in found}
        return {pid for pid in found if not seen[pid].is_dead}

    def close(self) -> None:
        """Close the pipes and the exit descriptor. The child is not touched."""
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        os.close(self.exit_descriptor)
        self.let_go()

    def let_go(self) -> None:
        """End the thread that started it; a child that still lives dies with it."""
        _CHILDREN.pop(self.pid, None)
        self._is_over.set()

    def wait_until_over(self) -> None:
        """Wait until it was closed or let go."""
        self._is_over.wait()

    def _strays(self, seen: Mapping[int, Seen]) -> set[int]:
        """Return the living that were left to this process and that no other child owns up to."""
        _bury_strays(seen)
        others = [child for child in list(_CHILDREN.values()) if child is not self]
        living = (process for process in _left_to_us(seen) if not process.is_dead)
        return {process.pid for process in living if not any(child.owns(process) for child in others)}

    def owns(self, process: Seen) -> bool:
        """Tell whether *process* shows that it is of this child."""
        is_known = self._known.get(process.pid) == process.start_ticks
        return is_known or process.session == self.pid or carries(process.pid, self._mark)


#: Children that were started and not closed, of all agents in this process.
_CHILDREN: dict[int, Child] = {}
#: Held while a child is started and not yet in the list: it would be taken for a stray.
_STARTING = threading.Lock()
#: Set when this process is the parent of orphans, and starts nothing else that has given up its privileges.
_ADOPTS = threading.Event()


def adopt_strays() -> None:
    """Have everything that the children of this process start end with them, however it hides.

    For a process that starts nothing else meanwhile, or may still gain privileges itself.
    """
    kernel.adopt_orphans()
    _ADOPTS.set()


def look_and_bury() -> dict[int, Seen]:
    """Return every process, and bury the dead that were left to this one."""
    with _STARTING:
        seen = look_around()
        _bury_strays(seen)
    return seen


def _bury_strays(seen: Mapping[int, Seen]) -> None:
    for process in _left_to_us(seen):
        if process.is_dead:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _left_to_us(seen: Mapping[int, Seen]) -> list[Seen]:
    """Return those of *seen* whose parents died; what this process started for itself may still gain privileges."""
    if not _ADOPTS.is_set():
        return []
    ours = [process for process in seen.values() if process.parent == os.getpid() and process.pid not in _CHILDREN]
    return [process for process in ours if has_given_up_privileges(process.pid)]


def spawn(command: Command, wrapper: Sequence[str] = ()) -> Child:
    """Start *command* as the leader of a new session, in a thread of its own that lives until the child is closed.

    With a wrapper, the child dies with that thread.

    Raises:
        OSError: it could not be started.

    """
    starter = _Starter(command, wrapper)
    starter.start()
    return starter.child()


class _Starter(threading.Thread):
    """Puts the walls around itself and starts the child, which inherits them: no other thread is touched."""

    def __init__(self, command: Command, wrapper: Sequence[str]) -> None:
        super().__init__(name="starter", daemon=True)
        self._command = command
        self._wrapper = wrapper
        self._is_started = threading.Event()
        self._child: Child | None = None
        self._fault: BaseException | None = None

    def run(self) -> None:
        try:
            self._command.enter_walls()
            with _STARTING:
                self._child = child = _start(self._command, self._wrapper)
                _CHILDREN[child.pid] = child
        except BaseException as error:
            self._fault = error
        self._is_started.set()
        if self._child is not None:
            self._child.wait_until_over()

    def child(self) -> Child:
        self._is_started.wait()
        if self._fault is not None:
            raise self._fault
        assert self._child is not None
        return self._child


def _start(command: Command, wrapper: Sequence[str]) -> Child:
    python, *rest = command.argv
    # With options of the interpreter before it, what is to be started cannot be told from them.
    can_read = bool(rest) and (rest[0] == "-m" or not rest[0].startswith("-"))
    secrets = _write_secrets(command.secrets) if can_read else ()
    shown = {} if can_read else command.secrets
    try:
        process = subprocess.Popen(
            [*wrapper, *_identity(command.uid), python, *_reading(secrets), *rest],
            env={**command.environment, **shown, MARK_VARIABLE: command.mark},
            cwd=command.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=secrets,
        )
    finally:
        for descriptor in secrets:
            os.close(descriptor)
    return Child(process, command.mark, command.uid)


def _identity(uid: int | None) -> tuple[str, ...]:
    """Return the command that makes what follows it run as *uid*, with no right to be anybody else."""
    if uid is None:
        return ()
    # The signal that ends it with the agent is forgotten at a change of user, and asked for again.
    user = ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--inh-caps=-all")
    limits = ("prlimit", f"--nproc={MOST_PROCESSES}:{MOST_PROCESSES}")
    return (*user, "--ambient-caps=-all", "--pdeathsig", "KILL", "--", *limits, "--")


def _write_secrets(secrets: Mapping[str, str]) -> tuple[int, ...]:
    """Return a descriptor from which the child reads *secrets*, none where there are none."""
    if not secrets:
        return ()
    descriptor = os.memfd_create("secrets")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(json.dumps(dict(secrets)).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return (descriptor,)


def _reading(secrets: Sequence[int]) -> tuple[str, ...]:
    return ("-c", _READ_SECRETS, *map(str, secrets)) if secrets else ()


def end_processes(traces: Sequence[Trace], uids: Collection[int] = (), *, grace_s: float, poll_s: float = 0.02) -> int:
    """End every process that left one of *traces* or runs under one of *uids*: SIGTERM, *grace_s*, SIGKILL.

    Returns how many there were, and only when they are gone.
    """
    doomed = _living(traces, uids)
    deadline = time.monotonic() + grace_s
    found = len(doomed)
    for pid in doomed:
        _signal(pid, signal.SIGTERM)
        _signal(pid, signal.SIGCONT)
    while doomed := _living(traces, uids):
        if time.monotonic() >= deadline:
            for pid in doomed:
                _signal(pid, signal.SIGKILL)
        time.sleep(poll_s)
    return found


def _living(traces: Sequence[Trace], uids: Collection[int]) -> set[int]:
    found = {pid for trace in traces for pid in living_processes(trace.mark, session=trace.session)}
    return found.union(owned_by(uids)) if uids else found


def _reap_group(group: int, *, leader_is_reaped: bool) -> None:
    """Bury what was left to us as the init of a container; the leader is its owner's to bury."""
    if leader_is_reaped:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _make_roomy(descriptor: int) -> bool:
    try:
        return fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES) >= _PIPE_BYTES
    except OSError:
        # The user's allowance for big pipes is spent; the usual 64 KiB work too.
        return False

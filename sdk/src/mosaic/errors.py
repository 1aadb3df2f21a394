"""Everything that can go wrong, as one tree.

::

    MosaicError
    ├── BadInput                 what was given cannot be used; all faults are listed
    ├── NotFound
    │   ├── RunNotFound
    │   └── WorkerNotFound
    ├── Unauthenticated          nobody knows who asks
    ├── Refused                  understood, but not now or not by you
    │   ├── Forbidden
    │   ├── TooManyRequests
    │   ├── IllegalTransition
    │   ├── StaleAttempt
    │   └── SessionRejected
    ├── Unavailable              a part we need does not answer; trying again may help
    │   ├── BrokerUnavailable
    │   ├── DatabaseUnavailable
    │   └── ServiceUnavailable
    ├── WorkerBroken             a worker package cannot be loaded or launched
    └── RunUnfinished            a run goes on longer than somebody would wait for it

Constructors take facts and build the sentence: what failed, which one, what to do.
``code`` is stable and is mapped once to gRPC status (`mosaic.wire.status`) and to the
exit code of the ``mosaic`` command (``exit_code``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class MosaicError(Exception):
    """Something went wrong; the text says what, which one, and what to do."""

    #: Stable name for machines; never reuse one for another meaning.
    code = "error"
    #: Exit status of the command line when this error ends a command.
    exit_code = 1

    def __str__(self) -> str:
        """Fall back to the docstring, so that an error is never silent."""
        return super().__str__() or (self.__doc__ or self.code).strip()


class BadInput(MosaicError):
    """What was given cannot be used."""

    code = "bad_input"
    exit_code = 2

    def __init__(self, source: str, faults: Iterable[str]) -> None:
        """Name *source* (a file, a flag, a request) and list every fault found in it."""
        self.source = source
        self.faults = tuple(faults)
        super().__init__(_listed(source, self.faults))


class NotFound(MosaicError):
    """No such thing."""

    code = "not_found"
    exit_code = 3


class RunNotFound(NotFound):
    """No run has that id."""

    code = "run_not_found"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"there is no run {run_id!r}; `mosaic runs` lists those you may see")


class WorkerNotFound(NotFound):
    """No registered worker has that name."""

    code = "worker_not_found"

    def __init__(self, name: str, known: Collection[str]) -> None:
        """Say which name was asked for, and the nearest one that exists."""
        self.name = name
        self.known = tuple(sorted(known))
        listing = ", ".join(self.known) or "none: start an agent or run `mosaic workers install`"
        super().__init__(f"no worker is called {name!r}{did_you_mean(name, self.known)} (known: {listing})")


class Unauthenticated(MosaicError):
    """Who asks is not known."""

    code = "unauthenticated"
    exit_code = 7


class Refused(MosaicError):
    """Understood, but it cannot be done now."""

    code = "refused"
    exit_code = 4


class Forbidden(Refused):
    """They may see it, but not do this to it."""

    code = "forbidden"

    def __init__(self, user: str, permission: str, what: str) -> None:
        """Say which *permission* on *what* is missing."""
        self.permission = permission
        super().__init__(f"{user} may not do this to {what}: it takes {permission}; ask an admin of the team or fleet")


class TooManyRequests(Refused):
    """They ask faster than anybody may; the same again later is looked at."""

    code = "too_many_requests"
    #: When to try again, where it is not said.
    retry_after_s = 5.0

    def __init__(self, what: str, retry_after_s: float) -> None:
        """Say too many of *what* there were, and when the next one is looked at."""
        self.retry_after_s = retry_after_s
        super().__init__(f"too many {what}; try again in {max(1, round(retry_after_s))} s")


class IllegalTransition(Refused):
    """The fact cannot be true of something in that state."""

    code = "illegal_transition"

    def __init__(self, state: str, fact: str) -> None:
        self.state = state
        self.fact = fact
        super().__init__(f"{fact!r} cannot happen to something that is {state!r}")


class StaleAttempt(Refused):
    """A newer attempt exists, or this one has ended: what the old one says changes nothing."""

    code = "stale_attempt"

    def __init__(self, run_id: str, attempt: int, why: str) -> None:
        self.run_id = run_id
        self.attempt = attempt
        super().__init__(f"attempt {attempt} of run {run_id} no longer counts: {why}")


class SessionRejected(Refused):
    """The session token is missing, unknown or superseded; announce again."""

    code = "session_rejected"

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        super().__init__(f"the session of agent {agent_id!r} is not known here; it must register again")


class Unavailable(MosaicError):
    """A part we need does not answer."""

    code = "unavailable"
    exit_code = 5


class BrokerUnavailable(Unavailable):
    """The message broker did not confirm in time."""

    code = "broker_unavailable"


class QueueUnavailable(BrokerUnavailable):
    """The broker works, but one of its queues takes nothing: it is missing, full, or has lost its replicas."""

    code = "queue_unavailable"


class MessageRefused(MosaicError):
    """The broker will never take this message."""

    code = "message_refused"


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database_unavailable"


class ServiceUnavailable(Unavailable):
    """A service cannot be reached."""

    code = "service_unavailable"

    def __init__(self, service: str, address: str, why: str = "") -> None:
        self.service = service
        self.address = address
        detail = f" ({why})" if why else ""
        super().__init__(f"{service} does not answer at {address}{detail}; is it running? `mosaic up` starts one")


class WorkerBroken(MosaicError):
    """A worker package cannot be loaded or launched."""

    code = "worker_broken"
    exit_code = 6

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why
        super().__init__(f"worker {name!r} is broken: {why}")


class RunUnfinished(MosaicError):
    """A run has not ended in the time that was given."""

    code = "run_unfinished"

    def __init__(self, run_id: str, within_s: float, state: str, why: str = "") -> None:
        """Say how it stands; *why* is what the scheduler tells about it, if it was asked."""
        self.run_id = run_id
        self.state = state
        told = why or f"it goes on; `mosaic follow {run_id}` watches it"
        super().__init__(f"run {run_id} is still {state} after {within_s:g} s: {told}")


def revive(code: str, sentence: str) -> MosaicError | None:
    """Return the error of that *code* with the sentence it had elsewhere; None when the code is none of ours.

    Its facts stayed there; the class and its sentence are what a caller needs.
    """
    kinds = MosaicError.__subclasses__()
    for kind in kinds:
        kinds += kind.__subclasses__()
    found = next((kind for kind in kinds if kind.code == code and kind.__module__ == __name__), None)
    if found is None:
        return None
    error = found.__new__(found)
    Exception.__init__(error, sentence)
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the nearest of *known*, whatever its case, or nothing."""
    by_folded = {one.casefold(): one for one in known}
    # Comparing takes the square of the length, and nobody misspells a page.
    near = get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6) if len(name) <= 100 else []
    return f", did you mean {by_folded[near[0]]!r}?" if near else ""


def needs_extra(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return *error* with the sentence that says which extra of this distribution brings the missing module."""
    if (error.name or "").partition(".")[0] == "mosaic":
        return error
    told = f"{error.name} is not installed; it comes with an extra of the SDK: pip install 'mosaic-sdk[{extra}]'"
    return ModuleNotFoundError(told, name=error.name)


def _listed(source: str, faults: tuple[str, ...]) -> str:
    if len(faults) == 1:
        return f"{source}: {faults[0]}"
    return "\n".join([f"{source}: {len(faults)} faults", *(f"  - {fault}" for fault in faults)])

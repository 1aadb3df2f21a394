"""``mosaic down``: the end of a platform that runs somewhere else, in a terminal or in the background."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from mosaic.cli.console import aside, display, out
from mosaic.errors import MosaicError, Refused, Unavailable
from mosaic_embedded.home import holder

_LOOK_S = 0.1


class NotRunning(Unavailable):
    """No platform runs in the state directory."""

    code = "not_running"

    def __init__(self, home: Path) -> None:
        super().__init__(f"no platform runs in {home}, so there is nothing to stop; `mosaic up -d` starts one")


class StillStopping(MosaicError):
    """A platform takes longer to end than somebody would wait for it."""

    code = "still_stopping"

    def __init__(self, pid: int, timeout_s: float) -> None:
        super().__init__(
            f"process {pid} has not ended within {timeout_s:g} s; runs may be saving what they have learned. "
            f"`mosaic down` waits again; `kill -9 {pid}` ends it at once, and the next `mosaic up` continues"
        )


def stop(home: Path, *, timeout_s: float) -> None:
    """Ask the platform in *home* to end in order, and return when it has.

    Raises:
        NotRunning: there is none.
        Refused: it belongs to somebody else.
        StillStopping: it has not ended within *timeout_s*.
    """
    pid = holder(home)
    if pid is None:
        raise NotRunning(home)
    out.print(f"stopping the platform in {display(home)} (process {pid})", soft_wrap=True)
    deadline = time.monotonic() + timeout_s
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise Refused(f"process {pid} belongs to another user, who can stop it") from None
    except ProcessLookupError:
        pass  # it ended by itself in this instant
    with aside.status("waiting for what runs now to stop"):
        while holder(home) == pid:
            if time.monotonic() > deadline:
                raise StillStopping(pid, timeout_s)
            time.sleep(_LOOK_S)
    out.print("stopped; what ran continues at the next `mosaic up`")

"""What is done to a run, by the word that stands in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from mosaic.client import Run
from mosaic.lifecycle import RunState, is_terminal
from mosaic_console.ports import Platform


class Command(str, Enum):
    """What a person may want of a run."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"


_OFFERED: Mapping[RunState, Sequence[Command]] = {
    RunState.RUNNING: (Command.PAUSE, Command.CANCEL),
    RunState.PAUSED: (Command.RESUME, Command.CANCEL),
    RunState.STOPPING: (),
}


def command(platform: Platform, run_id: str, wish: Command, *, reason: str = "") -> Run:
    """Do it and return the run as it stands then; a retry returns the new run."""
    if wish is Command.CANCEL:
        return platform.cancel(run_id, reason=reason)
    act = {Command.PAUSE: platform.pause, Command.RESUME: platform.resume, Command.RETRY: platform.retry}[wish]
    return act(run_id)


def offered(state: RunState) -> Sequence[Command]:
    """Return what makes sense for a run in *state*."""
    if is_terminal(state):
        return (Command.RETRY,)
    return _OFFERED.get(state, (Command.CANCEL,))

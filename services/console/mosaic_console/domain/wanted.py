"""Which runs somebody wants to see."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import BadInput, did_you_mean
from mosaic.lifecycle import RunState
from mosaic.model.run import RunFilter

LARGEST_PAGE = 200


def read_wanted(
    *,
    states: Sequence[str] = (),
    team: str = "",
    user: str = "",
    worker: str = "",
    name: str = "",
    labels: Sequence[str] = (),
) -> RunFilter:
    """Return the filter that these texts ask for.

    Raises:
        BadInput: lists every state that is none and every label that is not ``KEY=VALUE``.
    """
    known = [state.value for state in RunState]
    unknown = [each for each in states if each not in known]
    faults = [f"{each!r} is no state{did_you_mean(each, known)} ({', '.join(known)})" for each in unknown]
    faults += [f"label {each!r} is not KEY=VALUE" for each in labels if not each.partition("=")[0] or "=" not in each]
    if faults:
        raise BadInput("filter", faults)
    pairs = {key: value for key, _, value in (label.partition("=") for label in labels)}
    return RunFilter(frozenset(map(RunState, states)), team, user, worker, name, pairs)

"""Whose runs are, and to whom they are shown: what one may not see does not exist."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mosaic.errors import RunNotFound
from mosaic.hosting.rights import may
from mosaic.model.identity import Caller, Permission
from mosaic.model.run import RunAccepted
from mosaic_telemetry.ports import EventStore, LiveFeed

#: A hint of news can be missed; this often who waits looks without one.
_LOOK_ANYWAY_S = 2.0


def note_accepted(runs: Sequence[RunAccepted], *, store: EventStore, feed: LiveFeed) -> None:
    """Keep whose *runs* are, and wake who waits for them; the same word may come many times.

    Raises:
        DatabaseUnavailable: nothing was kept.

    """
    store.put_owners(runs)
    feed.publish({run.run_id for run in runs})


def is_shown(run_id: str, caller: Caller, *, store: EventStore) -> bool:
    """Tell whether *caller* sees the run; False means that nobody has said yet whose it is.

    Raises:
        RunNotFound: it is not theirs to see.

    """
    if may(caller, Permission.RUNS_READ):
        return True
    owner = store.owners([run_id]).get(run_id)
    if owner is None:
        return False
    if not may(caller, Permission.RUNS_READ, owner=owner.user, team=owner.team):
        raise RunNotFound(run_id)
    return True


def wait_until_shown(
    run_id: str, caller: Caller, *, store: EventStore, feed: LiveFeed, is_wanted: Callable[[], bool]
) -> bool:
    """Wait until it is known whose the run is: who follows a run just submitted may be faster than that word.

    False means that nobody waits any longer.

    Raises:
        RunNotFound: it is not theirs to see.

    """
    with feed.subscribe(run_id) as news:
        while is_wanted():
            if is_shown(run_id, caller, store=store):
                return True
            news.wait(_LOOK_ANYWAY_S)
    return False


def shown(run_ids: Collection[str], caller: Caller, *, store: EventStore) -> list[str]:
    """Return those of *run_ids* that *caller* may see."""
    if may(caller, Permission.RUNS_READ):
        return list(run_ids)
    owners = store.owners(run_ids)
    known = [(run_id, owners[run_id]) for run_id in run_ids if run_id in owners]
    return [key for key, run in known if may(caller, Permission.RUNS_READ, owner=run.user, team=run.team)]

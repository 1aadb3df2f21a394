"""How long a run would wait if its team had its fair part of the fleet to itself.

The yardstick is a fluid: a team's submitted work is a level that drains at the speed of the
team's part of the fleet, and a run waits until the level that stood before it is gone. No
policy can beat it for all teams at once, so a wait over it says what sharing cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mosaic.ids import RunId, TeamName
from mosaic_simulator.trace import TracedRun


def fair_waits(
    runs: Iterable[TracedRun], part_of: Mapping[TeamName, float], share_of: Callable[[TracedRun], float]
) -> dict[RunId, float]:
    """Return the fair wait of each run in seconds; *runs* come in order of submission.

    *part_of* is the part of the fleet that is each team's, *share_of* the part one run needs.
    """
    level: dict[TeamName, float] = {}
    since: dict[TeamName, float] = {}
    waits: dict[RunId, float] = {}
    for run in runs:
        part = part_of[run.team]
        drained = part * (run.at - since.get(run.team, run.at))
        before = max(level.get(run.team, 0.0) - drained, 0.0)
        waits[run.run_id] = before / part if part else 0.0
        level[run.team] = before + share_of(run) * run.work_seconds
        since[run.team] = run.at
    return waits

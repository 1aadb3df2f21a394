"""Teams and their terms: who may see them, and who may change which."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mosaic.errors import NotFound
from mosaic.hosting.audit import by
from mosaic.hosting.rights import may, require
from mosaic.ids import TeamName
from mosaic.model.codec import to_json
from mosaic.model.identity import Caller, Permission
from mosaic.model.team import Team
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM
from mosaic_scheduler.ports import Clock, RunStore

#: Terms that share out within a team what it has; all others take from other teams.
_WITHIN = frozenset({"max_running_per_user", "max_queued_per_user", "max_gpus_per_user"})


def visible(caller: Caller, *, store: RunStore) -> list[Team]:
    """Return the teams that *caller* may see."""
    with store.read() as work:
        teams = work.teams()
    return [team for team in teams if may(caller, Permission.TEAMS_READ, owner=caller.user, team=team.name)]


def set_up(
    name: TeamName,
    change: Callable[[Team], Team],
    terms: Collection[str],
    *,
    caller: Caller,
    store: RunStore,
    clock: Clock,
) -> Team:
    """Set up a team, or *change* these of its *terms*.

    Raises:
        NotFound: they may not see it.
        Forbidden: they may not change one of the terms, or set up a team.
        BadInput: what *change* says of the terms.
    """
    with store.write() as work:
        known = {DEFAULT_TEAM: Team(DEFAULT_TEAM)} | {team.name: team for team in work.teams()}
        within = name in known and bool(terms) and _WITHIN.issuperset(terms)
        require(
            caller,
            Permission.TEAMS_LIMIT if within else Permission.TEAMS_CHANGE,
            what=f"team {name}",
            missing=NotFound(f"there is no team {name!r}"),
            owner=caller.user,
            team=name,
        )
        before = known.get(name)
        team = change(before or Team(name))
        work.save_team(team)
        facts = {"target": name, "team": name, "before": to_json(before) if before else {}, "after": to_json(team)}
        work.audit(by(caller, "teams:change", at=clock(), **facts))
    return team

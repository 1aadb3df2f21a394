"""The whole table: every permission, every role, one's own thing, a team-mate's and another team's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import Forbidden, NotFound, RunNotFound
from mosaic.hosting.rights import GRANTS, decide, may, may_somewhere, require, visible_teams
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import FLEET_ROLES, Caller, Permission, Role

MINE, OTHERS = TeamName("vision"), TeamName("speech")
#: (owner, team) of a thing.
OWN, SAME_TEAM, OTHER_TEAM = ("ann", MINE), ("bob", MINE), ("bob", OTHERS)
EVERYWHERE = (OWN, SAME_TEAM, OTHER_TEAM)

#: Written out a second time, by what a person would expect: role -> permission -> where.
EXPECTED = {
    Role.VIEWER: {
        Permission.RUNS_READ: (OWN, SAME_TEAM),
        Permission.TEAMS_READ: (OWN, SAME_TEAM),
        Permission.FLEET_READ: EVERYWHERE,
    },
    Role.RESEARCHER: {
        Permission.RUNS_READ: (OWN, SAME_TEAM),
        Permission.RUNS_SUBMIT: (OWN,),
        Permission.RUNS_CHANGE: (OWN,),
        Permission.TEAMS_READ: (OWN, SAME_TEAM),
        Permission.FLEET_READ: EVERYWHERE,
        Permission.SECRETS_READ: (OWN, SAME_TEAM),
        Permission.SECRETS_CHANGE: (OWN,),
    },
    Role.TEAM_ADMIN: {
        Permission.RUNS_READ: (OWN, SAME_TEAM),
        Permission.RUNS_SUBMIT: (OWN, SAME_TEAM),
        Permission.RUNS_CHANGE: (OWN, SAME_TEAM),
        Permission.TEAMS_READ: (OWN, SAME_TEAM),
        Permission.TEAMS_LIMIT: (OWN, SAME_TEAM),
        Permission.FLEET_READ: EVERYWHERE,
        Permission.PEOPLE_READ: (OWN, SAME_TEAM),
        Permission.PEOPLE_CHANGE: (OWN, SAME_TEAM),
        Permission.SECRETS_READ: (OWN, SAME_TEAM),
        Permission.SECRETS_CHANGE: (OWN, SAME_TEAM),
        Permission.AUDIT_READ: (OWN, SAME_TEAM),
    },
    Role.OPERATOR: {
        Permission.TEAMS_READ: EVERYWHERE,
        Permission.FLEET_READ: EVERYWHERE,
        Permission.FLEET_CHANGE: EVERYWHERE,
        Permission.AGENTS_ADMIT: EVERYWHERE,
    },
    Role.ADMIN: dict.fromkeys(GRANTS, EVERYWHERE),
    Role.AUDITOR: {Permission.AUDIT_READ: EVERYWHERE},
}
_FOR_EVERYBODY = (Permission.ANYONE, Permission.SIGNED_IN)


def a_caller(role: Role, **fields: object) -> Caller:
    """Somebody with that role, in the team `MINE` if it is one of a team."""
    if role in FLEET_ROLES:
        return Caller(UserName("ann"), roles=frozenset({role}), **fields)  # type: ignore[arg-type]
    return Caller(UserName("ann"), teams={MINE: role}, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("permission", Permission)
@pytest.mark.parametrize("place", EVERYWHERE)
def test_the_table_gives_what_each_role_is_for_and_no_more(
    role: Role, permission: Permission, place: tuple[str, TeamName]
) -> None:
    expected = permission in _FOR_EVERYBODY or place in EXPECTED[role].get(permission, ())

    assert expected == may(a_caller(role), permission, owner=place[0], team=place[1])


@pytest.mark.parametrize("permission", [Permission.AGENT, Permission.SERVICE, Permission.CONSOLE])
def test_no_person_is_an_agent_or_a_service(permission: Permission) -> None:
    assert not any(may_somewhere(a_caller(role), permission) for role in Role)


def test_who_has_no_role_may_nothing_but_be_signed_in() -> None:
    nobody = Caller(UserName("eve"))

    assert [Permission.ANYONE, Permission.SIGNED_IN] == [one for one in Permission if may_somewhere(nobody, one)]


@pytest.mark.parametrize("permission", GRANTS)
def test_a_token_never_gives_more_than_it_was_made_for(permission: Permission) -> None:
    narrow = a_caller(Role.ADMIN, scopes=frozenset({Permission.RUNS_READ}))

    assert (permission is Permission.RUNS_READ) == may(narrow, permission, owner="bob", team=OTHERS)


@pytest.mark.parametrize("permission", GRANTS)
def test_a_token_never_gives_more_than_its_owner_may(permission: Permission) -> None:
    wide = a_caller(Role.AUDITOR, scopes=frozenset(Permission))

    assert (permission is Permission.AUDIT_READ) == may(wide, permission, owner="ann", team=MINE)


names = st.text("abAB-._@", min_size=1, max_size=6)


@given(mine=names, theirs=names)
def test_teams_whose_names_share_letters_share_nothing_else(mine: str, theirs: str) -> None:
    caller = Caller(UserName("ann"), teams={TeamName(mine): Role.TEAM_ADMIN})

    assert (mine == theirs) == may(caller, Permission.RUNS_CHANGE, owner="bob", team=theirs)


def test_what_one_may_not_see_does_not_exist() -> None:
    with pytest.raises(NotFound):
        demand(Role.TEAM_ADMIN, OTHER_TEAM)


def test_what_one_sees_but_may_not_change_is_refused() -> None:
    with pytest.raises(Forbidden):
        demand(Role.RESEARCHER, SAME_TEAM)


def test_what_one_may_is_let_through() -> None:
    demand(Role.RESEARCHER, OWN)


def test_lists_hold_the_teams_that_one_may_see() -> None:
    assert frozenset({MINE}) == visible_teams(a_caller(Role.VIEWER))
    assert visible_teams(a_caller(Role.ADMIN)) is None
    assert frozenset() == visible_teams(a_caller(Role.OPERATOR))


def test_a_refusal_says_whether_its_reason_may_be_known() -> None:
    hidden = decide(a_caller(Role.OPERATOR), Permission.RUNS_CHANGE, owner="bob", team=OTHERS)

    assert (False, False) == (hidden.allowed, hidden.visible)


def demand(role: Role, place: tuple[str, TeamName]) -> None:
    """Ask to change a run of *place*."""
    owner, team = place
    missing = RunNotFound("01")
    require(a_caller(role), Permission.RUNS_CHANGE, what="run 01", missing=missing, owner=owner, team=team)

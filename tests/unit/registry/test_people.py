"""Who may change whom: nobody gives, or gets by a detour, more than they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import BadInput, Forbidden, MosaicError, NotFound, Refused, Unauthenticated
from mosaic.hosting.rights import GRANTS, may
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import FLEET_ROLES, TEAM_ROLES, Caller, Permission, Role
from mosaic.model.people import CredentialKind, User
from mosaic_registry.adapters.argon2_passwords import Argon2Passwords
from mosaic_registry.domain.people import Account, may_grant
from mosaic_registry.handlers import people as manage
from mosaic_registry.handlers.sign_in import authenticate, sign_in
from tests.fakes.people import InMemoryPeople, PlainPasswords
from tests.people import (
    ADA,
    ADA2,
    BOB,
    CI,
    EVERYBODY,
    LEAD,
    NOON,
    OPS,
    PASSWORD,
    ROBOTS,
    ROOT,
    VISION,
    an_account,
    as_caller,
    settle,
)

PASSWORDS = PlainPasswords()
NEW = "a new long password"


@pytest.fixture
def people() -> InMemoryPeople:
    store = InMemoryPeople()
    settle(store)
    return store


def attempt(action: Callable[..., Any], *args: Any, **more: Any) -> str:
    """Return how it ends: ``ok`` or the error's code."""
    try:
        action(*args, **more)
    except MosaicError as error:
        return error.code
    return "ok"


def holder(name: str, role: Role) -> Caller:
    in_team = {VISION: role} if role in TEAM_ROLES else {}
    return Caller(UserName(name), teams=in_team, roles=frozenset({role}) & FLEET_ROLES)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("given", list(Role))
def test_a_grant_is_covered_right_by_right(role: Role, given: Role) -> None:
    """Whoever may grant a role has every right of it, so that acting through who got it gains nothing."""
    caller, granted = holder("x", role), holder("y", given)
    if not may_grant(caller, given, VISION):
        return

    things = [{"team": team, "owner": owner} for team in ("vision", "robots", "") for owner in ("y", "z")]
    gained = [(what, thing) for what in GRANTS for thing in things if may(granted, what, **thing)]
    assert [] == [(what, thing) for what, thing in gained if not may(caller, what, **thing)]


@pytest.mark.parametrize("account", EVERYBODY, ids=lambda account: account.name)
def test_only_admins_add_people(people: InMemoryPeople, account: Account) -> None:
    ended = attempt(manage.add_user, as_caller(account), User(UserName("eve")), "", people=people, passwords=PASSWORDS)

    assert ("ok" if account is ROOT else "forbidden") == ended


def test_a_name_is_given_once(people: InMemoryPeople) -> None:
    with pytest.raises(Refused):
        manage.add_user(as_caller(ROOT), User(ADA.name), "", people=people, passwords=PASSWORDS)


def test_every_fault_of_a_user_is_told() -> None:
    user = User(
        UserName("-x"),
        "a" * 201,
        "\0",
        roles=frozenset({Role.VIEWER}),
        teams={TeamName("a b"): Role.ADMIN},
        owner_team=TeamName("vision"),
    )
    with pytest.raises(BadInput) as refused:
        manage.add_user(as_caller(ROOT), user, "", people=InMemoryPeople(), passwords=PASSWORDS)

    assert len(refused.value.faults) == 7


@pytest.mark.parametrize("name", ["ready", "healthz", "readyz", "api", "sign-in", "null", "me"])
def test_people_may_be_called_like_routes(people: InMemoryPeople, name: str) -> None:
    manage.add_user(as_caller(ROOT), User(UserName(name)), PASSWORD, people=people, passwords=PASSWORDS)

    opened = sign_in(name, PASSWORD, people=people, passwords=PASSWORDS, now=NOON)

    assert name == authenticate(opened.session, people=people, now=NOON).user


@pytest.mark.parametrize(
    ("caller", "role", "ended"),
    [
        (ROOT, Role.TEAM_ADMIN, "ok"),
        (LEAD, Role.TEAM_ADMIN, "ok"),
        (LEAD, Role.VIEWER, "ok"),
        (ADA, Role.VIEWER, "forbidden"),
        (BOB, Role.VIEWER, "not_found"),
        (ADA2, Role.VIEWER, "not_found"),
        (OPS, Role.VIEWER, "not_found"),
        (LEAD, Role.OPERATOR, "forbidden"),
        (LEAD, Role.ADMIN, "forbidden"),
        (ROOT, Role.ADMIN, "bad_input"),
    ],
)
def test_roles_in_a_team_are_given_by_its_admins(
    people: InMemoryPeople, caller: Account, role: Role, ended: str
) -> None:
    assert ended == attempt(manage.set_member, as_caller(caller), VISION, BOB.name, role, people=people)


@given(name=st.text("vision", min_size=1, max_size=12))
def test_an_admin_of_a_team_is_none_of_a_team_with_a_similar_name(name: str) -> None:
    people = InMemoryPeople()
    settle(people)

    ended = attempt(manage.set_member, as_caller(LEAD), TeamName(name), ADA.name, Role.VIEWER, people=people)

    assert ("ok" if name == "vision" else "not_found") == ended


def test_a_role_in_a_team_is_taken_away(people: InMemoryPeople) -> None:
    manage.set_member(as_caller(LEAD), VISION, ADA.name, None, people=people)

    assert {} == manage.get_user(as_caller(ADA), UserName(""), people=people).teams


@pytest.mark.parametrize("account", EVERYBODY, ids=lambda account: account.name)
@pytest.mark.parametrize("role", sorted(FLEET_ROLES))
def test_only_admins_give_roles_in_the_fleet(people: InMemoryPeople, account: Account, role: Role) -> None:
    """Also not to themselves, which is the classic way up."""
    for name in (account.name, ADA.name):
        ended = attempt(manage.set_roles, as_caller(account), name, frozenset({role, Role.ADMIN}), people=people)
        assert (ended == "ok") == (account is ROOT)


def test_a_token_for_people_does_not_make_admins(people: InMemoryPeople) -> None:
    """A token that may change people, of an admin, could otherwise add one with every right and become it."""
    narrow = as_caller(ROOT, scopes=frozenset({Permission.PEOPLE_CHANGE, Permission.PEOPLE_READ}))

    assert attempt(manage.set_roles, narrow, ADA.name, frozenset({Role.ADMIN}), people=people) == "forbidden"
    assert attempt(manage.set_member, narrow, VISION, ADA.name, Role.TEAM_ADMIN, people=people) == "forbidden"
    assert attempt(manage.set_password, narrow, ROOT.name, NEW, "", people=people, passwords=PASSWORDS) == "forbidden"
    assert attempt(manage.set_password, narrow, ADA.name, NEW, "", people=people, passwords=PASSWORDS) == "forbidden"
    admin = User(UserName("eve"), roles=frozenset({Role.ADMIN}))
    assert attempt(manage.add_user, narrow, admin, PASSWORD, people=people, passwords=PASSWORDS) == "forbidden"


def test_a_role_changes_what_one_may_at_the_next_request(people: InMemoryPeople) -> None:
    session = sign_in("ops", PASSWORD, people=people, passwords=PASSWORDS, now=NOON).session
    manage.set_roles(as_caller(ROOT), OPS.name, frozenset(), people=people)

    assert not may(authenticate(session, people=people, now=NOON), Permission.FLEET_CHANGE)


@pytest.mark.parametrize(
    "action",
    [
        lambda people: manage.change_user(as_caller(ROOT), ROOT.name, active=False, people=people),
        lambda people: manage.set_roles(as_caller(ROOT), ROOT.name, frozenset(), people=people),
        lambda people: manage.set_roles(as_caller(ROOT), ROOT.name, frozenset({Role.OPERATOR}), people=people),
    ],
    ids=["deactivate", "no roles", "another role"],
)
def test_the_last_admin_stays(people: InMemoryPeople, action: Callable[[InMemoryPeople], User]) -> None:
    with people.change() as draft:
        draft.put_account(an_account("gone", roles={Role.ADMIN}, active=False))
        draft.put_account(an_account("bot", roles={Role.ADMIN}, owner_team=VISION))

    with pytest.raises(Refused, match="last active admin"):
        action(people)

    settle(people, an_account("second", roles={Role.ADMIN}))
    action(people)


@pytest.mark.parametrize("account", EVERYBODY, ids=lambda account: account.name)
def test_who_sees_whom(people: InMemoryPeople, account: Account) -> None:
    seen = {
        other.name
        for other in EVERYBODY
        if attempt(manage.get_user, as_caller(account), other.name, people=people) == "ok"
    }

    team = {"lead", "ada", "ci"}
    everybody = {one.name for one in EVERYBODY}
    assert {"root": everybody, "lead": team}.get(account.name, {account.name}) == seen
    listed = {user.name for user in manage.list_users(as_caller(account), people=people)}
    assert listed == seen


def test_an_admin_of_a_team_sees_no_other_team_and_no_role_in_the_fleet(people: InMemoryPeople) -> None:
    both = an_account("both", roles={Role.AUDITOR}, teams={"vision": Role.VIEWER, "robots": Role.VIEWER})
    settle(people, both)

    seen = manage.get_user(as_caller(LEAD), both.name, people=people)

    assert ({"vision": Role.VIEWER}, frozenset()) == (seen.teams, seen.roles)
    assert [] == manage.list_users(as_caller(LEAD), ROBOTS, people=people)


def test_people_change_their_own_texts_and_nothing_else(people: InMemoryPeople) -> None:
    changed = manage.change_user(as_caller(ADA), ADA.name, display_name="Ada", people=people)

    assert ("Ada", ADA.teams) == (changed.display_name, changed.teams)
    assert attempt(manage.change_user, as_caller(ADA), ADA.name, active=False, people=people) == "forbidden"
    assert attempt(manage.change_user, as_caller(ADA), ADA2.name, email="x", people=people) == "not_found"
    assert attempt(manage.change_user, as_caller(LEAD), ADA.name, email="x", people=people) == "forbidden"


def test_a_password_is_changed_by_who_knows_it_and_ends_every_session(people: InMemoryPeople) -> None:
    session = sign_in("ada", PASSWORD, people=people, passwords=PASSWORDS, now=NOON).session
    token, _ = manage.issue_token(as_caller(ADA), UserName(""), "ci", None, None, people=people, now=NOON)

    wrong = attempt(manage.set_password, as_caller(ADA), UserName(""), NEW, "wrong", people=people, passwords=PASSWORDS)
    assert wrong == "unauthenticated"
    authenticate(session, people=people, now=NOON)

    manage.set_password(as_caller(ADA), UserName(""), NEW, PASSWORD, people=people, passwords=PASSWORDS)

    with pytest.raises(Unauthenticated):
        authenticate(session, people=people, now=NOON)
    authenticate(token, people=people, now=NOON)
    assert ADA.name == sign_in("ada", NEW, people=people, passwords=PASSWORDS, now=NOON).user


@pytest.mark.parametrize(
    ("caller", "whose", "ended"),
    [
        (ROOT, ADA, "ok"),
        (LEAD, ADA, "forbidden"),
        (OPS, ADA, "not_found"),
        (BOB, ADA, "not_found"),
        (ROOT, CI, "bad_input"),
    ],
    ids=["admin", "admin of the team", "operator", "another team", "a service account"],
)
def test_only_admins_set_the_password_of_others(
    people: InMemoryPeople, caller: Account, whose: Account, ended: str
) -> None:
    asked = (as_caller(caller), whose.name, NEW, "")

    assert ended == attempt(manage.set_password, *asked, people=people, passwords=PASSWORDS)


def test_who_comes_by_a_provider_gives_themselves_no_password(people: InMemoryPeople) -> None:
    """It would outlive their account at the provider."""
    settle(people, replace(ADA, password_hash=""))

    ended = attempt(manage.set_password, as_caller(ADA), UserName(""), NEW, "", people=people, passwords=PASSWORDS)

    assert ended == "forbidden"


@pytest.mark.parametrize("password", ["", "short", "x" * 1025, "a-long-name-of-somebody"])
def test_a_password_is_not_too_easy(people: InMemoryPeople, password: str) -> None:
    settle(people, an_account("a-long-name-of-somebody"))

    asked = (as_caller(ROOT), UserName("a-long-name-of-somebody"), password, "")

    assert attempt(manage.set_password, *asked, people=people, passwords=PASSWORDS) == "bad_input"


@pytest.mark.parametrize(
    ("caller", "user", "ended"),
    [
        (ADA, ADA, "ok"),
        (LEAD, CI, "ok"),
        (ROOT, CI, "ok"),
        (ROOT, ADA, "forbidden"),
        (LEAD, ADA, "forbidden"),
        (ADA, CI, "not_found"),
        (BOB, CI, "not_found"),
        (ADA, ROOT, "not_found"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_who_makes_tokens_for_whom(people: InMemoryPeople, caller: Account, user: Account, ended: str) -> None:
    asked = (as_caller(caller), user.name, "x", None, None)

    assert ended == attempt(manage.issue_token, *asked, people=people, now=NOON)


def test_an_admin_of_a_team_does_not_speak_for_a_service_account_that_may_more(people: InMemoryPeople) -> None:
    manage.set_roles(as_caller(ROOT), CI.name, frozenset({Role.OPERATOR}), people=people)

    asked = (as_caller(LEAD), CI.name, "x", None, None)

    assert attempt(manage.issue_token, *asked, people=people, now=NOON) == "forbidden"


def test_a_token_makes_none_that_may_more(people: InMemoryPeople) -> None:
    narrow = as_caller(ADA, scopes=frozenset({Permission.RUNS_READ}))

    def ended(scopes: frozenset[Permission] | None) -> str:
        return attempt(manage.issue_token, narrow, UserName(""), "x", scopes, None, people=people, now=NOON)

    assert [ended(None), ended(frozenset({Permission.RUNS_SUBMIT}))] == ["forbidden", "forbidden"]
    assert ended(frozenset({Permission.RUNS_READ})) == "ok"


@pytest.mark.parametrize(
    ("name", "scopes", "life"),
    [
        ("", None, None),
        ("x" * 201, None, None),
        ("\x1b[31m", None, None),
        ("x", frozenset[Permission](), None),
        ("x", None, timedelta()),
        ("x", None, timedelta(days=-1)),
        ("x", None, timedelta(days=367)),
    ],
)
def test_a_token_has_a_purpose_and_an_end(
    people: InMemoryPeople, name: str, scopes: frozenset[Permission] | None, life: timedelta | None
) -> None:
    with pytest.raises(BadInput):
        manage.issue_token(as_caller(ADA), UserName(""), name, scopes, life, people=people, now=NOON)


def test_a_user_has_no_endless_list_of_tokens(people: InMemoryPeople) -> None:
    for _ in range(100):
        manage.issue_token(as_caller(ADA), UserName(""), "x", None, None, people=people, now=NOON)

    with pytest.raises(Refused):
        manage.issue_token(as_caller(ADA), UserName(""), "x", None, None, people=people, now=NOON)


@pytest.mark.parametrize(
    ("caller", "ended"),
    [(ADA, "ok"), (ROOT, "ok"), (LEAD, "not_found"), (ADA2, "not_found"), (BOB, "not_found"), (OPS, "not_found")],
    ids=lambda part: getattr(part, "name", part),
)
def test_who_revokes_a_token(people: InMemoryPeople, caller: Account, ended: str) -> None:
    token, kept = manage.issue_token(as_caller(ADA), UserName(""), "x", None, None, people=people, now=NOON)

    if caller is not LEAD:
        assert ended == attempt(manage.list_credentials, as_caller(caller), ADA.name, people=people)
    assert ended == attempt(manage.revoke, as_caller(caller), kept.credential_id, people=people)

    assert (ended == "ok") == (attempt(authenticate, token, people=people, now=NOON) == "unauthenticated")


def test_what_is_listed_is_of_one_kind_and_shows_no_secret(people: InMemoryPeople) -> None:
    session = sign_in("ada", PASSWORD, people=people, passwords=PASSWORDS, now=NOON).session
    manage.issue_token(as_caller(ADA), UserName(""), "laptop", None, None, people=people, now=NOON)

    tokens = manage.list_credentials(as_caller(ADA), ADA.name, CredentialKind.TOKEN, people=people)
    sessions = manage.list_credentials(as_caller(ADA), ADA.name, CredentialKind.SESSION, people=people)

    assert ["laptop"] == [one.name for one in tokens]
    assert [CredentialKind.SESSION] == [one.kind for one in sessions]
    assert session.split("_")[3] not in repr((tokens, sessions))


def test_a_service_account_is_added_by_an_admin_of_its_team(people: InMemoryPeople) -> None:
    robot = User(UserName("nightly"), teams={VISION: Role.RESEARCHER}, owner_team=VISION)

    def ended(caller: Account, user: User = robot) -> str:
        return attempt(manage.add_user, as_caller(caller), user, "", people=people, passwords=PASSWORDS)

    assert [ended(BOB), ended(ADA)] == ["forbidden", "forbidden"]
    assert ended(LEAD, replace(robot, roles=frozenset({Role.OPERATOR}))) == "forbidden"
    assert ended(LEAD) == "ok"
    manage.change_user(as_caller(LEAD), robot.name, active=False, people=people)


def test_argon2_knows_its_own_and_nobody_elses() -> None:
    from argon2 import PasswordHasher

    passwords = Argon2Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    kept = passwords.hash(PASSWORD)

    assert kept.startswith("$argon2id$")
    assert [True, False, False, False] == [
        passwords.is_right(PASSWORD, kept),
        passwords.is_right(PASSWORD + "x", kept),
        passwords.is_right("nobody has this password", ""),
        passwords.is_right(PASSWORD, "broken"),
    ]


def test_nobody_of_that_name_is_told_like_nobody_whom_one_may_see(people: InMemoryPeople) -> None:
    told = []
    for name in ("root", "r00t"):
        with pytest.raises(NotFound) as refused:
            manage.get_user(as_caller(ADA), UserName(name), people=people)
        told.append(str(refused.value).replace(name, "NAME"))

    assert told[0] == told[1]
    with pytest.raises(Forbidden):
        manage.set_roles(as_caller(LEAD), ADA.name, frozenset(), people=people)

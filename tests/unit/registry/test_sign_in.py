"""From a credential to a name."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import BadInput, Forbidden, Refused, TooManyRequests, Unauthenticated
from mosaic.ids import UserName
from mosaic.model.identity import Permission, Role
from mosaic.model.people import CredentialKind, User
from mosaic_registry.domain.credential import SESSION_IDLE, SESSION_LIFE, TOKEN_LIFE, make, read
from mosaic_registry.handlers import people as manage
from mosaic_registry.handlers import sign_in
from mosaic_registry.handlers.first_admin import (
    add_first_admin,
    code_for_admin,
    end_owner_tokens,
    token_for_owner,
)
from mosaic_registry.handlers.sign_in import Vouched, authenticate
from tests.fakes.people import InMemoryPeople, PlainPasswords
from tests.people import ADA, ADA2, CI, LEAD, NOON, PASSWORD, ROOT, VISION, as_caller, hours, settle

PASSWORDS = PlainPasswords()


@pytest.fixture
def people() -> InMemoryPeople:
    store = InMemoryPeople()
    settle(store)
    return store


def a_token(people: InMemoryPeople, scopes: frozenset[Permission] | None = None) -> str:
    made = manage.issue_token(as_caller(ADA), UserName(""), "laptop", scopes, None, people=people, now=NOON)
    return made[0]


def a_session(people: InMemoryPeople) -> str:
    return enter(people).session


def enter(people: InMemoryPeople, name: str = "ada", password: str = PASSWORD, **more: object) -> sign_in.SignedIn:
    asked = {"now": NOON, "address": "10.0.0.1"} | more
    return sign_in.sign_in(name, password, people=people, passwords=PASSWORDS, **asked)  # type: ignore[arg-type]


def is_known(people: InMemoryPeople, credential: str, now: object = NOON) -> bool:
    try:
        authenticate(credential, people=people, now=now)  # type: ignore[arg-type]
    except Unauthenticated:
        return False
    return True


def test_a_token_stands_for_its_owner_as_they_are_now(people: InMemoryPeople) -> None:
    token = a_token(people, frozenset({Permission.RUNS_READ}))
    manage.set_member(as_caller(LEAD), VISION, ADA.name, Role.VIEWER, people=people)

    caller = authenticate(token, people=people, now=NOON, address="10.1.1.1")

    assert ("ada", {"vision": Role.VIEWER}, "10.1.1.1") == (caller.user, caller.teams, caller.address)
    assert {Permission.RUNS_READ} == caller.scopes
    assert caller.via.startswith("token:")


def test_a_token_says_what_it_is_and_notices_a_slip(people: InMemoryPeople) -> None:
    token = a_token(people)

    assert token.startswith("mosaic_pat_")
    assert read(token) is not None
    assert [None, None] == [read(token[:-1]), read(token.replace("mosaic_pat", "mosaic_session"))]


@given(place=st.integers(0, 200), letter=st.sampled_from("0123456789abcdef_x"))
def test_no_changed_letter_makes_another_true_token(place: int, letter: str) -> None:
    people = InMemoryPeople()
    settle(people)
    token = a_token(people)
    place %= len(token)
    forged = token[:place] + letter + token[place + 1 :]

    assert (forged == token) == is_known(people, forged)


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "mosaic_pat_",
        "x" * 10_000,
        "mosaic_pat_é",
        "\0",
        "mosaic_pat_*_*_*",
        "null",
        "eyJhbGciOiJub25lIn0.e30.",
    ],
)
def test_what_is_no_credential_is_nobody(people: InMemoryPeople, shown: str) -> None:
    assert not is_known(people, shown)


def test_the_id_alone_proves_nothing(people: InMemoryPeople) -> None:
    """A forger who knows an id, for it stands in the audit trail, makes a secret with a right checksum."""
    shown = read(a_token(people))
    assert shown is not None
    forged, _ = make(CredentialKind.TOKEN, ADA.name, now=NOON, life=TOKEN_LIFE)
    other = read(forged)
    assert other is not None
    with people.change() as draft:
        kept = draft.credential(shown.credential_id)
        assert kept is not None
        draft.put_credential(replace(kept, credential_id=other.credential_id))

    assert not is_known(people, forged)


def test_a_token_ends_at_its_date(people: InMemoryPeople) -> None:
    token = a_token(people)

    assert is_known(people, token, NOON + TOKEN_LIFE - timedelta(seconds=1))
    assert not is_known(people, token, NOON + TOKEN_LIFE)


def test_a_session_ends_when_nobody_uses_it(people: InMemoryPeople) -> None:
    session = a_session(people)

    assert is_known(people, session, NOON + SESSION_IDLE - timedelta(seconds=1))
    assert is_known(people, session, NOON + SESSION_IDLE + hours(1))
    assert not is_known(people, session, NOON + SESSION_IDLE + hours(1) + SESSION_IDLE)


def test_a_session_ends_after_a_week_however_busy(people: InMemoryPeople) -> None:
    session = a_session(people)
    times = [NOON + hours(6 * step) for step in range(1, 28)]

    assert all(is_known(people, session, time) for time in times)
    assert not is_known(people, session, NOON + SESSION_LIFE)


def test_when_it_was_used_is_written_at_most_once_a_minute(people: InMemoryPeople) -> None:
    token = a_token(people)
    for second in (0, 30, 59, 61):
        is_known(people, token, NOON + timedelta(seconds=second))

    (kept,) = manage.list_credentials(as_caller(ADA), ADA.name, people=people)

    assert NOON + timedelta(seconds=61) == kept.last_used_at


def test_signing_out_ends_this_session_alone(people: InMemoryPeople) -> None:
    one, other, token = a_session(people), a_session(people), a_token(people)

    sign_in.sign_out(one, people=people, now=NOON)
    sign_in.sign_out(token, people=people, now=NOON)

    assert (False, True, True) == (is_known(people, one), is_known(people, other), is_known(people, token))


def test_who_is_deactivated_has_nothing_left(people: InMemoryPeople) -> None:
    credentials = [a_session(people), a_token(people)]
    code, _ = sign_in.new_code(as_caller(ADA), people=people, now=NOON)

    manage.change_user(as_caller(ROOT), ADA.name, active=False, people=people)
    assert not any(is_known(people, one) for one in credentials)

    manage.change_user(as_caller(ROOT), ADA.name, active=True, people=people)
    assert not any(is_known(people, one) for one in credentials)
    with pytest.raises(Unauthenticated):
        sign_in.redeem(code, people=people, now=NOON)


def test_who_is_deactivated_in_the_database_alone_is_nobody(people: InMemoryPeople) -> None:
    token = a_token(people)
    with people.change() as draft:
        draft.put_account(replace(ADA, active=False))

    assert not is_known(people, token)
    with pytest.raises(Unauthenticated):
        enter(people)


def test_names_that_begin_alike_are_different_people(people: InMemoryPeople) -> None:
    token = a_token(people)

    assert ADA.name == authenticate(token, people=people, now=NOON).user
    manage.change_user(as_caller(ROOT), ADA2.name, active=False, people=people)

    assert is_known(people, token)
    with pytest.raises(Unauthenticated):
        enter(people, "ad")


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", "wrong"), ("ada", ""), ("nobody", PASSWORD), ("ADA", PASSWORD), ("ci", ""), ("a b", ""), ("", "")],
)
def test_a_wrong_name_and_a_wrong_password_are_told_alike(people: InMemoryPeople, name: str, password: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        enter(people, name, password)

    assert str(refused.value) == "name or password is wrong"


def test_guessing_is_slowed_down_even_for_the_right_password(people: InMemoryPeople) -> None:
    for _ in range(5):
        with pytest.raises(Unauthenticated):
            enter(people, password="wrong")

    with pytest.raises(TooManyRequests) as refused:
        enter(people)

    assert refused.value.retry_after_s > 0
    assert enter(people, now=NOON + timedelta(seconds=2)).user == ADA.name


def test_guessing_from_elsewhere_does_not_lock_out_whose_name_it_is(people: InMemoryPeople) -> None:
    for number in range(20):
        with pytest.raises(Unauthenticated):
            enter(people, password="wrong", address=f"10.9.9.{number}")

    assert enter(people).user == ADA.name


def test_one_address_that_tries_many_names_is_slowed_down(people: InMemoryPeople) -> None:
    for number in range(30):
        with pytest.raises(Unauthenticated):
            enter(people, f"user{number}", "wrong")

    with pytest.raises(TooManyRequests):
        enter(people, "another", "wrong")


def test_many_addresses_that_guess_one_name_are_slowed_down(people: InMemoryPeople) -> None:
    for number in range(50):
        with pytest.raises(Unauthenticated):
            enter(people, password="wrong", address=f"10.9.9.{number}")

    with pytest.raises(TooManyRequests) as refused:
        enter(people, password="wrong", address="10.9.9.99")

    assert refused.value.retry_after_s <= 30


def test_a_name_cannot_be_made_to_count_against_an_address(people: InMemoryPeople) -> None:
    for number in range(40):
        with pytest.raises(Unauthenticated):
            enter(people, "from 10.0.0.1", "wrong", address=f"10.9.9.{number}")

    assert enter(people).user == ADA.name


def test_the_right_password_forgives_the_wrong_ones_before(people: InMemoryPeople) -> None:
    for _ in range(3):
        for _ in range(4):
            with pytest.raises(Unauthenticated):
                enter(people, password="wrong")
        enter(people)


def test_a_code_opens_one_session_once(people: InMemoryPeople) -> None:
    code, _ = sign_in.new_code(as_caller(ADA), people=people, now=NOON)

    opened = sign_in.redeem(code, people=people, now=NOON)

    assert ADA.name == authenticate(opened.session, people=people, now=NOON).user
    assert not is_known(people, code)
    with pytest.raises(Unauthenticated):
        sign_in.redeem(code, people=people, now=NOON)


def test_a_code_is_good_for_an_hour(people: InMemoryPeople) -> None:
    code, _ = sign_in.new_code(as_caller(ADA), people=people, now=NOON)

    with pytest.raises(Unauthenticated):
        sign_in.redeem(code, people=people, now=NOON + hours(1))


@pytest.mark.parametrize("other", ["token", "session"])
def test_only_a_code_is_redeemed(people: InMemoryPeople, other: str) -> None:
    credential = a_token(people) if other == "token" else a_session(people)

    with pytest.raises(Unauthenticated):
        sign_in.redeem(credential, people=people, now=NOON)
    assert is_known(people, credential)


def test_a_token_with_scopes_gets_no_session_that_has_none(people: InMemoryPeople) -> None:
    with pytest.raises(Forbidden):
        sign_in.new_code(as_caller(ADA, scopes=frozenset(Permission)), people=people, now=NOON)


def test_of_many_sessions_the_oldest_makes_room(people: InMemoryPeople) -> None:
    sessions = [enter(people, now=NOON + timedelta(seconds=second)).session for second in range(52)]

    assert [False, False] + [True] * 50 == [is_known(people, one, NOON + hours(0.1)) for one in sessions]


def a_visit(**more: object) -> Vouched:
    user = User(UserName("eve"), "Eve", "eve@example.org", teams={VISION: Role.RESEARCHER})
    return replace(Vouched("https://id.example", "77", user, gives_teams=True), **more)  # type: ignore[arg-type]


def test_who_is_vouched_for_gets_an_account_and_their_teams(people: InMemoryPeople) -> None:
    session = sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON).session

    caller = authenticate(session, people=people, now=NOON)

    assert ("eve", {"vision": Role.RESEARCHER}, frozenset()) == (caller.user, caller.teams, caller.roles)


def test_a_provider_takes_away_what_it_no_longer_says(people: InMemoryPeople) -> None:
    sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON)
    session = sign_in.sign_in_by_provider(a_visit(user=User(UserName("renamed"))), people=people, now=NOON).session

    caller = authenticate(session, people=people, now=NOON)

    assert ("eve", {}) == (caller.user, caller.teams)


def test_a_provider_that_says_nothing_of_teams_changes_none(people: InMemoryPeople) -> None:
    sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON)
    silent = a_visit(user=User(UserName("eve")), gives_teams=False)
    session = sign_in.sign_in_by_provider(silent, people=people, now=NOON).session

    assert {"vision": Role.RESEARCHER} == authenticate(session, people=people, now=NOON).teams


@pytest.mark.parametrize("name", ["ada", "root", "ci"])
def test_no_provider_hands_over_an_account_by_its_name(people: InMemoryPeople, name: str) -> None:
    with pytest.raises(Refused):
        sign_in.sign_in_by_provider(a_visit(user=User(UserName(name))), people=people, now=NOON)


def test_the_same_subject_of_another_issuer_is_somebody_else(people: InMemoryPeople) -> None:
    sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON)

    with pytest.raises(Refused):
        sign_in.sign_in_by_provider(a_visit(issuer="https://evil.example"), people=people, now=NOON)


def test_a_provider_gives_no_role_in_the_fleet(people: InMemoryPeople) -> None:
    with pytest.raises(BadInput):
        sign_in.sign_in_by_provider(
            a_visit(user=User(UserName("eve"), teams={VISION: Role.ADMIN})), people=people, now=NOON
        )
    bold = a_visit(user=User(UserName("eve"), roles=frozenset({Role.ADMIN})))
    session = sign_in.sign_in_by_provider(bold, people=people, now=NOON).session

    assert frozenset() == authenticate(session, people=people, now=NOON).roles


def test_who_was_deactivated_stays_out_whoever_vouches(people: InMemoryPeople) -> None:
    sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON)
    manage.change_user(as_caller(ROOT), UserName("eve"), active=False, people=people)

    with pytest.raises(Unauthenticated):
        sign_in.sign_in_by_provider(a_visit(), people=people, now=NOON)


def test_the_first_admin_is_made_once() -> None:
    people = InMemoryPeople()

    assert add_first_admin(UserName("root"), PASSWORD, people=people, passwords=PASSWORDS)
    assert not add_first_admin(UserName("mallory"), PASSWORD, people=people, passwords=PASSWORDS)

    assert {Role.ADMIN} == authenticate(enter(people, "root").session, people=people, now=NOON).roles
    with pytest.raises(Unauthenticated):
        enter(people, "mallory")


def test_who_holds_the_database_can_always_enter(people: InMemoryPeople) -> None:
    with people.change() as draft:
        draft.put_account(replace(ROOT, active=False))

    code = code_for_admin(ROOT.name, people=people, now=NOON)

    session = sign_in.redeem(code, people=people, now=NOON).session
    assert {Role.ADMIN} == authenticate(session, people=people, now=NOON).roles


def test_the_owner_of_a_machine_has_a_token_for_as_long_as_it_is_up(people: InMemoryPeople) -> None:
    first = token_for_owner(UserName("me"), people=people, now=NOON)
    second = token_for_owner(UserName("me"), people=people, now=NOON)

    assert (False, True) == (is_known(people, first), is_known(people, second))
    assert {Role.ADMIN} == authenticate(second, people=people, now=NOON).roles

    end_owner_tokens(UserName("me"), people=people)
    assert not is_known(people, second)


def test_a_service_account_has_no_password_to_guess(people: InMemoryPeople) -> None:
    assert CI.password_hash == ""
    with pytest.raises(Unauthenticated):
        enter(people, "ci", "")

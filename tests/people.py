"""People for tests of identity: say only what the test is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Caller, Role
from mosaic_registry.domain.people import Account
from mosaic_registry.ports import People

NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)
PASSWORD = "correct horse battery"
VISION, ROBOTS = TeamName("vision"), TeamName("robots")


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


def an_account(name: str, *, roles: set[Role] | None = None, **more: Any) -> Account:
    teams = {TeamName(team): role for team, role in more.pop("teams", {}).items()}
    account = Account(UserName(name), roles=frozenset(roles or ()), teams=teams, password_hash=f"plain:{PASSWORD}")
    return replace(account, **more)


def as_caller(account: Account, **more: Any) -> Caller:
    return Caller(account.name, teams=account.teams, roles=account.roles, **more)


ROOT = an_account("root", roles={Role.ADMIN})
LEAD = an_account("lead", teams={"vision": Role.TEAM_ADMIN})
ADA = an_account("ada", teams={"vision": Role.RESEARCHER})
ADA2 = an_account("ada2", teams={"vision2": Role.RESEARCHER})
BOB = an_account("bob", teams={"robots": Role.TEAM_ADMIN})
OPS = an_account("ops", roles={Role.OPERATOR})
CI = an_account("ci", teams={"vision": Role.RESEARCHER}, owner_team=VISION, password_hash="")
EVERYBODY = (ROOT, LEAD, ADA, ADA2, BOB, OPS, CI)


def settle(people: People, *accounts: Account) -> None:
    """Let them exist."""
    with people.change() as draft:
        for account in accounts or EVERYBODY:
            draft.put_account(account)

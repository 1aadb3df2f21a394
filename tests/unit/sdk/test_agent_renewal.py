"""An agent's certificate over days: renewed in time, kept while the registry is away, asked for anew when late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.agent.control.renewal import Renewal
from mosaic.errors import Refused, ServiceUnavailable
from mosaic.hosting.pki import (
    AGENT_FILE,
    AGENT_LIFETIME,
    Authority,
    identity_files,
    key_pem,
    new_key,
    request_pem,
    tls_files,
    utc_now,
)


class Fleet:
    """A registry that renews while it is there, and a clock."""

    def __init__(self, home: Path) -> None:
        self.authority, self.now, self.home = Authority.new(utc_now()), utc_now(), home
        self.error: Exception | None = None
        self.rejoined = 0
        self.issue()

    def issue(self) -> None:
        key = new_key()
        issued = self.authority.issue_agent("a1", request_pem(key), now=self.now)
        identity_files(self.home, AGENT_FILE, ca=self.authority.ca_pem, certificate=issued.pem, key=key_pem(key))

    def renew(self, request: bytes) -> tuple[bytes, bytes]:
        if self.error:
            raise self.error
        return self.authority.issue_agent("a1", request, now=self.now).pem, self.authority.ca_pem

    def join_again(self) -> None:
        self.rejoined += 1
        if self.error:
            raise self.error
        self.issue()

    def shown(self) -> bytes:
        return tls_files(self.home, AGENT_FILE).read().certificate


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture
def renewal(fleet: Fleet) -> Renewal:
    return Renewal(fleet.home, fleet.renew, fleet.join_again, clock=lambda: fleet.now)


def test_it_is_renewed_at_two_thirds_of_its_time_with_a_new_key(fleet: Fleet, renewal: Renewal) -> None:
    first = fleet.shown()
    fleet.now += AGENT_LIFETIME * 0.6
    assert renewal.renew_if_due()
    assert first == fleet.shown()

    fleet.now += AGENT_LIFETIME * 0.1
    assert renewal.renew_if_due()

    assert first != fleet.shown()
    assert renewal.due_in_s() > timedelta(hours=15).total_seconds()


@pytest.mark.parametrize("error", [ServiceUnavailable("the registry", "here"), Refused("revoked")])
def test_while_it_cannot_be_renewed_the_one_at_hand_stays_and_readiness_says_why(
    fleet: Fleet, renewal: Renewal, error: Exception
) -> None:
    before, fleet.error = fleet.shown(), error
    fleet.now += AGENT_LIFETIME * 0.9

    assert not renewal.renew_if_due()
    assert before == fleet.shown()
    assert str(error) in str(renewal.fault)

    fleet.error = None
    assert renewal.renew_if_due()
    assert renewal.fault is None


def test_an_agent_that_slept_too_long_joins_again(fleet: Fleet, renewal: Renewal) -> None:
    fleet.now += AGENT_LIFETIME * 3

    assert renewal.renew_if_due()

    assert 1 == fleet.rejoined
    assert renewal.due_in_s() > 0

"""A checkpoint says what it is of, and nobody may take it for something else."""

from __future__ import annotations

import pytest

from mosaic.errors import BadInput
from mosaic.worker.library.passport import Passport

PASSPORT = Passport("cleanrl", "cleanrl", "1.2.0", "ppo", "CartPole-v1", 5_000, 3, "sha256:1")


def test_a_run_that_asks_for_the_same_may_use_it() -> None:
    PASSPORT.check("a.pt", env_id="CartPole-v1", algo="ppo", worker="cleanrl")


def test_what_was_not_asked_for_is_as_the_passport_says() -> None:
    PASSPORT.check("a.pt", env_id=None, algo=None)


def test_every_contradiction_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        PASSPORT.check("a.pt", env_id="Pendulum-v1", algo="dqn")

    assert "a.pt" == refused.value.source
    environment, algorithm = refused.value.faults
    assert "'CartPole-v1'" in environment
    assert "'Pendulum-v1'" in environment
    assert "'ppo'" in algorithm
    assert "'dqn'" in algorithm


def test_it_survives_json_and_a_newer_release() -> None:
    assert PASSPORT == Passport.from_dict({**PASSPORT.to_dict(), "colour": "blue"})


def test_one_without_an_environment_is_refused() -> None:
    told = PASSPORT.to_dict()
    del told["env_id"]

    with pytest.raises(BadInput, match="env_id"):
        Passport.from_dict(told)

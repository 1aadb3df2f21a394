"""A run tells every setting that counted, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mosaic.errors import BadInput
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.settings import resolve, resolve_config, settings_digest
from mosaic.worker.schema import setting


@dataclass(frozen=True)
class Settings(LibrarySettings):
    """Those of some library."""

    depth: int = setting(2, "How deep")


def test_what_was_asked_for_comes_before_a_preset_and_that_before_defaults() -> None:
    resolved = resolve({"lr": 0.1, "gamma": 0.99, "depth": 1}, {"lr": 0.3}, {"lr": 0.2, "gamma": 0.9})

    assert {
        "depth": {"value": 1, "origin": "default"},
        "gamma": {"value": 0.9, "origin": "preset"},
        "lr": {"value": 0.3, "origin": "asked"},
    } == resolved


def test_what_belongs_to_the_run_is_no_setting() -> None:
    assert {} == resolve_config({"run_id": "r", "seed": 1, "worker_id": "w"}, ())


def test_settings_read_from_a_file_know_what_was_asked_for() -> None:
    config = Settings.from_dict({"run_id": "r", "env_id": "CartPole-v1", "extras": {"lr": 0.1}})

    assert {"run_id": "r", "env_id": "CartPole-v1", "algo_params": {"lr": 0.1}} == dict(config.asked)


def test_settings_made_by_hand_were_asked_for_where_they_differ() -> None:
    assert {"depth": 3} == dict(Settings("r", depth=3).asked)


def test_what_is_found_out_later_was_not_asked_for() -> None:
    config = Settings.from_dict({"run_id": "r", "depth": 3}).resolved(env_id="Acrobot-v1", depth=4)

    assert ("Acrobot-v1", 4) == (config.env_id, config.depth)
    assert {"run_id": "r", "depth": 3} == dict(config.asked)


def test_runs_that_differ_in_length_and_reporting_share_a_digest() -> None:
    short = resolve_config(Settings("r", total_steps=10, wandb_project="a").to_dict(), ())
    long = resolve_config(Settings("s", total_steps=99, notes="again", eval_every=5).to_dict(), ())

    assert settings_digest(short) == settings_digest(long)
    assert settings_digest(short) != settings_digest(resolve_config(Settings("r", depth=3).to_dict(), ()))


def test_an_evaluation_needs_a_policy_and_an_episode() -> None:
    with pytest.raises(ValueError, match=r"^policy_path: is required for mode policy_eval$"):
        Settings("r", mode="policy_eval")
    with pytest.raises(ValueError, match=r"^eval_episodes: "):
        Settings("r", mode="policy_eval", policy_path="x", eval_episodes=0)


def test_evaluations_during_training_need_an_episode_too() -> None:
    with pytest.raises(ValueError, match=r"^eval_episodes: "):
        Settings("r", eval_every=100, eval_episodes=0)


class Refusing(Settings):
    """Those of a library that has no algorithm at all."""

    def library_faults(self) -> list[str]:
        """Say so."""
        raise BadInput("algo", ["there is none"])


def test_what_the_library_refuses_is_asked_last() -> None:
    with pytest.raises(ValueError, match=r"^algo: there is none$"):
        Refusing("r")
    with pytest.raises(ValueError, match=r"^depth: must be an integer"):
        Refusing("r", depth="deep")  # type: ignore[arg-type]

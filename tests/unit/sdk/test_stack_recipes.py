"""A stack's containers, as far as they can be judged without an engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from mosaic.agent.settings import Settings as AgentSettings
from mosaic.errors import BadInput, RunUnfinished
from mosaic.testing import MosaicStack
from mosaic.testing.containers import brokers, platform
from mosaic.testing.containers.brokers import Passwords
from mosaic.testing.containers.faults import (
    EngineMissing,
    ExtraMissing,
    ImageMissing,
    PartBroken,
    PlatformMissing,
)
from mosaic.testing.containers.images import image_of
from mosaic.testing.containers.recipe import Recipe
from mosaic_console.settings import Settings as ConsoleSettings
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.settings import Settings as TelemetrySettings

ADDRESSES = platform.Addresses(Passwords())

READERS: Mapping[str, Callable[[Mapping[str, str]], object]] = {
    "registry": RegistrySettings.from_env,
    "scheduler": SchedulerSettings.from_env,
    "telemetry": TelemetrySettings.from_env,
}

BROKERS = [make("image", Passwords()) for make in (brokers.rabbitmq, brokers.redis, brokers.postgres)]


@pytest.mark.parametrize("name", READERS)
def test_a_service_gets_exactly_the_settings_it_reads(name: str) -> None:
    recipe = platform.service(name, "image", ADDRESSES, {})

    assert READERS[name](recipe.environment)


def test_a_console_gets_exactly_the_settings_it_reads() -> None:
    recipe = platform.console("image", ADDRESSES, {})

    assert ConsoleSettings.from_env(recipe.environment).insecure_listen


def test_an_agent_gets_exactly_the_settings_it_reads() -> None:
    recipe = platform.agent("reference-1", "reference", "image", ADDRESSES, {"MOSAIC_GPUS": "sim:2"})

    settings = AgentSettings.from_env(recipe.environment)

    assert ("reference-1", "reference", "image") == (settings.agent_id, settings.worker, settings.image)
    assert "sim:2" == recipe.environment["MOSAIC_GPUS"]


def test_a_setting_reaches_only_the_part_that_reads_it() -> None:
    settings = {"MOSAIC_SCHEDULER_LEASE_S": "4", "MOSAIC_AGENT_SLOTS": "2"}

    scheduler = platform.service("scheduler", "image", ADDRESSES, settings)
    registry = platform.service("registry", "image", ADDRESSES, settings)

    assert "4" == scheduler.environment["MOSAIC_SCHEDULER_LEASE_S"]
    assert not settings.keys() & registry.environment.keys()


def test_agents_share_the_run_directories_and_nothing_else() -> None:
    first, second = (platform.agent(name, "reference", "image", ADDRESSES, {}) for name in ("one", "two"))

    assert {"runs"} == first.volumes.keys() & second.volumes.keys()


def test_a_setting_that_no_part_reads_is_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match="MOSAIC_SHEDULER_LEASE_S is read by no part of a stack, did you mean"):
        MosaicStack(settings={"MOSAIC_SHEDULER_LEASE_S": "4"})


def test_a_stack_that_does_not_run_says_so() -> None:
    with pytest.raises(PlatformMissing, match=r"runs no services: it was made with only_brokers"):
        MosaicStack().submit("reference", env="CartPole-v1")


def test_the_client_of_the_engine_is_loaded_only_when_a_stack_starts() -> None:
    code = "import sys, mosaic.testing.plugin; sys.exit('docker' in sys.modules or 'testcontainers' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def test_two_stacks_share_neither_name_nor_password() -> None:
    first, second = MosaicStack(), MosaicStack()

    assert first.stack_id != second.stack_id
    assert Passwords() != Passwords()


@pytest.mark.parametrize("recipe", BROKERS, ids=lambda recipe: recipe.name)
def test_a_broker_runs_as_nobody_special_and_keeps_its_data_in_a_volume(recipe: Recipe) -> None:
    assert "999:999" == recipe.user
    assert recipe.volumes


def test_images_have_the_version_of_the_sdk() -> None:
    assert "mosaic-fleet/reference:9.9" == image_of("reference", "9.9")
    assert image_of("registry").startswith("mosaic-fleet/registry:")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ExtraMissing("testcontainers"), "pip install 'mosaic-testing[containers]'"),
        (EngineMissing("nobody listens"), "start one, or set DOCKER_HOST"),
        (ImageMissing(["a:1", "b:2"]), "a:1, b:2; `make images` builds"),
        (
            PartBroken("scheduler", "ended by itself with exit code 2", "BROKER_URL is not set\n"),
            "BROKER_URL is not set",
        ),
        (PartBroken("redis", "was not ready within 5 s", ""), "it printed last:\n(nothing)"),
        (RunUnfinished("r-1", 5.0, "queued", "no agent of worker x"), "still queued after 5 s: no agent of worker x"),
    ],
)
def test_a_fault_says_what_to_do_or_shows_what_was_printed(fault: Exception, words: str) -> None:
    assert words in str(fault)

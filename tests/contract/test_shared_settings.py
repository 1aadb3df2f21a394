"""A setting that several processes read has one variable, one type and one default."""

from __future__ import annotations

import typing
from dataclasses import MISSING, fields
from typing import Any

import pytest

from mosaic.agent.settings import Settings as AgentSettings
from mosaic.hosting.settings import RENAMED, SHARED, variables
from mosaic.messaging.topology import DEFAULT_SHARDS
from mosaic_console.settings import Settings as ConsoleSettings
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.settings import Settings as TelemetrySettings

PROCESSES: dict[str, type[Any]] = {
    "MOSAIC_REGISTRY": RegistrySettings,
    "MOSAIC_SCHEDULER": SchedulerSettings,
    "MOSAIC_TELEMETRY": TelemetrySettings,
    "MOSAIC_CONSOLE": ConsoleSettings,
    "MOSAIC_AGENT": AgentSettings,
}
#: What each process listens on and keeps for itself.
OWN = {"database_url", "grpc_address", "health_address", "log_level", "runs_root"}


def test_what_two_processes_have_is_shared_or_its_own_by_design() -> None:
    names = [field.name for cls in PROCESSES.values() for field in fields(cls)]

    assert {name for name in names if names.count(name) > 1} <= SHARED.keys() | OWN


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_setting_has_one_type_and_one_default(name: str) -> None:
    having = [cls for cls in PROCESSES.values() if name in {field.name for field in fields(cls)}]
    defaults = {field.default for cls in having for field in fields(cls) if field.name == name} - {MISSING}
    # Telemetry alone may work without a broker.
    assert len(defaults) <= 1
    assert len({typing.get_type_hints(cls)[name] for cls in having}) <= 1


def test_no_old_name_is_read_again() -> None:
    read = {variable for prefix, cls in PROCESSES.items() for variable in variables(cls, prefix)}

    assert not RENAMED.keys() & read


def test_events_are_spread_alike_by_default() -> None:
    assert {DEFAULT_SHARDS} == {cls.event_shards for cls in (SchedulerSettings, TelemetrySettings, AgentSettings)}

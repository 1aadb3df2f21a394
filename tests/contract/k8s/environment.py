"""Whether the variables that a deployment sets are those that the process in it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mosaic.agent.inventory import GPUS_VARIABLE
from mosaic.agent.settings import Settings as AgentSettings
from mosaic.errors import BadInput, did_you_mean
from mosaic.hosting.settings import variables
from mosaic_console.settings import Settings as ConsoleSettings
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.settings import Settings as TelemetrySettings

SETTINGS: dict[str, type[Any]] = {
    "registry": RegistrySettings,
    "scheduler": SchedulerSettings,
    "telemetry": TelemetrySettings,
    "console": ConsoleSettings,
    "agent": AgentSettings,
}

_DEFAULT = re.compile(r"\$\{\w+:-(?P<default>[^}]*)\}")


def faults(process: str, environment: Mapping[str, str | None]) -> list[str]:
    """Return everything that *process* would refuse in *environment*, or never look at."""
    known = {*variables(SETTINGS[process], f"MOSAIC_{process.upper()}"), GPUS_VARIABLE}
    ours = {name: value for name, value in environment.items() if name.startswith("MOSAIC_")}
    strangers = [name for name in ours if not {name, name.removesuffix("_FILE")} & known]
    found = [f"{name} is read by no {process}{did_you_mean(name, known)}" for name in strangers]
    # The value of a file, or of a field that the cluster fills in, is known on the machine only.
    readable = {
        name if name in known else name.removesuffix("_FILE"): value or "x"
        for name, value in ours.items()
        if name not in strangers
    }
    try:
        SETTINGS[process].from_env(readable)
    except BadInput as error:
        found += error.faults
    return found


def compose_services(path: Path) -> dict[str, Any]:
    """Return the services of a compose file, with the default of every variable filled in."""
    text = _DEFAULT.sub(lambda match: match["default"], path.read_text(encoding="utf-8"))
    services = yaml.safe_load(text)["services"]
    assert isinstance(services, dict)
    return services


def process_of(service: str) -> str:
    """Return the kind of process in a service of compose."""
    return "agent" if service.startswith("agent-") else service

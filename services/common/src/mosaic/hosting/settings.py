"""Settings from the environment: read once, all faults reported together."""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import MappingProxyType
from typing import Any, TypeVar

from mosaic.errors import BadInput, did_you_mean
from mosaic.events.proof import HOW_TO_MAKE
from mosaic.messaging.topology import DEFAULT_SHARDS
from mosaic.wire.tls import TlsFiles

SettingsT = TypeVar("SettingsT")

#: Fields that several processes have: their variable is the same for all, whatever the process is called.
SHARED: Mapping[str, str] = MappingProxyType(
    {
        "broker_url": "MOSAIC_BROKER_URL",
        "events_broker_url": "MOSAIC_EVENTS_BROKER_URL",
        "event_shards": "MOSAIC_EVENT_SHARDS",
        "tls_ca_file": "MOSAIC_TLS_CA_FILE",
        "tls_cert_file": "MOSAIC_TLS_CERT_FILE",
        "tls_key_file": "MOSAIC_TLS_KEY_FILE",
        "event_key": "MOSAIC_EVENT_KEY",
        # As people's commands find them.
        "registry_address": "MOSAIC_ENDPOINT_REGISTRY",
        "scheduler_address": "MOSAIC_ENDPOINT_SCHEDULER",
        "telemetry_address": "MOSAIC_ENDPOINT_TELEMETRY",
        # As agents pass it on to workers.
        "heartbeat_s": "MOSAIC_HEARTBEAT_S",
    }
)

#: Variables that were called otherwise once -> as they are called now. One that is still set stops every process.
RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "MOSAIC_SCHEDULER_BROKER_URL": "MOSAIC_BROKER_URL",
        "MOSAIC_AGENT_BROKER_URL": "MOSAIC_BROKER_URL",
        "MOSAIC_TELEMETRY_BROKER_URL": "MOSAIC_EVENTS_BROKER_URL, or MOSAIC_BROKER_URL where all share one broker",
        "MOSAIC_SCHEDULER_EVENTS_BROKER_URL": "MOSAIC_EVENTS_BROKER_URL",
        "MOSAIC_AGENT_EVENTS_URL": "MOSAIC_EVENTS_BROKER_URL",
        "MOSAIC_SCHEDULER_EVENT_SHARDS": "MOSAIC_EVENT_SHARDS",
        "MOSAIC_TELEMETRY_EVENT_SHARDS": "MOSAIC_EVENT_SHARDS",
        "MOSAIC_AGENT_SHARDS": "MOSAIC_EVENT_SHARDS",
        "MOSAIC_SCHEDULER_REGISTRY_ADDRESS": "MOSAIC_ENDPOINT_REGISTRY",
        "MOSAIC_AGENT_REGISTRY_ADDRESS": "MOSAIC_ENDPOINT_REGISTRY",
        "MOSAIC_AGENT_SCHEDULER_ADDRESS": "MOSAIC_ENDPOINT_SCHEDULER",
        "MOSAIC_AGENT_HEARTBEAT_S": "MOSAIC_HEARTBEAT_S",
        "MOSAIC_TELEMETRY_SEAL_PATIENCE_S": "MOSAIC_TELEMETRY_FINISH_PATIENCE_S",
    }
)

#: ``MOSAIC_BROKER_``, ``MOSAIC_EVENT_`` and so on: what begins like a shared variable and is none is misspelt.
_SHARED_BEGINNINGS = tuple({"_".join(variable.split("_")[:2]) + "_" for variable in SHARED.values()})

#: What to do when a field is not set, where that is not plain.
_ADVICE = {"event_key": f"; {HOW_TO_MAKE}"}

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, kw_only=True)
class EventSettings:
    """How events travel. The scheduler, telemetry and agents must all say the same."""

    #: A broker for events alone, so that a flood of them cannot delay a dispatch; empty = `MOSAIC_BROKER_URL`.
    events_broker_url: str = ""
    #: Over how many queues events are spread; the queue of a run is chosen by it.
    event_shards: int = DEFAULT_SHARDS


@dataclass(frozen=True, kw_only=True)
class TlsSettings:
    """With which files a process shows who it is. A file that is replaced is used from then on."""

    #: Certificates of the CAs that are believed; several while one takes the place of another.
    tls_ca_file: str = ""
    #: The certificate of this process, which names it.
    tls_cert_file: str = ""
    #: The key of that certificate; may be the same file.
    tls_key_file: str = ""

    @property
    def tls(self) -> TlsFiles:
        """The files."""
        return TlsFiles(self.tls_ca_file, self.tls_cert_file, self.tls_key_file)


def read_settings(cls: type[SettingsT], prefix: str, env: Mapping[str, str]) -> SettingsT:
    """Build the dataclass *cls* from the variables ``<prefix>_<FIELD>`` of *env*, and from those in `SHARED`.

    Fields may be ``str``, ``int``, ``float`` or ``bool``. A variable ``<prefix>_<FIELD>_FILE`` names a
    file that holds the value, so that a secret need not stand in the environment.

    Raises:
        BadInput: lists every missing, unreadable, misspelt and renamed variable.

    """
    hints = typing.get_type_hints(cls)
    faults: list[str] = []
    values: dict[str, Any] = {}
    known = {variable_of(prefix, field.name): field for field in fields(cls)}  # type: ignore[arg-type]
    for variable, field in known.items():
        _read_one(variable, field, hints[field.name], env, values, faults)
    faults += _strange_names(prefix, known, env)
    if faults:
        raise BadInput("environment", faults)
    return cls(**values)


def variables(cls: type[Any], prefix: str) -> dict[str, bool]:
    """Return the variables that *cls* reads, each with whether it must be set."""
    return {variable_of(prefix, field.name): _is_required(field) for field in fields(cls)}


def variable_of(prefix: str, field: str) -> str:
    """Return the variable from which a process that is called *prefix* reads *field*."""
    return SHARED.get(field) or f"{prefix}_{field.upper()}"


def _strange_names(prefix: str, known: Collection[str], env: Mapping[str, str]) -> Iterator[str]:
    readable = {*known, *SHARED.values()}
    for variable in sorted(env):
        name = variable if variable in readable else variable.removesuffix("_FILE")
        if name in RENAMED:
            yield f"{variable} is now called {RENAMED[name]}"
        elif variable.startswith((prefix + "_", *_SHARED_BEGINNINGS)) and name not in readable:
            yield f"{variable} is not a setting{did_you_mean(variable, readable)}"


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _read_one(
    variable: str,
    field: Field[Any],
    kind: Any,
    env: Mapping[str, str],
    values: dict[str, Any],
    faults: list[str],
) -> None:
    text = env.get(variable)
    if text is None and variable + "_FILE" in env:
        path = env[variable + "_FILE"]
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read().strip()
        except OSError as error:
            faults.append(f"{variable}_FILE: cannot read {path}: {error.strerror}")
            return
    if text is None:
        if _is_required(field):
            faults.append(f"{variable} is not set{_ADVICE.get(field.name, '')}")
        return
    try:
        values[field.name] = _parse(text, kind)
    except ValueError:
        faults.append(f"{variable}={text!r} is not {_describe(kind)}")


def _parse(text: str, kind: Any) -> Any:
    if kind is bool:
        lowered = text.lower()
        if lowered not in _TRUE | _FALSE:
            raise ValueError(text)
        return lowered in _TRUE
    return kind(text)


def _describe(kind: Any) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "readable")

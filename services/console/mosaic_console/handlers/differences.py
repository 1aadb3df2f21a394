"""The settings of a run beside the defaults of its worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.worker.plain import to_json

#: Says that the worker tells no default.
_UNTOLD = object()


@dataclass(frozen=True)
class Setting:
    """One setting as it is in a run."""

    name: str
    value: str
    #: Nothing where the worker tells none.
    default: str
    differs: bool
    about: str = ""


def settings_of(config: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Setting]:
    """Return every setting of *config*, those that differ from the default first, then by name."""
    found = list(_settings(config, _mapping(schema.get("properties")), ""))
    return sorted(found, key=lambda setting: (not setting.differs, setting.name))


def _settings(config: Mapping[str, Any], known: Mapping[str, Any], prefix: str) -> Iterator[Setting]:
    for name, value in config.items():
        described = _mapping(known.get(name))
        if isinstance(value, Mapping) and value:
            yield from _settings(value, _mapping(described.get("properties")), f"{prefix}{name}.")
            continue
        default = described.get("default", _UNTOLD)
        told = "" if default is _UNTOLD else _shown(default)
        about = str(described.get("description", ""))
        yield Setting(prefix + name, _shown(value), told, default is not _UNTOLD and value != default, about)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

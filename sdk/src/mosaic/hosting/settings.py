"""Settings from the environment: read once, all faults reported together."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from mosaic.errors import BadInput, did_you_mean

SettingsT = TypeVar("SettingsT")

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def read_settings(cls: type[SettingsT], prefix: str, env: Mapping[str, str]) -> SettingsT:
    """Build the dataclass *cls* from the variables ``<prefix>_<FIELD>`` of *env*.

    Fields may be ``str``, ``int``, ``float`` or ``bool``. A variable ``<prefix>_<FIELD>_FILE`` names a
    file that holds the value, so that a secret need not stand in the environment.

    Raises:
        BadInput: lists every missing, unreadable and misspelt variable.

    """
    hints = typing.get_type_hints(cls)
    faults: list[str] = []
    values: dict[str, Any] = {}
    known = {_variable(prefix, field): field for field in fields(cls)}  # type: ignore[arg-type]
    for variable, field in known.items():
        _read_one(variable, field, hints[field.name], env, values, faults)
    for variable in sorted(env):
        if variable.startswith(prefix + "_") and variable.removesuffix("_FILE") not in known and variable not in known:
            faults.append(f"{variable} is not a setting{did_you_mean(variable, known)}")
    if faults:
        raise BadInput("environment", faults)
    return cls(**values)


def home_directory(env: Mapping[str, str]) -> Path:
    """Return where one machine keeps its state: ``MOSAIC_HOME``, else ``~/.mosaic``."""
    return Path(env.get("MOSAIC_HOME") or Path(env.get("HOME", "~")).expanduser() / ".mosaic")


def variables(cls: type[Any], prefix: str) -> dict[str, bool]:
    """Return the variables that *cls* reads, each with whether it must be set."""
    return {_variable(prefix, field): _is_required(field) for field in fields(cls)}


def _variable(prefix: str, field: Field[Any]) -> str:
    return f"{prefix}_{field.name.upper()}"


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
            faults.append(f"{variable} is not set")
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

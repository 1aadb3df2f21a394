"""Policy settings as YAML: any of the knobs of `PolicySettings`, the others keep their default.

::

    patience: 20
    half_life: 12h
    min_runtime: 10m
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_simulator.files.fields import Faults, Fields
from mosaic_simulator.files.located_yaml import read_located_yaml


def read_policy(path: Path) -> PolicySettings:
    """Read the settings in *path*.

    Raises:
        BadInput: with every fault and its line.
    """
    faults = Faults(str(path))
    fields = Fields(read_located_yaml(path, faults), 1, faults)
    defaults = PolicySettings()
    knobs = {knob.name: _knob(fields, knob.name, getattr(defaults, knob.name)) for knob in dataclass_fields(defaults)}
    if not knobs["half_life"]:
        fields.fault("half_life", "must be longer than nothing")
    fields.refuse_unknown()
    faults.raise_if_any()
    return PolicySettings(**knobs)


def _knob(fields: Fields, name: str, default: Any) -> Any:
    """Read one knob as the kind of value its default is."""
    if isinstance(default, bool):
        return fields.truth(name, default)
    if isinstance(default, timedelta):
        return fields.span(name, default)
    if isinstance(default, int):
        return fields.whole(name, default)
    return fields.number(name, default)

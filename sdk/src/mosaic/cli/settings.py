"""Which settings a worker takes, read from the JSON Schema it publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from mosaic.cli.render import display

#: The platform gives these two; nobody sets them in a config.
_GIVEN = ("run_id", "seed")
#: Of a long list of choices so many are named.
_CHOICES = 8


def settings_table(schema: Mapping[str, Any]) -> Table:
    """Return every setting with what it takes, what it is by default, and what it means."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("takes", overflow="fold", max_width=22)
    table.add_column("default", overflow="fold", max_width=14)
    table.add_column("meaning", overflow="fold", min_width=20)
    required = schema.get("required", ())
    for name, setting in schema.get("properties", {}).items():
        if name not in _GIVEN:
            default = "must be set" if name in required else _default(setting)
            table.add_row(*map(display, (name, takes(setting), default, setting.get("description", ""))))
    return table


def _default(setting: Mapping[str, Any]) -> str:
    if "default" not in setting and "examples" in setting:
        # It has another one for each of several environments.
        return " or ".join(json.dumps(example) for example in setting["examples"])
    return json.dumps(setting.get("default"))


def algorithms_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the algorithms that the worker publishes, in its own order."""
    choices = schema.get("properties", {}).get("algo", {}).get("enum") or schema.get("x-algorithms") or ()
    return [str(choice) for choice in choices]


def takes(setting: Mapping[str, Any]) -> str:
    """Return in words what values *setting* allows: its types or choices, and its range."""
    if "enum" in setting:
        choices = [str(choice) for choice in setting["enum"]]
        more = f" and {len(choices) - _CHOICES} more" if len(choices) > _CHOICES else ""
        return ", ".join(choices[:_CHOICES]) + more
    if "anyOf" in setting:
        return " or ".join(takes(choice) for choice in setting["anyOf"])
    kinds = setting.get("type", "anything")
    words = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    return " ".join([words, *_limits(setting)])


def _limits(setting: Mapping[str, Any]) -> Iterator[str]:
    if "minimum" in setting and "maximum" in setting:
        yield f"{setting['minimum']:,} to {setting['maximum']:,}"
    else:
        signs = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        yield from (f"{sign} {setting[key]:,}" for key, sign in signs if key in setting)
    if "pattern" in setting:
        yield f"like {setting['pattern']}"
    if "items" in setting:
        yield f"of {takes(setting['items'])}"

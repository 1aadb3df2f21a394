"""Make configs for a check: one that ends soon, one that lasts, and one of each bad kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Config = dict[str, Any]

#: Fields that say how long a run is, and the values that make it short and long.
_LENGTHS = (
    (
        re.compile(r"(total_|running_|max_|num_|train_)?(time_?steps|env_steps)|(total|running|max|train)_steps"),
        512,
        50_000_000,
    ),
    (re.compile(r"(num_|n_|max_|total_|train_)?episodes|episodes_total"), 3, 5_000_000),
    (re.compile(r"(num_|n_|max_|total_|train_)?(iterations|iters|updates|epochs|generations)"), 3, 5_000_000),
)

#: What a required text field most likely wants to hear.
_LIKELY = {
    "env_id": "CartPole-v1",
    "env_name": "CartPole-v1",
    "env": "CartPole-v1",
    "environment": "CartPole-v1",
    "algo": "ppo",
    "algorithm": "ppo",
    "method": "ppo",
}


def length_fields(schema: Mapping[str, Any]) -> list[str]:
    """Return the fields of *schema* that say how long a run is."""
    return [name for name in _properties(schema) if _length_of(name) is not None]


def short_config(schema: Mapping[str, Any], run_id: str) -> Config:
    """Derive from *schema* a config whose run should end within seconds.

    Fields with a default keep it, except those that say how long the run is, which are made small;
    required fields get the first allowed or the likeliest value.
    """
    required = set(schema.get("required", ()))
    config: Config = {}
    for name, field in _properties(schema).items():
        if _length_of(name) is not None:
            config[name] = _short_length(name, field)
        elif name in required and "default" not in field:
            config[name] = _likely_value(name, field)
    return {**config, "run_id": run_id, **({"seed": 1} if "seed" in _properties(schema) else {})}


def long_config(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Config:
    """Return *config* with its length fields raised until nobody would wait for the end."""
    properties = _properties(schema)
    fields = [name for name in {**properties, **config} if _length_of(name) is not None]
    return {**config, **{name: _long_length(name, properties.get(name, {})) for name in fields}}


def with_seed(config: Mapping[str, Any], seed: int) -> Config:
    """Return *config* with another seed."""
    return {**config, "seed": seed}


def nested(config: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap *config* as it stands in a whole run request, the other form that workers read."""
    return {"metadata": {"worker": {"config": dict(config)}}}


def misnested(config: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap *config* one level too shallow, as people do by hand."""
    return {"metadata": {"config": dict(config)}}


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = schema.get("properties", {})
    return {name: field if isinstance(field, dict) else {} for name, field in found.items()}


def _length_of(name: str) -> tuple[int, int] | None:
    for pattern, short, long in _LENGTHS:
        if pattern.fullmatch(name):
            return short, long
    return None


def _short_length(name: str, field: Mapping[str, Any]) -> int:
    short = (_length_of(name) or (1, 1))[0]
    default = field.get("default")
    wanted = min(short, default) if isinstance(default, int) and default > 0 else short
    return max(wanted, int(field.get("minimum", 1)))


def _long_length(name: str, field: Mapping[str, Any]) -> int:
    return min((_length_of(name) or (1, 1))[1], int(field.get("maximum", 2**53)))


def _likely_value(name: str, field: Mapping[str, Any]) -> Any:
    if field.get("enum"):
        return field["enum"][0]
    kind = field.get("type")
    if kind in ("integer", "number"):
        return max(1, field.get("minimum", 1))
    return {"boolean": False, "array": [], "object": {}}.get(str(kind), _LIKELY.get(name, name))

"""The schema of a run's settings, with the real arguments of every algorithm."""

from __future__ import annotations

import re
from typing import Any

from mosaic.worker import shim
from mosaic_sb3.algorithms import NAMES, Algorithm, Parameter, find_algorithm
from mosaic_sb3.config import SB3Config

#: What of an annotation can be written as JSON. Schedules are written as the number they begin with, noise of actions
#: as its standard deviation.
_JSON_TYPES = {
    "int": "integer",
    "float": "number",
    "Schedule": "number",
    "ActionNoise": "number",
    "bool": "boolean",
    "str": "string",
    "None": "null",
    "dict[str, Any]": "object",
    "tuple[int, str]": "array",
}
_LIMITS = (
    (r"batch_size|buffer_size|n_steps|n_epochs|policy_delay|target_update_interval", {"minimum": 1}),
    (r"gamma|tau|gae_lambda|exploration_\w+", {"minimum": 0, "maximum": 1}),
    (r"learning_rate", {"exclusiveMinimum": 0}),
    (r"learning_starts|action_noise|ent_coef|vf_coef|max_grad_norm", {"minimum": 0}),
)


def published_schema() -> dict[str, Any]:
    """Return the schema: the fields of `SB3Config`, and what each algorithm adds to them."""
    return shim.published_schema(
        SB3Config,
        NAMES,
        lambda name: parameters_schema(find_algorithm(name)),
        lambda name: {"action_spaces": list(find_algorithm(name).action_spaces)},
    )


def parameters_schema(algorithm: Algorithm) -> dict[str, Any]:
    """Return the schema of the hyper-parameters of *algorithm*."""
    properties = {name: _parameter_schema(one) for name, one in algorithm.parameters.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _parameter_schema(parameter: Parameter) -> dict[str, Any]:
    parts = [part.strip() for part in parameter.annotation.split(" | ")]
    kinds = list(dict.fromkeys(_JSON_TYPES[part] for part in parts if part in _JSON_TYPES))
    schema = {"type": kinds, "default": parameter.default, "description": parameter.help}
    if {"number", "integer"} & set(kinds):
        for pattern, limits in _LIMITS:
            schema |= limits if re.fullmatch(pattern, parameter.name) else {}
    return schema

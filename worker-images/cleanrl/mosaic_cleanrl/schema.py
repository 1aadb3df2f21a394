"""The schema of a run's settings, with the real arguments of every installed script."""

from __future__ import annotations

import re
from typing import Any

from mosaic.worker import shim
from mosaic_cleanrl.config import CleanRLConfig
from mosaic_cleanrl.scripts import ALIASES, Parameter, Script, installed_scripts, usable_names

#: Arguments that have a field of their own, or that the platform decides.
RESERVED = frozenset(
    {
        *("seed", "env_id", "total_timesteps", "cuda", "num_envs", "capture_video", "exp_name"),
        *("track", "wandb_project_name", "wandb_entity", "upload_model", "hf_entity", "save_model"),
    }
)

_DEFAULT_ALGO = CleanRLConfig.__dataclass_fields__["algo"].default
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def published_schema() -> dict[str, Any]:
    """Return the schema: the fields of `CleanRLConfig`, and what each script adds to them."""
    names = sorted(usable_names(), key=lambda name: name != _DEFAULT_ALGO)
    scripts = installed_scripts()
    return shim.published_schema(
        CleanRLConfig,
        names,
        lambda name: parameters_schema(scripts[name]),
        lambda name: _abilities(scripts[name]),
        short_names=ALIASES,
    )


def parameters_schema(script: Script) -> dict[str, Any]:
    """Return the schema of *script*'s own hyper-parameters."""
    return {
        "type": "object",
        "properties": {
            name: _parameter_schema(parameter) for name, parameter in script.parameters.items() if name not in RESERVED
        },
        "additionalProperties": False,
    }


def _abilities(script: Script) -> dict[str, Any]:
    spaces = {"action_spaces": [script.action_space]} if script.action_space else {}
    seen = {} if script.reads_pictures else {"observation_spaces": ["vector"]}
    made_for = {"env_families": ["atari"]} if script.is_for_atari else {}
    return {**spaces, **seen, **made_for, "api": script.api}


def _parameter_schema(parameter: Parameter) -> dict[str, Any]:
    kind = _JSON_TYPES[parameter.kind]
    nullable = parameter.default is None
    schema: dict[str, Any] = {
        "type": [kind, "null"] if nullable else kind,
        "default": parameter.default,
        "description": parameter.help,
    }
    return schema | _range(parameter)


def _range(parameter: Parameter) -> dict[str, Any]:
    """Return the bounds that hold whatever the algorithm is."""
    name = parameter.name
    if parameter.kind is int and re.search(r"size|num_|steps|epochs|minibatches|frequency|atoms", name):
        return {"minimum": 1}
    if re.fullmatch(r"gamma|tau|gae_lambda|exploration_fraction|start_e|end_e", name):
        return {"minimum": 0, "maximum": 1}
    if name.endswith(("learning_rate", "_lr")) and parameter.kind is float:
        return {"exclusiveMinimum": 0}
    return {}

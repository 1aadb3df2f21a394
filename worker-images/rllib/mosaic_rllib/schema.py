"""The schema of a run's settings, with what the installed RLlib takes per algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from mosaic.worker import config_schema
from mosaic.worker.extras import add_other_names, extras_of
from mosaic_rllib.arguments import ALGORITHMS, parameters_schema
from mosaic_rllib.catalog import ACTION_SPACES, CONTINUOUS, EXAMPLES, SINGLE_AGENT_FAMILIES
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.offer import missing_environments

# The validator reports the choice with the fewest faults: being of another algorithm must count for more than
# any number of misspelt parameters, or the wrong algorithm's parameters would be suggested.
_WEIGHT = 8
_NAMES_AN_ALGO = {"allOf": [{"required": ["algo"]}] * _WEIGHT}


@cache
def published_schema() -> dict[str, Any]:
    """Return the schema: the fields of `RLlibConfig`, and per algorithm what ``algo_params`` may hold."""
    schema = config_schema(RLlibConfig)
    schema["properties"]["env_id"]["examples"] = list(EXAMPLES)
    schema["$defs"] = {algo: parameters_schema(algo) for algo in ALGORITHMS}
    add_other_names(schema["properties"])
    schema["anyOf"] = [*(_branch(algo, schema) for algo in ALGORITHMS), _unknown_algo()]
    schema["x-algorithms"] = {algo: _abilities(algo) for algo in ALGORITHMS}
    schema["x-missing-environments"] = missing_environments()
    return schema


def _abilities(algo: str) -> dict[str, Any]:
    # Others cannot even take a team of one.
    alone = {} if algo == "ppo" else {"max_agents": 1, "env_families": list(SINGLE_AGENT_FAMILIES)}
    return {"action_spaces": list(ACTION_SPACES[algo]), **alone}


def _branch(algo: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    all_parameters = {"$ref": f"#/$defs/{algo}"}
    parameters = {name: {"$ref": f"#/$defs/{algo}/properties/{name}"} for name in schema["$defs"][algo]["properties"]}
    properties: dict[str, Any] = {
        "algo": {"allOf": [{"const": algo}] * _WEIGHT},
        "algo_params": all_parameters,
        "extras": extras_of(schema["properties"], all_parameters, parameters),
    }
    if "continuous" not in ACTION_SPACES[algo]:
        names = "|".join(re.escape(name) for name in CONTINUOUS)
        properties["env_id"] = {"pattern": f"^(?!({names})-v)"}
    # A field that is left out has its default, which is of another branch.
    return {"properties": properties} | ({} if algo == "ppo" else _NAMES_AN_ALGO)


def _unknown_algo() -> dict[str, Any]:
    """Leave a name that no branch knows to the list of names, which says more about it."""
    is_none = {"allOf": [{"pattern": f"^(?!({'|'.join(ALGORITHMS)})$)"}] * _WEIGHT}
    return {"properties": {"algo": is_none}, **_NAMES_AN_ALGO}

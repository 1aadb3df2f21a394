"""The schema of a run's settings, with what the installed RLlib takes per algorithm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from mosaic.worker import config_schema
from mosaic.worker.branches import branch_of, branch_of_others, parameters_of
from mosaic.worker.library.extras import add_other_names
from mosaic_rllib.arguments import ALGORITHMS, parameters_schema
from mosaic_rllib.catalog import ACTION_SPACES, CONTINUOUS, EXAMPLES, SINGLE_AGENT_FAMILIES
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.offer import missing_environments


@cache
def published_schema() -> dict[str, Any]:
    """Return the schema: the fields of `RLlibConfig`, and per algorithm what ``algo_params`` may hold."""
    schema = config_schema(RLlibConfig)
    schema["properties"]["env_id"]["examples"] = list(EXAMPLES)
    schema["$defs"] = {algo: parameters_schema(algo) for algo in ALGORITHMS}
    add_other_names(schema["properties"])
    schema["anyOf"] = [*(_branch(algo, schema) for algo in ALGORITHMS), branch_of_others(ALGORITHMS)]
    schema["x-algorithms"] = {algo: _abilities(algo) for algo in ALGORITHMS}
    schema["x-missing-environments"] = missing_environments()
    return schema


def _abilities(algo: str) -> dict[str, Any]:
    # Others cannot even take a team of one.
    alone = {} if algo == "ppo" else {"max_agents": 1, "env_families": list(SINGLE_AGENT_FAMILIES)}
    return {"action_spaces": list(ACTION_SPACES[algo]), **alone}


def _branch(algo: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    takes = parameters_of(algo, schema)
    if "continuous" not in ACTION_SPACES[algo]:
        names = "|".join(re.escape(name) for name in CONTINUOUS)
        takes["env_id"] = {"pattern": f"^(?!({names})-v)"}
    return branch_of(algo, takes, schema["properties"])

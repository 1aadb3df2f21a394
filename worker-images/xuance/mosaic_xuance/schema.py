"""The JSON Schema of the config: which algorithm can train what, and with which hyper-parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic.worker.branches import Schema, branch_of, branch_of_others
from mosaic.worker.environments import catalog
from mosaic.worker.extras import add_other_names, extras_of
from mosaic.worker.schema import config_schema
from mosaic_xuance.catalog import Recipe, help_texts, recipes_of
from mosaic_xuance.environments import MADE_DISCRETE

#: Settings that count something, so that half of one makes no sense.
_COUNTS = re.compile(
    r"(n|N|num)_.*|.*(_size|_steps?|_epochs|_minibatch|_frequency|_interval|_layers|_dim|_num|_length|_atoms)|batch_.*"
)
_LIMITS: tuple[tuple[str, Schema], ...] = (
    (r"gamma|gae_lambda|tau|dropout|(start|end)_greedy", {"minimum": 0, "maximum": 1}),
    (r"learning_rate.*", {"exclusiveMinimum": 0, "maximum": 10}),
    (r"buffer_size|batch_size|horizon_size|n_epochs|n_minibatch|.*_frequency|decay_step_greedy", {"minimum": 1}),
)


def build_schema(config_class: type, algos: Sequence[str]) -> Schema:
    """Return the schema of *config_class*, with what the installed XuanCe can do by *algos* filled in.

    The whole of what is known about a hyper-parameter stands once under ``algo_params``; one branch per
    algorithm says which of them and which environments it takes.
    """
    schema = config_schema(config_class)
    fields = schema["properties"]
    own = [recipe for algo in algos for recipe in recipes_of(algo)]
    fields["algo"]["enum"] = list(algos)
    fields["env_id"]["examples"] = sorted({recipe.env_id for recipe in own if recipe.env_id})
    fields["algo_params"]["properties"] = parameters = _parameters(own)
    add_other_names(fields)
    fields["extras"]["properties"] |= {
        name: {"$ref": f"#/properties/algo_params/properties/{name}"} for name in parameters if name not in fields
    }
    branches = [*(_branch(algo, fields) for algo in algos), branch_of_others(algos)]
    return schema | {"anyOf": branches, "x-algorithms": {algo: _abilities(algo) for algo in algos}}


def _branch(algo: str, settings: Schema) -> Schema:
    own = recipes_of(algo)
    params = {"properties": _defaults(own), "additionalProperties": False}
    names: Schema = {name: {} for name in params["properties"]}
    extras = extras_of(settings, {"properties": names, "additionalProperties": False}, names)
    takes = {"env_id": _env_ids(own), "algo_params": params, "extras": extras}
    given = ["env_id"] if not any(recipe.serves(settings["env_id"]["default"]) for recipe in own) else []
    return branch_of(algo, takes, settings, given=given)


def _defaults(own: Sequence[Recipe]) -> Schema:
    """Return each hyper-parameter with its default, or with all it has where that depends on the environment."""
    found: dict[str, list[Any]] = {}
    for recipe in own:
        for name, value in recipe.hyper_parameters.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return {
        name: {"default": values[0]} if len(values) == 1 else {"examples": values}
        for name, values in sorted(found.items())
    }


def _abilities(algo: str) -> Schema:
    """Say what *algo* can act in and with how many agents, from the environments XuanCe has settings for."""
    own = recipes_of(algo)
    if all(recipe.family.is_multi_agent for recipe in own):
        return {"action_spaces": ["discrete", "continuous"], "min_agents": 2}
    served = [known for known in catalog() if any(recipe.serves(known.env_id) for recipe in own)]
    made_discrete = [known.env_id for known in served if known.env_id in MADE_DISCRETE]
    spaces = {known.actions for known in served if known.env_id not in MADE_DISCRETE}
    return {"action_spaces": sorted(spaces), "max_agents": 1, "environments": made_discrete}


def _env_ids(own: Iterable[Recipe]) -> Schema:
    named = {recipe.env_id for recipe in own if recipe.env_id}
    families = [recipe.family for recipe in own if recipe.env_id is None]
    named |= {member for family in families for member in family.members}
    patterns = [{"pattern": f"^{family.pattern}$"} for family in families if family.pattern]
    choices: list[Schema] = [{"enum": sorted(named)}] if named else []
    return {"anyOf": [*choices, *patterns]}


def _parameters(own: Sequence[Recipe]) -> Schema:
    texts = help_texts(own)
    defaults: dict[str, list[Any]] = {}
    for recipe in own:
        for name, value in recipe.hyper_parameters.items():
            defaults.setdefault(name, []).append(value)
    return {name: _parameter(name, values, texts.get(name)) for name, values in sorted(defaults.items())}


def _parameter(name: str, defaults: list[Any], text: str | None) -> Schema:
    schema: Schema = {"type": _types(name, defaults)}
    for pattern, limits in _LIMITS:
        if re.fullmatch(pattern, name) and schema["type"][0] in ("integer", "number"):
            schema |= limits
    if text:
        schema["description"] = text
    return schema if schema["type"] else {key: value for key, value in schema.items() if key != "type"}


def _types(name: str, defaults: Iterable[Any]) -> list[str]:
    """Say which types a setting takes, from every default it has anywhere in XuanCe."""
    found: list[str] = []
    for value in defaults:
        kind = _type(name, value)
        if kind and kind not in found:
            found.append(kind)
    if found and any(value is None for value in defaults):
        found.append("null")
    return [kind for kind in found if kind != "integer"] if "number" in found else found


def _type(name: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) and _COUNTS.fullmatch(name) else "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value))

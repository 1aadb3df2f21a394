"""The JSON Schema of the config: which algorithm can train what, and with which hyper-parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic.worker.branches import Schema, branch_of, branch_of_others
from mosaic.worker.environments import catalog
from mosaic.worker.library.extras import add_other_names, extras_of
from mosaic.worker.schema import config_schema
from mosaic_xuance.catalog import MADE_DISCRETE, Recipe, help_texts, recipes_of

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
    params: Schema = {"properties": _defaults(own), "additionalProperties": False}
    names: Schema = {name: {} for name in params["properties"]}
    extras = extras_of(settings, {"properties": names, "additionalProperties": False}, names)
    takes = {"env_id": _env_ids(own), "algo_params": params, "extras": extras}
    given = ["env_id"] if not any(recipe.serves(settings["env_id"]["default"]) for recipe in own) else []
    return branch_of(algo, takes, settings, given=given)


def _defaults(own: Iterable[Recipe]) -> Schema:
    """Return each hyper-parameter with its default, or with all it has where that depends on the environment."""
    found = {name: _distinct(values) for name, values in _values(own).items()}
    return {
        name: {"default": values[0]} if len(values) == 1 else {"examples": values} for name, values in found.items()
    }


def _values(own: Iterable[Recipe]) -> dict[str, list[Any]]:
    """Return every default that each hyper-parameter has somewhere in *own*."""
    found: dict[str, list[Any]] = {}
    for recipe in own:
        for name, value in recipe.hyper_parameters.items():
            found.setdefault(name, []).append(value)
    return dict(sorted(found.items()))


def _distinct(values: Sequence[Any]) -> list[Any]:
    return [value for place, value in enumerate(values) if value not in values[:place]]


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
    return {name: _parameter(name, values, texts.get(name)) for name, values in _values(own).items()}


def _parameter(name: str, defaults: Sequence[Any], text: str | None) -> Schema:
    types = _types(name, defaults)
    schema: Schema = {"type": types} if types else {}
    if types and types[0] in ("integer", "number"):
        for pattern, limits in _LIMITS:
            schema |= limits if re.fullmatch(pattern, name) else {}
    return schema | ({"description": text} if text else {})


def _types(name: str, defaults: Sequence[Any]) -> list[str]:
    """Say which types a setting takes, from every default it has anywhere in XuanCe."""
    found = dict.fromkeys(kind for value in defaults if (kind := _type(name, value)))
    if "number" in found:
        found.pop("integer", None)
    return [*found, *(["null"] if found and any(value is None for value in defaults) else [])]


def _type(name: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) and _COUNTS.fullmatch(name) else "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value))

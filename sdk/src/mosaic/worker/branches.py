"""The schema of a config whose settings depend on its algorithm: one branch for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic.worker.library.extras import extras_of

Schema = dict[str, Any]

# The validator reports the choice with the fewest faults: being of another algorithm must count for more than
# any number of misspelt parameters, or the wrong algorithm's parameters would be suggested.
_WEIGHT = 8


def branch_of(algo: str, takes: Mapping[str, Any], fields: Mapping[str, Any], *, given: Sequence[str] = ()) -> Schema:
    """Return the branch of *algo*, which *takes* these properties of a config with these *fields*.

    Those of *given* may not be left out: a field that is has its default, which may be of another branch.
    """
    needed = [*(["algo"] * _WEIGHT if algo != fields["algo"]["default"] else []), *given]
    is_this = {"allOf": [{"const": algo}] * _WEIGHT}
    branch: Schema = {"properties": {"algo": is_this, **takes}}
    return branch | ({"allOf": [{"required": [name]} for name in needed]} if needed else {})


def parameters_of(definition: str, schema: Mapping[str, Any]) -> Schema:
    """Return ``algo_params`` and ``extras`` of a branch whose parameters are defined once in *schema*'s ``$defs``."""
    whole = {"$ref": f"#/$defs/{definition}"}
    names = schema["$defs"][definition]["properties"]
    each = {name: {"$ref": f"#/$defs/{definition}/properties/{name}"} for name in names}
    return {"algo_params": whole, "extras": extras_of(schema["properties"], whole, each)}


def branch_of_others(algos: Iterable[str]) -> Schema:
    """Return the branch of what is none of *algos*: the list of names in the field itself says more about it."""
    names = "|".join(re.escape(algo) for algo in algos)
    is_none = {"allOf": [{"pattern": f"^(?!({names})$)"}] * _WEIGHT}
    return {"properties": {"algo": is_none}, "allOf": [{"required": ["algo"]}] * _WEIGHT}


def hyper_parameters(schema: Mapping[str, Any], algo: str) -> Schema:
    """Return the schema of each hyper-parameter that *algo* takes under ``algo_params``, by the branches of *schema*.

    It is empty where the worker publishes no branch for *algo*, as one without ``algo_params`` does. A schema comes
    from a worker: a part of it that makes no sense says nothing.
    """
    branch: Any = next((one for one in _list(schema.get("anyOf")) if _algo_of(one) == algo), {})
    takes = _followed(_mapping(_below(branch, "properties", "algo_params")), schema)
    shared = _mapping(_below(schema, "properties", "algo_params", "properties"))
    own = _mapping(takes.get("properties"))
    return {name: {**_mapping(shared.get(name)), **_mapping(facts)} for name, facts in own.items()}


def _algo_of(branch: Any) -> Any:
    is_this = _list(_below(branch, "properties", "algo", "allOf"))
    return _below(is_this[0], "const") if is_this else None


def _followed(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return part
    return _mapping(_below(schema, *reference.removeprefix("#/").split("/")))


def _below(value: Any, *names: str) -> Any:
    for name in names:
        value = _mapping(value).get(name)
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()

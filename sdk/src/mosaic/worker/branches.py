"""The schema of a config whose settings depend on its algorithm: one branch for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic.worker.extras import extras_of

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

"""``extras``, where the desktop application puts settings of a library worker, and the other names it has for some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

#: Names that upstream's forms and examples use, and the setting that each means.
OTHER_NAMES: Mapping[str, str] = {
    "total_timesteps": "total_steps",
    "wandb_project_name": "wandb_project",
    "wandb_name": "wandb_run_name",
}

#: What a launcher may add to any config.
_LAUNCHER_IDS = frozenset({"worker_id", "agent_id"})
#: What the platform itself reads in a config, so it has one place.
_NOT_IN_EXTRAS = frozenset({"run_id", "algo", "env_id", "extras"})


def unfold(data: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Return what *data* sets, by the worker's own names of its *settings*.

    Ids of a launcher are left out. Entries of ``extras`` count as if they stood beside it, where what does stand
    there wins; those that are no setting are hyper-parameters.
    """
    told = {name: value for name, value in data.items() if name not in _LAUNCHER_IDS}
    extras = told.pop("extras", None) or {}
    settings = set(settings)
    known = {*settings, *OTHER_NAMES} - _NOT_IN_EXTRAS
    inner = {name: value for name, value in extras.items() if name in known}
    merged = {**own_names(inner, settings), **own_names(told, settings)}
    parameters = {name: value for name, value in extras.items() if name not in known}
    for layer in (inner, told):
        parameters |= layer.get("algo_params") or {}
    return {**merged, "algo_params": parameters}


def own_names(data: Mapping[str, Any], settings: Collection[str]) -> dict[str, Any]:
    """Return *data* with the worker's own names of its *settings*; what has both names keeps that of the worker."""
    other = {
        name: own for name, own in OTHER_NAMES.items() if name in data and own in settings and name not in settings
    }
    return {own: data[name] for name, own in other.items()} | {
        name: value for name, value in data.items() if name not in other
    }


def add_other_names(properties: dict[str, Any]) -> None:
    """Let the *properties* of a worker's schema hold other names, and ``extras`` all of them once more."""
    own = {name: {"$ref": f"#/properties/{name}"} for name in properties if name not in _NOT_IN_EXTRAS}
    others = {other: own[name] for other, name in OTHER_NAMES.items() if name in own}
    properties |= {other: {**ref, "description": f"The same as {OTHER_NAMES[other]}"} for other, ref in others.items()}
    properties["extras"] = {**properties["extras"], "properties": {**others, **own}}


def extras_of(
    properties: Iterable[str], algo_params: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what ``extras`` may hold for one algorithm: the settings in *properties*, and its hyper-parameters.

    *algo_params* is the schema of all of these, *parameters* holds that of each.
    """
    settings: dict[str, Any] = {name: {} for name in properties if name not in _NOT_IN_EXTRAS}
    names = {**parameters, **settings, "algo_params": algo_params}
    return {"type": "object", "properties": names, "additionalProperties": False}

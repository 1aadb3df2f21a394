"""``extras``, where the desktop application puts settings of a library worker, and the other names it has for some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mosaic.worker.upstream_names import OTHER_NAMES, WITHOUT_EFFECT, own_names

#: What a launcher may add to any config.
_LAUNCHER_IDS = frozenset({"worker_id", "agent_id"})
#: What the platform itself reads in a config, so it has one place.
_NOT_IN_EXTRAS = frozenset({"run_id", "algo", "env_id", "extras"})


def unfold(data: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Return what *data* sets, by the worker's own names of its *settings*.

    Ids of a launcher are left out. Entries of ``extras`` count as if they stood beside it, where what does stand
    there wins; those that are no setting are hyper-parameters, and those without effect stay there.
    """
    told = {name: value for name, value in data.items() if name not in _LAUNCHER_IDS}
    whole = told.pop("extras", None) or {}
    settings = set(settings)
    kept = {name: value for name, value in whole.items() if name in WITHOUT_EFFECT and name not in settings}
    extras = {name: value for name, value in whole.items() if name not in kept}
    known = {*settings, *OTHER_NAMES} - _NOT_IN_EXTRAS
    inner = {name: value for name, value in extras.items() if name in known}
    merged = {**own_names(inner, settings), **own_names(told, settings)}
    parameters = {name: value for name, value in extras.items() if name not in known}
    for layer in (inner, told):
        parameters |= layer.get("algo_params") or {}
    return {**merged, "algo_params": parameters} | ({"extras": kept} if kept else {})


def add_other_names(properties: dict[str, Any]) -> None:
    """Let the *properties* of a worker's schema hold other names, and ``extras`` all of them once more."""
    own = {name: {"$ref": f"#/properties/{name}"} for name in properties if name not in _NOT_IN_EXTRAS}
    others = {other: own[name] for other, name in OTHER_NAMES.items() if name in own}
    without = {name: {"description": f"No effect: {why}"} for name, why in WITHOUT_EFFECT.items()}
    properties |= {
        other: {**ref, "description": f"The same as {OTHER_NAMES[other]}"}
        for other, ref in others.items()
        if other not in properties
    }
    properties["extras"] = {**properties["extras"], "properties": {**without, **others, **own}}


def extras_of(
    properties: Iterable[str], algo_params: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what ``extras`` may hold for one algorithm: the settings in *properties*, and its hyper-parameters.

    *algo_params* is the schema of all of these, *parameters* holds that of each.
    """
    settings: dict[str, Any] = {name: {} for name in properties if name not in _NOT_IN_EXTRAS}
    without: dict[str, Any] = {name: {} for name in WITHOUT_EFFECT}
    names = {**parameters, **without, **settings, "algo_params": algo_params}
    return {"type": "object", "properties": names, "additionalProperties": False}

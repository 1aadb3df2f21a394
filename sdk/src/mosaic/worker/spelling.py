"""How people write settings, and how the schema of a worker does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mosaic.worker.branches import hyper_parameters
from mosaic.worker.upstream_names import OTHER_NAMES, translate

#: What every library has, under the name that each of them gives it: the first that a worker's schema knows is used.
COMMON: Mapping[str, tuple[str, ...]] = {
    "env": ("env_id", "env", "env_name", "task"),
    "algo": ("algo", "algorithm", "method"),
    "steps": ("total_steps", "total_timesteps", "running_steps", "num_steps", "num_episodes"),
}


def setting_of(schema: Mapping[str, Any], common: str) -> str | None:
    """Return the worker's own name for what `COMMON` calls *common*, or None when it has no such setting."""
    known = _properties(schema)
    return next((name for name in COMMON[common] if name in known), None)


def names_of(setting: str) -> list[str]:
    """Return every name under which *setting* may stand in a config."""
    return [setting, *(other for other, own in OTHER_NAMES.items() if own == setting)]


def default_of(schema: Mapping[str, Any], setting: str) -> Any:
    """Return what *setting* is where a config does not say, or None when the worker does not say either."""
    described = _properties(schema).get(setting)
    return described.get("default") if isinstance(described, Mapping) else None


def as_published(schema: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return *config* with its names and values written as *schema* writes them.

    A choice is found whatever its case and whether ``-`` or ``_`` is in it, where that leaves no doubt; a whole number
    written as ``1e5`` or ``100000.0`` is one. All else stays for whoever lists the faults.
    """
    known = _properties(schema)
    config = _own(schema, config)
    spelt = {name: _value(known.get(name), value) for name, value in config.items()}
    params, algo = spelt.get("algo_params"), spelt.get("algo", default_of(schema, "algo"))
    if isinstance(params, Mapping) and isinstance(algo, str):
        takes = hyper_parameters(schema, algo)
        spelt["algo_params"] = {name: _value(takes.get(name), value) for name, value in params.items()}
    return spelt


def _own(schema: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return *config* by the worker's own names, where *schema* does not only repeat another of its settings."""
    known = _properties(schema)
    settings = {name for name, facts in known.items() if not (isinstance(facts, Mapping) and "$ref" in facts)}
    published = known.get("algo")
    algorithms = published.get("enum") if isinstance(published, Mapping) else None
    return translate(
        config,
        settings,
        algorithms=[one for one in algorithms or () if isinstance(one, str)] if isinstance(algorithms, list) else (),
        parameters=lambda algo: hyper_parameters(schema, _algo(schema, algo)),
        default_algo=str(default_of(schema, "algo") or ""),
    )


def _algo(schema: Mapping[str, Any], algo: str) -> str:
    return str(_value(_properties(schema).get("algo"), algo))


def _value(setting: Any, value: Any) -> Any:
    if not isinstance(setting, Mapping):
        return value
    if isinstance(value, str) and isinstance(setting.get("enum"), (list, tuple)):
        return _choice(setting["enum"], value)
    kinds = setting.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or ()
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole and "integer" in kinds and "number" not in kinds else value


def _choice(choices: Iterable[Any], value: str) -> str:
    texts = [choice for choice in choices if isinstance(choice, str)]
    alike = [choice for choice in texts if _folded(choice) == _folded(value)]
    return value if value in texts or len(alike) != 1 else alike[0]


def _folded(text: str) -> str:
    return text.casefold().replace("-", "_")


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}

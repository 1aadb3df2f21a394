"""Which algorithm of a worker can train on which environment, from what the worker publishes.

The schema of a worker may carry ``x-algorithms``: for each algorithm the ``action_spaces`` it can act in, the
``observation_spaces`` it can read, the ``env_families`` it is made for, and the ``min_agents`` and ``max_agents``
it trains together. ``environments`` names those it can train on although their catalog entry says otherwise,
such as a game whose actions the library makes discrete. What an entry leaves out forbids nothing.
``x-missing-environments`` names the environments that the worker cannot make: a list, or an object that holds
the reason of each. ``x-environments`` lists all that it can make; who publishes it has a misspelt one refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.errors import did_you_mean
from mosaic.worker.environments import Environment, can_be_read, catalog, covers, find, plain_id, why_not

#: More names than this help nobody to choose.
_MOST_NAMES = 8


def pair_fault(schema: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """Return why the algorithm of *config* cannot train on its environment, with those that can; None if it can.

    Settings that *config* leaves out have the default of *schema*. An environment outside the catalog and an
    algorithm that the schema says nothing about are nobody's business here.
    """
    algo, env_id = (_setting(schema, config, name) for name in ("algo", "env_id"))
    environment = find(env_id) if isinstance(env_id, str) else None
    known = _mapping(schema.get("x-algorithms"))
    if isinstance(env_id, str) and (absent := why_absent(schema, env_id)):
        return absent
    if environment is None or not isinstance(algo, str) or algo not in known:
        return None
    faults = _faults(algo, _mapping(known[algo]), environment)
    if not faults:
        return None
    able = [name for name, facts in known.items() if not _faults(name, _mapping(facts), environment)]
    return faults[0] + _advice(sorted(able))


def why_unsuited(capabilities: Mapping[str, Any], schema: Mapping[str, Any], environment: Environment) -> str | None:
    """Return why a worker that publishes these cannot train on *environment*, or None when it can."""
    return (
        why_not(environment, capabilities)
        or why_absent(schema, environment.env_id)
        or _unlisted(schema, environment.env_id)
        or why_nobody(schema, environment)
    )


def why_nobody(schema: Mapping[str, Any], environment: Environment) -> str | None:
    """Return why no algorithm of the worker can train on *environment*, or None when one can or none is known."""
    known = _mapping(schema.get("x-algorithms"))
    faults = [_faults(name, _mapping(facts), environment) for name, facts in sorted(known.items())]
    nearest = min(faults, key=len, default=[])
    return nearest[0] + _advice([]) if nearest else None


def why_absent(schema: Mapping[str, Any], env_id: str) -> str | None:
    """Return why the worker cannot make *env_id*, with what it can where that helps; None if it can."""
    missing, name = schema.get("x-missing-environments") or (), plain_id(env_id)
    if name not in missing:
        return _unknown(schema.get("x-environments"), env_id)
    if isinstance(missing, Mapping):
        return str(missing[name])
    known = find(name)
    there = [one.env_id for one in catalog() if known and one.family == known.family and one.env_id not in missing]
    return f"this worker's libraries do not have {name}{did_you_mean(name, there)}"


def _unlisted(schema: Mapping[str, Any], env_id: str) -> str | None:
    listed = _mapping(_mapping(schema.get("properties")).get("env_id")).get("enum")
    return None if listed is None or env_id in listed else "it is not among the environments of this worker"


def _unknown(there: Any, env_id: str) -> str | None:
    # ``module:Name-v0`` is registered by the import of a module, which only the worker can do.
    if not isinstance(there, list) or ":" in env_id or {env_id, plain_id(env_id)} & {str(one) for one in there}:
        return None
    return f"this worker's libraries do not have {env_id}{did_you_mean(env_id, map(str, there))}"


def _faults(algo: str, facts: Mapping[str, Any], environment: Environment) -> list[str]:
    """Return every reason why *algo* cannot train on *environment*, the plainest first."""
    name = environment.env_id
    if name in (facts.get("environments") or ()):
        return []
    least, most = facts.get("min_agents"), facts.get("max_agents")
    families, spaces, seen = (facts.get(key) or () for key in ("env_families", "action_spaces", "observation_spaces"))
    has = f"{name} has {environment.agents} agent{'s' if environment.agents > 1 else ''}"
    faults = []
    if isinstance(most, int) and environment.agents > most:
        faults.append(f"{algo} trains {'one agent' if most == 1 else f'at most {most} agents'}, {has}")
    if isinstance(least, int) and environment.agents < least:
        faults.append(f"{algo} trains teams of at least {least} agents, {has}")
    if families and not covers(families, environment.family):
        faults.append(f"{algo} is made for {' or '.join(families)}, {name} is of family {environment.family}")
    if spaces and environment.actions not in spaces:
        faults.append(f"{algo} takes {' or '.join(spaces)} actions, {name} has {environment.actions} ones")
    if not can_be_read(environment, seen):
        faults.append(f"{algo} reads {' or '.join(seen)} observations, {name} shows {environment.observations} ones")
    return faults


def _advice(able: list[str]) -> str:
    if not able:
        return "; no algorithm of this worker can"
    more = f" and {len(able) - _MOST_NAMES} more" if len(able) > _MOST_NAMES else ""
    return f"; it can be trained by {', '.join(able[:_MOST_NAMES])}{more}"


def _setting(schema: Mapping[str, Any], config: Mapping[str, Any], name: str) -> Any:
    field = _mapping(_mapping(schema.get("properties")).get(name))
    return config.get(name, field.get("default"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

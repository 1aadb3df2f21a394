"""One spelling per fact: turns the fields of a line, however spelt, into those of our payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mosaic.events import tolerant
from mosaic.events.tolerant import Fields, take

#: Other names of kinds we know.
KIND_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "episode_end": "episode",
        "episode_done": "episode",
        "run_canceled": "run_cancelled",
        "cancelled": "run_cancelled",
        "canceled": "run_cancelled",
    }
)

REWARD_NAMES = ("total_reward", "episode_return", "reward")
LENGTH_NAMES = ("steps", "num_steps", "episode_length", "episode_steps")


def metric(fields: Fields) -> list[str]:
    """Name, value and step are needed; the rest may be missing."""
    faults: list[str] = []
    put(fields, "name", take(fields, ("name", "metric"), tolerant.as_label, faults, "a printable name"))
    put(fields, "value", take(fields, ("value",), tolerant.as_number, faults, "a number"))
    put(
        fields, "step", take(fields, ("step", "global_step"), tolerant.as_position, faults, "a finite number")
    )
    put(fields, "unit", tolerant.as_agent(fields.pop("unit", None)))
    put(fields, "agent", take(fields, ("agent", "agent_id"), tolerant.as_agent, faults, "a name"))
    return faults + missing(fields, faults, "name", "value", "step")


def episode(fields: Fields) -> list[str]:
    """Only the return is needed; the number and the length are searched for."""
    faults: list[str] = []
    put(fields, "total_reward", take(fields, REWARD_NAMES, tolerant.as_number, faults, "a number"))
    put(fields, "steps", take(fields, LENGTH_NAMES, tolerant.as_count, faults, "an integer"))
    put(
        fields, "step", take(fields, ("step", "global_step"), tolerant.as_position, faults, "a finite number")
    )
    put(fields, "seed", take(fields, ("seed", "episode_seed"), tolerant.as_count, faults, "an integer"))
    put(fields, "episode_index", tolerant.take_episode_index(fields))
    _actor_and_end(fields, faults)
    return faults + missing(fields, faults, "total_reward")


def step(fields: Fields) -> list[str]:
    """Nothing is needed, but what is there must be readable."""
    faults: list[str] = []
    put(fields, "reward", take(fields, ("reward",), tolerant.as_number, faults, "a number"))
    put(fields, "step_index", take(fields, ("step_index", "step"), tolerant.as_count, faults, "an integer"))
    put(fields, "episode_index", tolerant.take_episode_index(fields))
    put(fields, "action", take(fields, ("action", "action_json"), _anything, faults, ""))
    put(fields, "observation", take(fields, ("observation", "observation_json"), _anything, faults, ""))
    _actor_and_end(fields, faults)
    return faults


def log(fields: Fields) -> list[str]:
    """Some text is needed; the level falls back to ``info``."""
    faults: list[str] = []
    put(fields, "text", take(fields, ("text", "message", "msg"), tolerant.as_text_or_none, faults, "text"))
    fields["level"] = tolerant.as_level(fields.get("level"))
    put(fields, "stream", tolerant.as_agent(fields.pop("stream", None)))
    return faults + missing(fields, faults, "text")


def artifact(fields: Fields) -> list[str]:
    """A path is needed."""
    faults: list[str] = []
    put(fields, "path", take(fields, ("path", "relative_path"), tolerant.as_text_or_none, faults, "a path"))
    put(fields, "kind", tolerant.as_agent(fields.pop("kind", None)))
    put(fields, "sha256", tolerant.as_agent(fields.pop("sha256", None)))
    put(fields, "size_bytes", take(fields, ("size_bytes",), tolerant.as_count, faults, "an integer"))
    return faults + missing(fields, faults, "path")


def checkpoint(fields: Fields) -> list[str]:
    """Read ``path`` as ``checkpoint_path``; a checkpoint nobody can find is still a fact."""
    put(
        fields, "checkpoint_path", take(fields, ("checkpoint_path", "path"), tolerant.as_text_or_none, [], "")
    )
    return []


#: kind -> what makes its fields canonical in place and returns every fault found.
CANON: Mapping[str, Callable[[Fields], list[str]]] = MappingProxyType(
    {
        "metric": metric,
        "episode": episode,
        "step": step,
        "log": log,
        "artifact": artifact,
        "checkpoint_saved": checkpoint,
        "checkpoint_loaded": checkpoint,
    }
)


def put(fields: Fields, name: str, value: object) -> None:
    """Set *name*, or remove it when there is no value."""
    if value is None:
        fields.pop(name, None)
    else:
        fields[name] = value


def missing(fields: Fields, faults: list[str], *names: str) -> list[str]:
    """Return a fault for each of *names* that is absent and has not been complained about yet."""
    return [f"{name} is missing" for name in names if name not in fields and not _mentioned(name, faults)]


def _mentioned(name: str, faults: list[str]) -> bool:
    return any(fault.startswith(f"{name} is ") for fault in faults)


def _actor_and_end(fields: Fields, faults: list[str]) -> None:
    put(fields, "agent_id", take(fields, ("agent_id", "agent"), tolerant.as_agent, faults, "a name"))
    for flag in ("terminated", "truncated"):
        put(fields, flag, take(fields, (flag,), tolerant.as_flag, faults, "true or false"))


def _anything(value: object) -> object:
    return value

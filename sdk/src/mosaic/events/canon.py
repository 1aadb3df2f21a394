"""One spelling per fact: turns the fields of a line, however spelt, into those of our payloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mosaic.events import episodes, tolerant
from mosaic.events.tolerant import Fields

REWARD_NAMES = ("total_reward", "episode_return", "reward")
EVALUATION_NAMES = ("evaluation", "is_eval", "is_evaluation")
LENGTH_NAMES = ("steps", "num_steps", "episode_length", "episode_steps")


def metric(fields: Fields) -> list[str]:
    """Name, value and step are needed; the rest may be missing."""
    faults: list[str] = []
    settle(fields, ("name", "metric"), tolerant.as_label, faults, "a printable name")
    settle(fields, ("value",), tolerant.as_number, faults, "a number")
    settle(fields, ("step", "global_step"), tolerant.as_position, faults, "a finite number")
    settle(fields, ("unit",), tolerant.as_agent, faults, "a name")
    settle(fields, ("agent", "agent_id"), tolerant.as_agent, faults, "a name")
    return faults + missing(fields, faults, "name", "value", "step")


def episode(fields: Fields) -> list[str]:
    """Only the return is needed; the number and the length are searched for."""
    faults: list[str] = []
    settle(fields, REWARD_NAMES, tolerant.as_number, faults, "a number")
    settle(fields, LENGTH_NAMES, tolerant.as_count, faults, "an integer")
    settle(fields, ("step", "global_step"), tolerant.as_position, faults, "a finite number")
    settle(fields, ("seed", "episode_seed"), tolerant.as_count, faults, "an integer")
    settle(fields, EVALUATION_NAMES, tolerant.as_flag, faults, "true or false")
    _settle_actor_and_end(fields, faults)
    if "agent_id" in fields:
        _settle_evaluation(fields)
    return faults + missing(fields, faults, "total_reward")


def step(fields: Fields) -> list[str]:
    """Nothing is needed, but what is there must be readable."""
    faults: list[str] = []
    settle(fields, ("reward",), tolerant.as_number, faults, "a number")
    settle(fields, ("step_index", "step"), tolerant.as_count, faults, "an integer")
    settle(fields, ("action", "action_json"), _as_it_is, faults, "an action")
    settle(fields, ("observation", "observation_json"), _as_it_is, faults, "an observation")
    _settle_actor_and_end(fields, faults)
    return faults


def log(fields: Fields) -> list[str]:
    """Some text is needed; the level falls back to ``info``."""
    faults: list[str] = []
    settle(fields, ("text", "message", "msg"), tolerant.as_text_or_none, faults, "text")
    settle(fields, ("stream",), tolerant.as_agent, faults, "a name")
    fields["level"] = tolerant.as_level(fields.get("level"))
    return faults + missing(fields, faults, "text")


def artifact(fields: Fields) -> list[str]:
    """A path is needed."""
    faults: list[str] = []
    settle(fields, ("path", "relative_path"), tolerant.as_text_or_none, faults, "a path")
    settle(fields, ("kind",), tolerant.as_agent, faults, "a name")
    settle(fields, ("sha256",), tolerant.as_agent, faults, "a digest")
    settle(fields, ("size_bytes",), tolerant.as_count, faults, "an integer")
    return faults + missing(fields, faults, "path")


def checkpoint(fields: Fields) -> list[str]:
    """Read ``path`` as ``checkpoint_path``; a checkpoint nobody can find is still a fact."""
    faults: list[str] = []
    settle(fields, ("checkpoint_path", "path"), tolerant.as_text_or_none, faults, "a path")
    return faults


def settle(fields: Fields, names: tuple[str, ...], read: Callable[[Any], Any], faults: list[str], what: str) -> None:
    """Leave under the first of *names* what the first readable one says; note a fault if none is readable."""
    unreadable = []
    for name in names:
        if name in fields:
            value = read(fields[name])
            if value is not None:
                del fields[name]
                fields[names[0]] = value
                return
            if fields[name] is not None and fields[name] != "":
                unreadable.append(f"{name} is {tolerant.shown(fields[name])}, not {what}")
    fields.pop(names[0], None)
    faults += unreadable


def missing(fields: Fields, faults: list[str], *names: str) -> list[str]:
    """Return a fault for each of *names* that is absent and has not been complained about yet."""
    return [f"{name} is missing" for name in names if name not in fields and not _mentioned(name, faults)]


def _mentioned(name: str, faults: list[str]) -> bool:
    return any(fault.startswith(f"{name} is ") for fault in faults)


def _settle_actor_and_end(fields: Fields, faults: list[str]) -> None:
    index = tolerant.take_episode_index(fields)
    fields.pop("episode_index", None)
    if index is not None:
        fields["episode_index"] = index
    settle(fields, ("agent_id", "agent"), tolerant.as_agent, faults, "a name")
    settle(fields, ("terminated",), tolerant.as_flag, faults, "true or false")
    settle(fields, ("truncated",), tolerant.as_flag, faults, "true or false")


def _settle_evaluation(fields: Fields) -> None:
    agent, evaluation = episodes.settled(fields["agent_id"], fields.get("evaluation"))
    if agent is None:
        del fields["agent_id"]
        fields["evaluation"] = evaluation


def _as_it_is(value: object) -> object:
    return value

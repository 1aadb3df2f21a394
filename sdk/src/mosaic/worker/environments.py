"""The environments people train on: what they are like, what they need, and which workers can use them.

A catalog, not a gate: an environment that is not listed may still be trained on. One that is listed and cannot
work with a worker is refused before anything is queued, with the reason.

The entries are in ``environments.json``, by family. What a family says holds for each of its environments, what an
environment says for each of its versions, unless they say otherwise themselves; sentences about a family end the
paragraphs of its environments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

#: Families that come with Gymnasium itself: a worker that says ``gymnasium`` means these.
BUNDLED = frozenset({"classic_control", "toy_text"})
#: Families whose environments Gymnasium registers when it is imported.
_REGISTERED = BUNDLED | {"box2d", "mujoco"}
#: Families that a worker may claim at once by saying ``pettingzoo``.
PETTINGZOO = frozenset({"mpe", "pettingzoo_classic", "butterfly", "sisl"})
#: PettingZoo's versions are ``_v3`` where Gymnasium writes ``-v3``.
_PETTINGZOO_ID = re.compile(r"_v\d+$")


@dataclass(frozen=True)
class Space:
    """What an observation or an action may be: an array of numbers, or one of a few choices."""

    #: Of the array; empty where there are only choices.
    shape: tuple[int, ...] = ()
    #: How many there are; several numbers are several choices at once.
    choices: tuple[int, ...] = ()
    #: The least and the largest number of the array, where that matters.
    range: tuple[float, float] | None = None
    #: What comes with the array, by name.
    beside: tuple[str, ...] = ()

    @property
    def is_picture(self) -> bool:
        """Whether it is a picture, or an array that is read like one."""
        return len(self.shape) == len(("height", "width", "channels"))

    @property
    def size(self) -> str:
        """How large it is, as in ``4``, ``96x96x3``, or ``16``."""
        return "x".join(map(str, self.shape or self.choices))


@dataclass(frozen=True)
class Role:
    """Agents that see and do the same kind of thing."""

    name: str
    sees: Space
    does: Space
    agents: int = 1


@dataclass(frozen=True)
class Environment:
    """One environment of the catalog."""

    env_id: str
    family: str
    #: One, unless there are several agents that differ.
    roles: tuple[Role, ...]
    #: A paragraph: what happens, what is seen, done and paid, and what a good score is.
    about: str
    #: After how many steps an episode is cut off; None where it may go on for ever.
    max_steps: int | None = None
    #: The mean return that Gymnasium registers as solved.
    solved_at: float | None = None
    #: What must be installed beside Gymnasium, for people.
    needs: str = ""

    @property
    def agents(self) -> int:
        """How many act in it."""
        return sum(role.agents for role in self.roles)

    @property
    def actions(self) -> str:
        """``discrete`` or ``continuous``."""
        return "discrete" if self.roles[0].does.choices else "continuous"

    @property
    def observations(self) -> str:
        """``vector``, ``image``, ``dict`` (an array and more) or ``state`` (one of finitely many)."""
        sees = self.roles[0].sees
        if sees.beside:
            return "dict"
        if sees.choices:
            return "state"
        return "image" if sees.is_picture else "vector"


@cache
def catalog() -> tuple[Environment, ...]:
    """Return every environment that is known here, by family."""
    text = Path(__file__).with_name("environments.json").read_text(encoding="utf-8")
    return tuple(env for family, entry in json.loads(text).items() for env in _of_family(family, entry))


def find(env_id: str) -> Environment | None:
    """Return the environment called *env_id*, or None when the catalog does not know it."""
    return _by_name().get(plain_id(env_id))


@cache
def _by_name() -> Mapping[str, Environment]:
    return {known.env_id: known for known in catalog()}


def families() -> list[str]:
    """Return the names of all families, in the order of the catalog."""
    return list(dict.fromkeys(known.family for known in catalog()))


def plain_id(env_id: str) -> str:
    """Return *env_id* without the family that some put before PettingZoo's names, as in ``mpe/simple_spread_v3``."""
    return env_id.rpartition("/")[2] if _PETTINGZOO_ID.search(env_id) else env_id


def missing_from(registered: Container[str]) -> list[str]:
    """Return what the catalog lists of the families Gymnasium brings itself and *registered* does not have.

    Releases of Gymnasium differ: MuJoCo's tasks are v4 in older ones and v5 in newer ones.
    """
    return [known.env_id for known in catalog() if known.family in _REGISTERED and known.env_id not in registered]


def why_not(environment: Environment, capabilities: Mapping[str, Any]) -> str | None:
    """Return why a worker with *capabilities* cannot train on *environment*, or None when it can.

    What the capabilities leave open forbids nothing.
    """
    accepted = set(capabilities.get("env_families") or ())
    if accepted and not covers(accepted, environment.family):
        return f"{environment.env_id} is of family {environment.family}; it takes {', '.join(sorted(accepted))}"
    spaces = capabilities.get("action_spaces") or ()
    if spaces and environment.actions not in spaces:
        return f"{environment.env_id} has {environment.actions} actions; it takes {', '.join(spaces)}"
    seen = capabilities.get("observation_spaces") or ()
    if not can_be_read(environment, seen):
        return f"{environment.env_id} shows {environment.observations} observations; it takes {', '.join(seen)}"
    most = capabilities.get("max_agents") or 1
    if environment.agents > most:
        return f"{environment.env_id} has {environment.agents} agents; it takes {most}"
    return None


def covers(accepted: Container[str], family: str) -> bool:
    """Tell whether *family* is among those that are *accepted*, some of which stand for several."""
    return (
        family in accepted
        or (family in BUNDLED and "gymnasium" in accepted)
        or (family in PETTINGZOO and "pettingzoo" in accepted)
        or (family == "babyai" and "minigrid" in accepted)
    )


def can_be_read(environment: Environment, kinds: Collection[str]) -> bool:
    """Tell whether who reads *kinds* of observations can read those of *environment*; others are made readable."""
    return not kinds or environment.observations not in ("vector", "image") or environment.observations in kinds


def _of_family(family: str, shared: Mapping[str, Any]) -> Iterator[Environment]:
    common = {name: value for name, value in shared.items() if name not in ("environments", "about")}
    for entry in shared["environments"]:
        about = " ".join([*entry["about"], *shared.get("about", ())])
        for env_id, own in entry["ids"].items():
            yield _environment(env_id, family, about, {**common, **entry, **own})


def _environment(env_id: str, family: str, about: str, facts: Mapping[str, Any]) -> Environment:
    roles = tuple(_role({**facts, **role}) for role in facts.get("roles", [{"name": "agent"}]))
    solved_at, needs = facts.get("solved_at"), facts.get("needs", "")
    return Environment(env_id, family, roles, about, facts.get("max_steps"), solved_at, needs)


def _role(facts: Mapping[str, Any]) -> Role:
    return Role(facts["name"], _space(facts["sees"]), _space(facts["does"]), facts.get("agents", 1))


def _space(facts: Mapping[str, Iterable[Any]]) -> Space:
    return Space(**{name: tuple(values) for name, values in facts.items()})

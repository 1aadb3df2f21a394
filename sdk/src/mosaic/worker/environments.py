"""The environments people train on: what they are like, what they need, and which workers can use them.

A catalog, not a gate: an environment that is not listed may still be trained on. One that is listed and cannot
work with a worker is refused before anything is queued, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Families that come with Gymnasium itself: a worker that says ``gymnasium`` means these.
BUNDLED = frozenset({"classic_control", "toy_text"})
#: Families whose environments Gymnasium registers when it is imported.
_REGISTERED = BUNDLED | {"box2d", "mujoco"}
#: Families that a worker may claim at once by saying ``pettingzoo``.
PETTINGZOO = frozenset({"mpe", "pettingzoo_classic", "butterfly"})
#: PettingZoo's versions are ``_v3`` where Gymnasium writes ``-v3``.
_PETTINGZOO_ID = re.compile(r"_v\d+$")


@dataclass(frozen=True)
class Environment:
    """One environment of the catalog."""

    env_id: str
    family: str
    actions: str  #: ``discrete`` or ``continuous``
    observations: str  #: ``vector``, ``image``, ``dict`` or ``state`` (one number)
    about: str
    agents: int = 1
    #: What must be installed beside Gymnasium, for people.
    needs: str = ""


def catalog() -> tuple[Environment, ...]:
    """Return every environment that is known here, by family."""
    return _CATALOG


def find(env_id: str) -> Environment | None:
    """Return the environment called *env_id*, or None when the catalog does not know it."""
    name = plain_id(env_id)
    return next((known for known in _CATALOG if known.env_id == name), None)


def plain_id(env_id: str) -> str:
    """Return *env_id* without the family that some put before PettingZoo's names, as in ``mpe/simple_spread_v3``."""
    return env_id.rpartition("/")[2] if _PETTINGZOO_ID.search(env_id) else env_id


def missing_from(registered: Container[str]) -> list[str]:
    """Return what the catalog lists of the families Gymnasium brings itself and *registered* does not have.

    Releases of Gymnasium differ: MuJoCo's tasks are v4 in older ones and v5 in newer ones.
    """
    return [known.env_id for known in _CATALOG if known.family in _REGISTERED and known.env_id not in registered]


def why_not(environment: Environment, capabilities: Mapping[str, Any]) -> str | None:
    """Return why a worker with *capabilities* cannot train on *environment*, or None when it can.

    What the capabilities leave open forbids nothing.
    """
    families = set(capabilities.get("env_families") or ())
    if families and not _covers(families, environment.family):
        return f"{environment.env_id} is of family {environment.family}; it takes {', '.join(sorted(families))}"
    spaces = capabilities.get("action_spaces") or ()
    if spaces and environment.actions not in spaces:
        return f"{environment.env_id} has {environment.actions} actions; it takes {', '.join(spaces)}"
    seen = capabilities.get("observation_spaces") or ()
    if seen and environment.observations in ("vector", "image") and environment.observations not in seen:
        return f"{environment.env_id} shows {environment.observations} observations; it takes {', '.join(seen)}"
    most = capabilities.get("max_agents") or 1
    if environment.agents > most:
        return f"{environment.env_id} has {environment.agents} agents; it takes {most}"
    return None


def _covers(families: set[str], family: str) -> bool:
    return (
        family in families
        or (family in BUNDLED and "gymnasium" in families)
        or (family in PETTINGZOO and "pettingzoo" in families)
        or (family == "babyai" and "minigrid" in families)
    )


_MUJOCO_TASKS = {
    "Ant": "A four-legged body learns to run forward; eight joints.",
    "HalfCheetah": "A flat two-legged cheetah learns to run; six joints, the usual first MuJoCo task.",
    "Hopper": "One leg learns to hop forward without falling.",
    "Humanoid": "A whole human body learns to walk; seventeen joints, slow to learn.",
    "HumanoidStandup": "A human body lying on its back learns to stand up.",
    "InvertedDoublePendulum": "Two poles on a cart are kept upright.",
    "InvertedPendulum": "One pole on a cart is kept upright, with continuous force; learned within minutes.",
    "Pusher": "An arm pushes a cylinder to a goal.",
    "Reacher": "A two-jointed arm reaches for a random point.",
    "Swimmer": "A three-part swimmer moves forward through a viscous fluid.",
    "Walker2d": "Two flat legs learn to walk forward without falling.",
}

_ATARI_GAMES = {
    "Pong": "Table tennis against the machine; the usual first Atari game.",
    "Breakout": "A ball breaks bricks; dense reward.",
    "SpaceInvaders": "Rows of aliens come down; shoot them.",
    "Qbert": "Hop on every cube of a pyramid.",
    "MontezumaRevenge": "Rooms, keys and ladders; famous for rewarding nobody who does not explore.",
}


def _classic() -> Iterator[Environment]:
    family = "classic_control"
    yield Environment("CartPole-v1", family, "discrete", "vector", "A pole on a cart is kept upright; 500 is the most.")
    yield Environment("Acrobot-v1", family, "discrete", "vector", "A two-link arm swings its tip above a line.")
    yield Environment("MountainCar-v0", family, "discrete", "vector", "A weak car must swing to climb; sparse reward.")
    yield Environment(
        "MountainCarContinuous-v0", family, "continuous", "vector", "The weak car with a continuous engine."
    )
    yield Environment("Pendulum-v1", family, "continuous", "vector", "A pendulum is swung up and held; 0 is the best.")


def _toy_text() -> Iterator[Environment]:
    family = "toy_text"
    for name, about in {
        "FrozenLake-v1": "Cross a slippery 4x4 lake without falling into a hole.",
        "FrozenLake8x8-v1": "The same lake, 8x8.",
        "CliffWalking-v1": "Walk along a cliff; the shortest way is the riskiest.",
        "CliffWalking-v0": "Walk along a cliff, in the version of older Gymnasium releases.",
        "Taxi-v3": "Fetch a passenger and bring them to one of four places.",
        "Blackjack-v1": "Draw cards against the dealer.",
    }.items():
        yield Environment(name, family, "discrete", "state", about)


def _box2d() -> Iterator[Environment]:
    needs = "gymnasium[box2d]"
    for version in ("v2", "v3"):
        about = "A lander is brought down between two flags; 200 and more is solved."
        yield Environment(f"LunarLander-{version}", "box2d", "discrete", "vector", about, needs=needs)
        yield Environment(
            f"CarRacing-{version}", "box2d", "continuous", "image", "Drive a track seen from above.", needs=needs
        )
    yield Environment(
        "LunarLanderContinuous-v3", "box2d", "continuous", "vector", "The lander with continuous engines.", needs=needs
    )
    for name in ("BipedalWalker-v3", "BipedalWalkerHardcore-v3"):
        about = "Two legs learn to walk over rough ground; Hardcore adds stumps and pits."
        yield Environment(name, "box2d", "continuous", "vector", about, needs=needs)


def _mujoco() -> Iterator[Environment]:
    for version, needs in (("v5", "gymnasium 1.x with mujoco"), ("v4", "gymnasium 0.29 with mujoco 2.3")):
        for task, about in _MUJOCO_TASKS.items():
            yield Environment(f"{task}-{version}", "mujoco", "continuous", "vector", about, needs=needs)


def _atari() -> Iterator[Environment]:
    for game, about in _ATARI_GAMES.items():
        for env_id in (f"ALE/{game}-v5", f"{game}NoFrameskip-v4"):
            yield Environment(env_id, "atari", "discrete", "image", about, needs="ale-py")


def _grids() -> Iterator[Environment]:
    for name, about in {
        "MiniGrid-Empty-5x5-v0": "Walk to the green square of an empty room.",
        "MiniGrid-Empty-8x8-v0": "The same room, larger.",
        "MiniGrid-DoorKey-5x5-v0": "Find the key, open the door, walk to the goal.",
        "MiniGrid-DoorKey-8x8-v0": "The same, larger; sparse reward.",
        "MiniGrid-FourRooms-v0": "Find the goal in one of four rooms.",
    }.items():
        yield Environment(name, "minigrid", "discrete", "dict", about, needs="minigrid")
    for name, about in {
        "BabyAI-GoToRedBall-v0": "Go to the red ball, told in words.",
        "BabyAI-GoToLocal-v0": "Go to the object that the sentence names.",
        "BabyAI-PutNextLocal-v0": "Put one object next to another.",
    }.items():
        yield Environment(name, "babyai", "discrete", "dict", about, needs="minigrid")


def _many_agents() -> Iterator[Environment]:
    for name, agents, about in (
        ("simple_spread_v3", 3, "Three agents cover three landmarks together without colliding."),
        ("simple_reference_v3", 2, "Two agents tell each other where to go."),
        ("simple_speaker_listener_v4", 2, "One agent speaks, the other goes where it is told."),
        ("simple_adversary_v3", 3, "Two agents hide their goal from an adversary."),
        ("simple_tag_v3", 4, "Three predators chase one prey."),
    ):
        yield Environment(name, "mpe", "discrete", "vector", about, agents, "mpe2 or pettingzoo[mpe]")
    for name, about in (
        ("connect_four_v3", "Two players, four in a row."),
        ("tictactoe_v3", "Two players, three in a row."),
    ):
        yield Environment(name, "pettingzoo_classic", "discrete", "dict", about, 2, "pettingzoo[classic]")
    for name, agents, spaces, about in (
        ("pistonball_v6", 20, ("continuous", "image"), "Twenty pistons move a ball to the left together."),
        ("cooperative_pong_v5", 2, ("discrete", "image"), "Two paddles keep one ball in the air."),
        ("cooperative_pong_v6", 2, ("discrete", "image"), "The same, in newer releases of PettingZoo."),
        ("knights_archers_zombies_v10", 4, ("discrete", "vector"), "Knights and archers hold off zombies."),
        ("knights_archers_zombies_v11", 4, ("discrete", "vector"), "The same, in newer releases of PettingZoo."),
    ):
        yield Environment(name, "butterfly", *spaces, about, agents, "pettingzoo[butterfly]")


_CATALOG: tuple[Environment, ...] = (
    *_classic(),
    *_toy_text(),
    *_box2d(),
    *_mujoco(),
    *_atari(),
    *_grids(),
    *_many_agents(),
)

"""Which environments this worker knows by family, and which algorithm can act in which of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mosaic.worker.environments import plain_id

#: What each algorithm of RLlib's new API stack can act in.
ACTION_SPACES: Mapping[str, tuple[str, ...]] = {
    "ppo": ("discrete", "continuous", "multi_discrete"),
    "appo": ("discrete", "continuous", "multi_discrete"),
    "impala": ("discrete", "continuous", "multi_discrete"),
    "sac": ("discrete", "continuous"),
    "dqn": ("discrete",),
}

MUJOCO = (
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum"),
    *("InvertedPendulum", "Pusher", "Reacher", "Swimmer", "Walker2d"),
)
#: Environments, without their version, in which an action is a vector of real numbers.
CONTINUOUS = (*MUJOCO, "Pendulum", "MountainCarContinuous", "BipedalWalker", "BipedalWalkerHardcore")

#: The catalog's families in which one agent acts.
SINGLE_AGENT_FAMILIES = ("gymnasium", "classic_control", "toy_text", "box2d", "mujoco", "atari", "minigrid")

#: PettingZoo's families and where their modules live; the agents of these act at the same time.
PARALLEL_FAMILIES: Mapping[str, str] = {
    "mpe": "mpe2",
    "sisl": "pettingzoo.sisl",
    "butterfly": "pettingzoo.butterfly",
}
_TURN_BASED_FAMILY = "classic"

EXAMPLES = (
    *("CartPole-v1", "LunarLander-v3", "Pendulum-v1", "FrozenLake-v1", "HalfCheetah-v5"),
    *("ALE/Pong-v5", "MiniGrid-Empty-5x5-v0", "mpe/simple_spread_v3"),
)


def is_multi_agent(env_id: str) -> bool:
    """Tell whether *env_id* is PettingZoo's: its versions are ``_v3`` where Gymnasium writes ``-v3``."""
    return re.search(r"_v\d+$", env_id) is not None


@cache
def turn_based() -> frozenset[str]:
    """Return the names of PettingZoo's classics, whose agents act in turns, as the installed release has them."""
    spec = find_spec("pettingzoo")
    home = Path(spec.origin).parent / _TURN_BASED_FAMILY if spec and spec.origin else Path("nowhere")
    return frozenset(module.stem for module in home.glob("*_v*.py"))


def turns_fault(env_id: str) -> str | None:
    """Say that *env_id* is played in turns, if it is."""
    family = env_id.rpartition("/")[0]
    if is_multi_agent(env_id) and (family == _TURN_BASED_FAMILY or plain_id(env_id) in turn_based()):
        return f"{env_id} is played in turns with masked actions, which this worker does not train"
    return None


def pair_fault(algo: str, env_id: str) -> str | None:
    """Say why *algo* cannot train on *env_id*, as far as that is known without making the environment."""
    if fault := turns_fault(env_id):
        return f"env_id: {fault}"
    if is_multi_agent(env_id) and algo != "ppo":
        return f"env_id: {env_id} has several agents, which this worker trains by ppo, not by {algo}"
    if re.sub(r"-v\d+$", "", env_id) in CONTINUOUS and "continuous" not in ACTION_SPACES[algo]:
        able = ", ".join(name for name, spaces in ACTION_SPACES.items() if "continuous" in spaces)
        return f"env_id: actions of {env_id} are real numbers, {algo} can only choose among a few; use {able}"
    return None

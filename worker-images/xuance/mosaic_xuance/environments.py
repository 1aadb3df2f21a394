"""The environments XuanCe can be given here, by family."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MUJOCO = (
    "Ant",
    "HalfCheetah",
    "Hopper",
    "Humanoid",
    "HumanoidStandup",
    "InvertedDoublePendulum",
    "InvertedPendulum",
    "Pusher",
    "Reacher",
    "Swimmer",
    "Walker2d",
)


@dataclass(frozen=True)
class Family:
    """Environments that XuanCe makes in one way."""

    #: The folder or file of XuanCe's configs that is about this family.
    name: str
    is_multi_agent: bool = False
    #: Which ids belong to it when XuanCe has one config for all of them.
    members: tuple[str, ...] = ()
    #: The same as a pattern, where there are too many to name.
    pattern: str = ""

    def has(self, env_id: str) -> bool:
        """Tell whether *env_id* can be trained with the config of the whole family."""
        return env_id in self.members or bool(self.pattern and re.fullmatch(self.pattern, env_id))


#: XuanCe always makes these with a few actions to choose from, where Gymnasium's default is real numbers.
MADE_DISCRETE = frozenset({"CarRacing-v3"})

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("classic_control"),
        Family("box2d"),
        Family("mujoco", members=tuple(f"{task}-v5" for task in _MUJOCO)),
        Family("atari", pattern=r"ALE/\w+-v5"),
        Family("minigrid", pattern=r"(MiniGrid|BabyAI)-[\w-]+-v\d+"),
        Family("mpe", is_multi_agent=True),
    )
}

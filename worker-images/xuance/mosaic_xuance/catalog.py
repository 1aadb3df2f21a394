"""What the installed XuanCe offers: families of environments, and its own config files for them.

XuanCe ships one YAML file per algorithm and environment (or family of environments); what stands in it are
the hyper-parameters that the algorithm takes there. Nothing of the library is imported for this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from mosaic.errors import WorkerBroken

#: Settings that the worker itself decides, from its config or from the run directory.
RESERVED = frozenset(
    {
        *("dl_toolbox", "project_name", "logger", "wandb_user_name", "render", "render_mode", "fps", "device"),
        *("distributed_training", "master_port", "env_name", "env_id", "env_seed", "seed", "parallels", "runner"),
        *("running_steps", "eval_interval", "test_episode", "log_dir", "model_dir", "clip_type"),
    }
)
#: Acts without learning.
_RANDOM = "random"
#: XuanCe's names for its plain loops, for one agent and for a team. Its others play games that are not installed
#: here, learn from recorded data, or set several agents of XuanCe against each other.
_RUNNERS = {False: "DRL", True: "MARL"}
_LINE = re.compile(r"(\w+):[^#]*#\s*(.*\S)")
_MUJOCO = (
    "Ant HalfCheetah Hopper Humanoid HumanoidStandup InvertedDoublePendulum InvertedPendulum Pusher Reacher Swimmer "
    "Walker2d"
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
        Family("mujoco", members=tuple(f"{task}-v5" for task in _MUJOCO.split())),
        Family("atari", pattern=r"ALE/\w+-v5"),
        Family("minigrid", pattern=r"(MiniGrid|BabyAI)-[\w-]+-v\d+"),
        Family("mpe", is_multi_agent=True),
    )
}


@dataclass(frozen=True)
class Recipe:
    """XuanCe's own settings for one algorithm on one environment or family."""

    algo: str
    family: Family
    #: None when it serves the whole family.
    env_id: str | None
    path: Path

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting the algorithm takes there, with its default."""
        return _read(_configs() / "basic.yaml") | _read(self.path)

    @property
    def hyper_parameters(self) -> dict[str, Any]:
        """The settings that are a user's to change."""
        return {name: value for name, value in self.settings.items() if name not in RESERVED}

    def serves(self, env_id: str) -> bool:
        """Tell whether *env_id* can be trained with these settings."""
        return env_id == self.env_id if self.env_id else self.family.has(env_id)


@cache
def recipes() -> tuple[Recipe, ...]:
    """Return everything that can be trained here, by algorithm; settings of one id before those of a family."""
    return tuple(recipe for folder in sorted(_configs().iterdir()) for recipe in recipes_of(folder.name))


@cache
def recipes_of(algo: str) -> tuple[Recipe, ...]:
    """Return what *algo* can train here, in the order of `recipes`; reading one folder is much faster than all."""
    folder = _configs() / algo
    if folder.parent != _configs() or not folder.is_dir():
        return ()
    found = (_recipe(path) for path in [*folder.glob("*.yaml"), *folder.glob("*/*.yaml")])
    kept = [recipe for recipe in found if recipe is not None]
    return tuple(sorted(kept, key=lambda recipe: (recipe.env_id is None, str(recipe.path))))


def algorithms() -> list[str]:
    """Return the names of all algorithms, as XuanCe names its folders."""
    return sorted({recipe.algo for recipe in recipes()})


def own_name(algo: Any) -> Any:
    """Return XuanCe's name of *algo*, which may be in upper case; what is none of its algorithms stays as it is."""
    return str(algo).lower() if recipes_of(str(algo).lower()) else algo


def find_recipe(algo: str, env_id: str) -> Recipe | None:
    """Return the settings of *algo* on *env_id*, or None when XuanCe has none."""
    return next((recipe for recipe in recipes_of(algo) if recipe.serves(env_id)), None)


def help_texts(own: Iterable[Recipe]) -> dict[str, str]:
    """Return what XuanCe's authors say about each setting in the comments of the files of *own*."""
    texts: dict[str, str] = {}
    for path in [_configs() / "basic.yaml", *(recipe.path for recipe in own)]:
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := _LINE.match(line):
                texts.setdefault(match[1], match[2])
    return texts


@cache
def _configs() -> Path:
    spec = find_spec("xuance")
    if spec is None or not spec.origin:
        raise WorkerBroken("xuance", "the library is not installed in this environment")
    return Path(spec.origin).parent / "configs"


def _recipe(path: Path) -> Recipe | None:
    algo, *rest = path.relative_to(_configs()).with_suffix("").parts
    family = FAMILIES.get(rest[0])
    if family is None or algo == _RANDOM or _read(path).get("runner") != _RUNNERS[family.is_multi_agent]:
        return None
    return Recipe(algo, family, rest[1] if len(rest) > 1 else None, path)


@cache
def _read(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    settings: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    return settings

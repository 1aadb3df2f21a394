"""Making the ids of a family known to Gymnasium, which XuanCe leaves to its caller."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import gymnasium

from mosaic_xuance.environments import FAMILIES

#: The package that registers the ids of a family, where it is not Gymnasium itself.
_PACKAGES = {"atari": "ale_py", "minigrid": "minigrid"}


def register(family: str, env_id: str) -> None:
    """Let Gymnasium know *env_id* of *family*, in a way that XuanCe can make it.

    Raises:
        ImportError: the package that has it is not installed.

    """
    package = _PACKAGES.get(family)
    if package is None:
        return
    gymnasium.register_envs(import_module(package))
    if family == "minigrid" and env_id in gymnasium.registry:
        # XuanCe reaches for a grid through two wrappers; Gymnasium's checker would be a third.
        gymnasium.spec(env_id).disable_env_checker = True


def is_registered(env_id: str) -> bool:
    """Tell whether the installed libraries have *env_id*."""
    if find_spec("pettingzoo") and find_spec(f"pettingzoo.mpe.{env_id}"):
        return True
    family = next((family.name for family in FAMILIES.values() if family.has(env_id)), "")
    try:
        register(family, env_id)
    except ImportError:
        return False
    return env_id in gymnasium.registry

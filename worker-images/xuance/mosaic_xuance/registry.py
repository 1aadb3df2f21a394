"""Making the ids of a family known to Gymnasium, which XuanCe leaves to its caller."""

from __future__ import annotations

from importlib.util import find_spec

import gymnasium

from mosaic.errors import BadInput
from mosaic.worker.library import environments


def register(family: str, env_id: str) -> None:
    """Let Gymnasium know *env_id* of *family*, in a way that XuanCe can make it.

    Raises:
        ImportError: the package that has it is not installed.

    """
    environments.register(env_id)
    if family == "minigrid" and env_id in gymnasium.registry:
        # XuanCe reaches for a grid through two wrappers; Gymnasium's checker would be a third.
        gymnasium.spec(env_id).disable_env_checker = True


def check(env_id: str) -> None:
    """Refuse an environment that the installed libraries do not have.

    Raises:
        BadInput: there is none of that name here.

    """
    if not (find_spec("pettingzoo") and find_spec(f"pettingzoo.mpe.{env_id}")):
        environments.check(env_id)


def is_registered(env_id: str) -> bool:
    """Tell whether the installed libraries have *env_id*."""
    try:
        check(env_id)
    except BadInput:
        return False
    return True

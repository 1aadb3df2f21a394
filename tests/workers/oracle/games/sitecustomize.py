"""Puts the toy environments in the place of known ones, for workers that take no environment of one's own by name.

The reference worker has six tasks, XuanCe trains on what it has settings for, and RLlib's worker takes teams from
PettingZoo's families only. Whoever imports one of the modules below gets ours instead.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

_REPLACED = {
    "gymnasium.envs.classic_control.cartpole": "oracle_env.py",
    "pettingzoo.mpe.simple_spread_v3": "oracle_team.py",
    "mpe2.simple_spread_v3": "oracle_team.py",
}


class _InTheirPlace:
    """Finds our files under the names of theirs."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        file = _REPLACED.get(name)
        return spec_from_file_location(name, Path(__file__).with_name(file)) if file else None


sys.meta_path.insert(0, _InTheirPlace())  # type: ignore[arg-type]

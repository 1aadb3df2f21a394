"""What the installed libraries offer, read from their source without importing it, which would take seconds."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput, did_you_mean

_SB3, _CONTRIB = "stable_baselines3", "sb3_contrib"
#: Where each algorithm is, by our name of it: package, module, class, and the actions it chooses.
_PLACES: Mapping[str, tuple[str, str, str, tuple[str, ...]]] = {
    "ppo": (_SB3, "ppo/ppo.py", "PPO", ("discrete", "continuous")),
    "a2c": (_SB3, "a2c/a2c.py", "A2C", ("discrete", "continuous")),
    "dqn": (_SB3, "dqn/dqn.py", "DQN", ("discrete",)),
    "sac": (_SB3, "sac/sac.py", "SAC", ("continuous",)),
    "td3": (_SB3, "td3/td3.py", "TD3", ("continuous",)),
    "ddpg": (_SB3, "ddpg/ddpg.py", "DDPG", ("continuous",)),
    "recurrent_ppo": (_CONTRIB, "ppo_recurrent/ppo_recurrent.py", "RecurrentPPO", ("discrete", "continuous")),
    "maskable_ppo": (_CONTRIB, "ppo_mask/ppo_mask.py", "MaskablePPO", ("discrete",)),
    "qrdqn": (_CONTRIB, "qrdqn/qrdqn.py", "QRDQN", ("discrete",)),
    "tqc": (_CONTRIB, "tqc/tqc.py", "TQC", ("continuous",)),
}
NAMES = tuple(_PLACES)

#: Arguments that have a field of their own, that the platform decides, or that are Python classes.
_RESERVED = re.compile(
    r"self|policy|env|seed|device|verbose|tensorboard_log|stats_window_size|monitor_wrapper|_init_setup_model"
    r"|\w+_buffer_(class|kwargs)|n_steps_per_env"
)


@dataclass(frozen=True)
class Parameter:
    """One argument of an algorithm."""

    name: str
    #: As the source has it.
    annotation: str
    default: Any
    help: str


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the installed libraries."""

    package: str
    name: str
    action_spaces: tuple[str, ...]
    parameters: Mapping[str, Parameter]

    @property
    def defaults(self) -> dict[str, Any]:
        """What the library takes for every argument that is not set."""
        return {name: one.default for name, one in self.parameters.items()}


@cache
def find_algorithm(algo: str) -> Algorithm:
    """Return the algorithm called *algo*.

    Raises:
        BadInput: there is none.

    """
    if algo not in _PLACES:
        raise BadInput("algo", [f"this worker has no algorithm {algo!r}{did_you_mean(algo, NAMES)}"])
    package, module, name, spaces = _PLACES[algo]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BadInput(package, ["is not installed in this environment; run: mosaic workers install sb3"])
    source = (Path(spec.submodule_search_locations[0]) / module).read_text(encoding="utf-8")
    kind = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name)
    return Algorithm(package, name, spaces, {one.name: one for one in _parameters(kind)})


def _parameters(kind: ast.ClassDef) -> list[Parameter]:
    init = next(node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    arguments = init.args.args
    defaults = [None] * (len(arguments) - len(init.args.defaults)) + [_literal(one) for one in init.args.defaults]
    texts = _help_texts(ast.get_docstring(kind) or "")
    return [
        Parameter(one.arg, ast.unparse(one.annotation) if one.annotation else "", default, texts.get(one.arg, ""))
        for one, default in zip(arguments, defaults, strict=True)
        if not _RESERVED.fullmatch(one.arg)
    ]


def _literal(node: ast.expr) -> Any:
    """Return a default; ratios are written as fractions in places."""
    value = eval(compile(ast.Expression(node), "default", "eval"), {"__builtins__": {}})
    return list(value) if isinstance(value, tuple) else value


def _help_texts(docstring: str) -> dict[str, str]:
    found = re.findall(r":param (\w+): (.*?)(?=\n\s*:param|\Z)", docstring, re.DOTALL)
    return {name: " ".join(text.split()) for name, text in found}

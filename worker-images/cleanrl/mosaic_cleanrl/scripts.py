"""What the installed CleanRL offers, read from the source of its scripts without running them.

Every script has the same anatomy: a ``parse_args`` full of ``add_argument`` calls, and a main block at the
left margin whose one long ``for ... in range(...)`` loop is the training.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, TypeGuard

from mosaic.errors import BadInput, did_you_mean

#: Short names that people use for the script that is meant.
ALIASES: Mapping[str, str] = {
    "sac": "sac_continuous_action",
    "td3": "td3_continuous_action",
    "ddpg": "ddpg_continuous_action",
    "ppo_continuous": "ppo_continuous_action",
    "rpo": "rpo_continuous_action",
}

_TYPES = {"str": str, "int": int, "float": float}


@dataclass(frozen=True)
class Parameter:
    """One command-line argument of a script."""

    #: As Python spells it, with underscores.
    name: str
    kind: type
    default: Any
    help: str

    @property
    def option(self) -> str:
        """The argument as the command line spells it."""
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True)
class Script:
    """One algorithm of the installed release."""

    name: str
    path: Path
    parameters: Mapping[str, Parameter]
    #: Whether one turn of its main loop plays many steps and then learns, instead of playing one.
    loops_over_updates: bool
    #: ``discrete`` or ``continuous``; empty when the script does not insist.
    action_space: str
    #: Top-level names of the packages it imports.
    imports: frozenset[str]
    #: Whether it plays Atari and nothing else: it asks the game what its actions mean.
    is_for_atari: bool
    #: Whether its networks take a picture as it is; the others take a row of numbers.
    reads_pictures: bool
    #: Whether its policy remembers, so that it cannot act on what it sees alone.
    is_recurrent: bool
    has_joint_critic_loss: bool
    logs_learning_rate: bool

    @property
    def first_step(self) -> int:
        """How many steps have been played when it first says that it stands at nought.

        Loops over single steps count them from nought, the others from one.
        """
        return 0 if self.loops_over_updates else 1

    @property
    def module(self) -> str:
        """The name to run it by."""
        return f"cleanrl.{self.name}"

    @property
    def api(self) -> str:
        """``gym`` or ``gymnasium``: the release is half migrated."""
        return "gym" if "gym" in self.imports else "gymnasium"

    @property
    def missing_modules(self) -> list[str]:
        """What it imports that is not installed here."""
        return sorted(name for name in self.imports if find_spec(name) is None)


def installed_scripts() -> Mapping[str, Script]:
    """Return every script of the installed release by name, also those that lack a module to run."""
    return {name: read_script(path) for name, path in _paths().items()}


def usable_names() -> list[str]:
    """Return what may be chosen as algorithm: scripts that can run here, and short names for them."""
    usable = [name for name, script in installed_scripts().items() if not script.missing_modules]
    return sorted([*usable, *(alias for alias, name in ALIASES.items() if name in usable)])


def find_script(algo: str) -> Script:
    """Return the script that *algo* names.

    Raises:
        BadInput: there is none, or it needs a library that is not in this environment.

    """
    name = ALIASES.get(algo, algo)
    if name not in _paths():
        raise BadInput("algo", [f"CleanRL has no script {algo!r}{did_you_mean(algo, usable_names())}"])
    script = read_script(_paths()[name])
    if script.missing_modules:
        lacking = ", ".join(script.missing_modules)
        raise BadInput("algo", [f"{name} needs {lacking}, which this environment does not have"])
    return script


@cache
def read_script(path: Path) -> Script:
    """Describe the script at *path* from its source alone."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    main_block = _main_block(tree)
    return Script(
        name=path.stem,
        path=path,
        parameters={parameter.name: parameter for parameter in _parameters(tree)},
        loops_over_updates="global_step" not in ast.dump(_training_loop(main_block).target),
        action_space=_action_space(main_block),
        imports=frozenset(_imports(tree)),
        is_for_atari="get_action_meanings" in source,
        reads_pictures="Conv2d" in source,
        is_recurrent="def get_states" in source,
        has_joint_critic_loss='"losses/qf_loss"' in source,
        logs_learning_rate='"charts/learning_rate"' in source,
    )


def parts_of(script: Script) -> tuple[CodeType, CodeType, CodeType]:
    """Return what a script does before its main loop, that loop, and what it does afterwards; together all it says.

    The loop is the seam at which a run is watched, saved and resumed.
    """
    tree = ast.parse(script.path.read_text(encoding="utf-8"))
    said = [one for node in tree.body for one in (node.body if _is_main(node) else [node])]
    at = said.index(_training_loop(_main_block(tree)))
    parts = (said[:at], said[at : at + 1], said[at + 1 :])
    before, loop, after = (_compiled(statements, script.path) for statements in parts)
    return before, loop, after


def _compiled(statements: list[ast.stmt], path: Path) -> CodeType:
    return compile(ast.Module(statements, type_ignores=[]), str(path), "exec", dont_inherit=True)


@cache
def _paths() -> Mapping[str, Path]:
    spec = find_spec("cleanrl")
    if spec is None or not spec.submodule_search_locations:
        raise BadInput("cleanrl", ["is not installed in this environment; run: mosaic workers install cleanrl"])
    folder = Path(next(iter(spec.submodule_search_locations)))
    return {path.stem: path for path in sorted(folder.glob("*.py")) if path.stem != "__init__"}


def _parameters(tree: ast.Module) -> Iterator[Parameter]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            yield _parameter(node)


def _parameter(call: ast.Call) -> Parameter:
    option = ast.literal_eval(call.args[0])
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = given.get("type")
    return Parameter(
        name=option.lstrip("-").replace("-", "_"),
        # The only lambdas in the scripts turn "true" and "false" into booleans.
        kind=_TYPES.get(kind.id, str) if isinstance(kind, ast.Name) else bool,
        default=_literal(given.get("default")),
        help=str(_literal(given.get("help")) or ""),
    )


def _literal(node: ast.expr | None) -> Any:
    """Return the value of a literal; None for what only running the script would tell."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _main_block(tree: ast.Module) -> list[ast.stmt]:
    return next((node.body for node in tree.body if _is_main(node)), [])


def _is_main(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def _training_loop(main_block: list[ast.stmt]) -> ast.For:
    """Return the last loop at the margin of the main block.

    Loops before it warm something up; after it comes only the farewell.
    """
    return [node for node in main_block if isinstance(node, ast.For) and _is_range(node.iter)][-1]


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _action_space(main_block: list[ast.stmt]) -> str:
    for node in main_block:
        if isinstance(node, ast.Assert) and "action_space" in ast.dump(node.test):
            return "discrete" if "'Discrete'" in ast.dump(node.test) else "continuous"
    return ""


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]

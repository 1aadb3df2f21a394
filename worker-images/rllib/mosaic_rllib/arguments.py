"""What the installed RLlib can be told, read from its source.

Importing RLlib takes seconds and a description must not, so its config classes are parsed instead. An argument
counts when RLlib's new API stack still takes it and JSON can say it: classes and functions are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mosaic.errors import WorkerBroken

#: Where the config class of each algorithm is written; bases come before those that build on them.
_SOURCES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ppo": (("ppo/ppo.py", "PPOConfig"),),
    "dqn": (("dqn/dqn.py", "DQNConfig"),),
    "sac": (("sac/sac.py", "SACConfig"),),
    "impala": (("impala/impala.py", "IMPALAConfig"),),
    "appo": (("impala/impala.py", "IMPALAConfig"), ("appo/appo.py", "APPOConfig")),
}
ALGORITHMS = tuple(_SOURCES)

_COMMON = ("algorithm_config.py", "AlgorithmConfig")
#: The methods of a config whose arguments may be set.
_METHODS = ("training", "env_runners", "learners", "environment", "reporting", "fault_tolerance", "rl_module")
#: Arguments that are settings of the run, or that the worker needs for itself.
_RESERVED = frozenset(
    {"num_env_runners", "num_envs_per_env_runner", "num_gpus_per_learner", "env_config", "render_env", "model"}
)
_TYPES = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "dict": "object"}
_LISTS = frozenset({"List", "Tuple", "LearningRateOrSchedule"})
_UNSAYABLE = re.compile(r"Callable|\bType\b|\btype\b|RLModuleSpec|Space|DEPRECATED")


@dataclass(frozen=True)
class Argument:
    """One thing that can be set."""

    name: str
    #: The method of the config that takes it.
    method: str
    schema: Mapping[str, Any]


@cache
def arguments_of(algo: str) -> dict[str, Argument]:
    """Return what *algo* can be told, by name.

    Raises:
        WorkerBroken: RLlib is not installed, or is written otherwise than it was.

    """
    classes = [_class_in(*place) for place in (_COMMON, *_SOURCES[algo])]
    defaults = {name: value for one in classes for name, value in _defaults_in(one)}
    found = {
        argument.name: argument
        for source, one in zip((_COMMON, *_SOURCES[algo]), classes, strict=True)
        for argument in _arguments_in(one, _text_of(source[0]).splitlines(), defaults)
    }
    found["model_config"] = Argument("model_config", "rl_module", _model_schema())
    return {name: found[name] for name in sorted(found)}


def parameters_schema(algo: str) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of *algo*."""
    properties = {argument.name: dict(argument.schema) for argument in arguments_of(algo).values()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def default_of(algo: str, name: str) -> Any:
    """Return what RLlib itself takes for *name*, also for arguments that only the worker sets."""
    values = [dict(_defaults_in(_class_in(*place))) for place in (_COMMON, *_SOURCES[algo])]
    return {key: value for one in values for key, value in one.items()}.get(name)


def _arguments_in(node: ast.ClassDef, lines: list[str], defaults: Mapping[str, Any]) -> Iterator[Argument]:
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name in _METHODS]
    for method in methods:
        help_texts = _help_in(ast.get_docstring(method) or "")
        for given, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True):
            name, hint = given.arg, ast.unparse(given.annotation) if given.annotation else "DEPRECATED"
            if _is_sayable(name, hint, default) and not _is_of_the_old_stack(lines, method.lineno, given.lineno):
                yield Argument(name, method.name, _schema(hint, defaults.get(name), name, help_texts))


def _is_sayable(name: str, hint: str, default: ast.expr | None) -> bool:
    is_current = default is not None and ast.unparse(default) == "NotProvided"
    return is_current and name not in _RESERVED and not name.startswith("_") and not _UNSAYABLE.search(hint)


def _is_of_the_old_stack(lines: list[str], first: int, line: int) -> bool:
    """Tell whether the last remark above an argument puts it among those only the old API stack knows."""
    remarks = [text.strip() for text in lines[first:line] if text.strip().startswith("#")]
    return bool(remarks) and "OldAPIStack" in remarks[-1]


def _schema(hint: str, default: Any, name: str, help_texts: Mapping[str, str]) -> dict[str, Any]:
    words = re.findall(r"\w+", hint)
    kinds = [_TYPES[word.lower()] for word in words if word.lower() in _TYPES]
    # A schedule may stand for every number that RLlib looks up by time.
    kinds += ["array"] if _LISTS & set(words) else []
    kinds += ["number"] if "LearningRateOrSchedule" in words else []
    kinds += [] if default is None else [_json_type(default)]
    if "array" in kinds:
        kinds = [kind for kind in kinds if kind != "integer" or "number" not in kinds]
    types = list(dict.fromkeys([*kinds, "null"])) if "Optional" in words or default is None else kinds
    schema: dict[str, Any] = {"type": list(dict.fromkeys(types)), "description": help_texts.get(name, "")}
    return schema | ({} if default is None else {"default": default}) | _range(name)


def _range(name: str) -> dict[str, Any]:
    """Return the bounds that hold whatever the algorithm is."""
    if re.fullmatch(r"gamma|tau|lambda_|sigma0", name):
        return {"minimum": 0, "maximum": 1}
    if re.search(r"batch_size|num_epochs|num_atoms|circular_buffer_|broadcast_interval", name):
        return {"minimum": 1}
    if name == "lr" or name.endswith("_lr"):
        return {"exclusiveMinimum": 0}
    return {}


def _json_type(value: Any) -> str:
    return _TYPES.get(type(value).__name__, "array")


@cache
def _model_schema() -> dict[str, Any]:
    """Return what RLlib's default networks can be told."""
    node = _class_in("../core/rl_module/default_model_config.py", "DefaultModelConfig")
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    properties = {
        item.target.id: _schema(ast.unparse(item.annotation), _field_default(item.value), item.target.id, {})
        for item in fields
        if isinstance(item.target, ast.Name)
    }
    return {
        "type": "object",
        "description": "The networks, by the names of RLlib's DefaultModelConfig",
        "properties": {name: {**one, "type": _widened(name, one["type"])} for name, one in properties.items()},
        "additionalProperties": False,
    }


def _widened(name: str, types: list[str]) -> list[str]:
    return ["array", "null"] if name == "conv_filters" else types


def _field_default(value: ast.expr | None) -> Any:
    if isinstance(value, ast.Call):
        factory = next((word.value for word in value.keywords if word.arg == "default_factory"), None)
        value = factory.body if isinstance(factory, ast.Lambda) else None
    return _literal(value)


def _defaults_in(node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """Yield what the constructor of a config assigns to itself, where it is written out."""
    constructor = next((item for item in node.body if getattr(item, "name", "") == "__init__"), None)
    for statement in ast.walk(constructor) if constructor is not None else ():
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and (value := _literal(getattr(statement, "value", None))) is not None:
                yield target.attr, value


def _literal(node: ast.expr | None) -> Any:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return [list(one) if isinstance(one, tuple) else one for one in value] if isinstance(value, list) else value


def _help_in(docstring: str) -> dict[str, str]:
    """Read the ``Args:`` section; the first sentence of each entry is enough beside a field."""
    texts: dict[str, list[str]] = {}
    name = ""
    for line in docstring.partition("Args:")[2].partition("Returns:")[0].splitlines():
        entry = re.match(r"    (\w+): (.*)", line)
        name = entry[1] if entry else name
        texts.setdefault(name, []).append(entry[2] if entry else line.strip())
    return {name: re.split(r"(?<=\.)\s", " ".join(words).strip())[0] for name, words in texts.items()}


@cache
def _class_in(file: str, name: str) -> ast.ClassDef:
    for node in ast.parse(_text_of(file)).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise WorkerBroken("rllib", f"the installed RLlib has no {name} in {file}; install the version of the lock")


@cache
def _text_of(file: str) -> str:
    spec = find_spec("ray")
    if spec is None or spec.origin is None:
        raise WorkerBroken("rllib", "Ray is not installed; run `mosaic workers install rllib`")
    path = Path(spec.origin).parent / "rllib" / "algorithms" / file
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkerBroken("rllib", f"the installed Ray has no RLlib as this worker knows it: {error}") from error

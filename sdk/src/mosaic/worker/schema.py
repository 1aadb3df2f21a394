"""JSON Schema of a worker's configuration, derived from its dataclass.

A worker that wants to say more than types can, publishes its own with ``get_config_schema()`` in
its package. The help of a field comes from the first of: ``metadata={"help": ...}``, a string
below the field, a ``#:`` comment on its line or above it, the ``Attributes:`` section of the class.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from mosaic.worker.plain import plain

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    None: {"type": "null"},
}

#: Keys of a field's ``metadata`` that go into its schema as they are.
_CONSTRAINTS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "pattern",
    "format",
    "examples",
)


def setting(default: Any, help_text: str, **limits: Any) -> Any:
    """Return a field of a config with its help and *limits*; a list or dict is made anew for each config."""
    metadata = {"help": help_text, **limits}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def config_schema(config_class: type) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of *config_class*.

    Fields without a default are required; fields that are not of the class are refused. A class
    that is not a dataclass, and a type that JSON cannot say, are described as "anything".
    """
    schema: dict[str, Any] = {"$schema": DIALECT, "title": config_class.__name__}
    summary = _first_paragraph(config_class)
    if summary:
        schema["description"] = summary
    return schema | _object_schema(config_class, ())


def _object_schema(config_class: type, outer: tuple[type, ...]) -> dict[str, Any]:
    if not dataclasses.is_dataclass(config_class) or config_class in outer:
        return {"type": "object"}
    hints = _type_hints(config_class)
    help_texts = _field_help(config_class)
    fields = [field for field in dataclasses.fields(config_class) if field.init]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            field.name: _field_schema(field, hints.get(field.name, Any), help_texts, (*outer, config_class))
            for field in fields
        },
        "additionalProperties": False,
    }
    required = [field.name for field in fields if not _has_default(field)]
    return schema | ({"required": required} if required else {})


def _field_schema(
    field: dataclasses.Field[Any], hint: Any, help_texts: Mapping[str, str], outer: tuple[type, ...]
) -> dict[str, Any]:
    schema = _type_schema(hint, outer)
    help_text = field.metadata.get("help") or help_texts.get(field.name)
    if help_text:
        schema["description"] = help_text
    if "choices" in field.metadata:
        schema["enum"] = [plain(choice) for choice in field.metadata["choices"]]
    schema |= {key: plain(field.metadata[key]) for key in _CONSTRAINTS if key in field.metadata}
    if field.name == "run_id" and schema.get("type") == "string" and not _has_default(field):
        schema.setdefault("minLength", 1)
    # `seed: int = None` is how much RL code says that a field may be left out.
    return (_or_null(schema) if field.default is None else schema) | _default(field)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* widened by null, in each of its keywords that would refuse it."""
    kinds = schema.get("type")
    wider = dict(schema)
    if kinds is not None:
        wider["type"] = list(dict.fromkeys([*([kinds] if isinstance(kinds, str) else kinds), "null"]))
    if "enum" in schema and None not in schema["enum"]:
        wider["enum"] = [*schema["enum"], None]
    if "anyOf" in schema and {"type": "null"} not in schema["anyOf"]:
        wider["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    return wider


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> dict[str, Any]:
    if field.default is not dataclasses.MISSING:
        return {"default": plain(field.default)}
    if field.default_factory is not dataclasses.MISSING:
        try:
            return {"default": plain(field.default_factory())}
        except Exception:
            return {}
    return {}


def _type_schema(hint: Any, outer: tuple[type, ...]) -> dict[str, Any]:
    """Return the schema of one type annotation; ``{}`` allows anything."""
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is typing.Annotated or origin is typing.Final or origin is typing.ClassVar:
        return _type_schema(arguments[0], outer)
    if origin is Literal:
        return {"enum": [plain(choice) for choice in arguments]}
    if origin is Union or origin is types.UnionType:
        return _union_schema(arguments, outer)
    if isinstance(hint, typing.NewType):
        return _type_schema(hint.__supertype__, outer)
    return _class_schema(origin or hint, arguments, outer)


def _union_schema(arguments: tuple[Any, ...], outer: tuple[type, ...]) -> dict[str, Any]:
    choices = [_type_schema(argument, outer) for argument in arguments]
    if {} in choices:
        return {}
    if all(choice.keys() == {"type"} for choice in choices):
        return {"type": [choice["type"] for choice in choices]}
    return {"anyOf": choices}


def _class_schema(kind: Any, arguments: tuple[Any, ...], outer: tuple[type, ...]) -> dict[str, Any]:
    if not isinstance(kind, type):
        return {}
    if issubclass(kind, Enum):
        return {"enum": [plain(member.value) for member in kind]}
    if dataclasses.is_dataclass(kind):
        return _object_schema(kind, outer)
    if issubclass(kind, tuple):
        return _tuple_schema(arguments, outer)
    if issubclass(kind, (str, int, float)):
        return dict(_SCALARS[next(base for base in (str, bool, int, float) if issubclass(kind, base))])
    if issubclass(kind, (Mapping, dict)):
        values = _type_schema(arguments[1], outer) if len(arguments) == 2 else {}
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    if issubclass(kind, (Sequence, list, set, frozenset)) and not issubclass(kind, (bytes, bytearray)):
        items = _type_schema(arguments[0], outer) if arguments else {}
        return {"type": "array"} | ({"items": items} if items else {})
    return {"type": "string"} if issubclass(kind, Path) else {}


def _tuple_schema(arguments: tuple[Any, ...], outer: tuple[type, ...]) -> dict[str, Any]:
    if not arguments:
        return {"type": "array"}
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        items = _type_schema(arguments[0], outer)
        return {"type": "array"} | ({"items": items} if items else {})
    count = len(arguments)
    members = [_type_schema(argument, outer) for argument in arguments]
    return {"type": "array", "prefixItems": members, "minItems": count, "maxItems": count}


def _type_hints(config_class: type) -> dict[str, Any]:
    """Resolve annotations one by one, so that a name only a type checker knows spoils one field, not all."""
    hints: dict[str, Any] = {}
    for owner in reversed(config_class.__mro__):
        scope = vars(sys.modules.get(owner.__module__, typing)) | {owner.__name__: owner}
        for name, annotation in vars(owner).get("__annotations__", {}).items():
            hints[name] = _resolved(annotation, scope)
    return hints


def _resolved(annotation: Any, scope: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, scope)
    except Exception:
        return Any


def _first_paragraph(config_class: type) -> str:
    # dataclasses writes the signature into __doc__ when the author wrote nothing.
    text = inspect.cleandoc(config_class.__doc__ or "")
    if text.startswith(f"{config_class.__name__}("):
        return ""
    return " ".join(text.split("\n\n")[0].split())


def _field_help(config_class: type) -> dict[str, str]:
    texts: dict[str, str] = {}
    for owner in reversed(config_class.__mro__):
        texts |= _attributes_section(owner)
        texts |= _help_in_source(owner)
    return texts


def _attributes_section(owner: type) -> dict[str, str]:
    """Read a Google style ``Attributes:`` or ``Args:`` section."""
    lines = inspect.cleandoc(vars(owner).get("__doc__") or "").splitlines()
    starts = [
        number for number, line in enumerate(lines) if re.match(r"(Attributes|Args|Fields|Parameters):\s*$", line)
    ]
    if not starts:
        return {}
    texts: dict[str, str] = {}
    name = ""
    for line in lines[starts[0] + 1 :]:
        if line and not line[0].isspace():
            break
        entry = re.match(r"\s+`*(\w+)`*\s*(?:\([^)]*\))?:\s*(.*)", line)
        if entry:
            name = entry[1]
            texts[name] = entry[2].strip()
        elif name and line.strip():
            texts[name] = f"{texts[name]} {line.strip()}"
    return texts


def _help_in_source(owner: type) -> dict[str, str]:
    """Read strings below fields and ``#:`` comments, where the source is at hand."""
    try:
        source = textwrap.dedent(inspect.getsource(owner))
        body = typing.cast("ast.ClassDef", ast.parse(source).body[0]).body
    except (OSError, TypeError, SyntaxError, IndexError, AttributeError):
        return {}
    lines = source.splitlines()
    texts: dict[str, str] = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = _string_statement(following) or _marked_comment(lines, node)
            if text:
                texts[node.target.id] = text
    return texts


def _string_statement(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def _marked_comment(lines: list[str], node: ast.AnnAssign) -> str:
    same_line = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset or 0 :]
    if "#:" in same_line:
        return same_line.split("#:", 1)[1].strip()
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#:"):
            break
        above.insert(0, line.strip()[2:].strip())
    return " ".join(above)

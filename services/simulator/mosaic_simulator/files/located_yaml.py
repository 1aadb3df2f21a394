"""YAML that remembers on which line each key stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from mosaic.errors import BadInput
from mosaic_simulator.files.fields import Faults


class LocatedMapping(dict[str, Any]):
    """A mapping that knows its own line and the line of each of its keys."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class _LocatingLoader(yaml.SafeLoader):
    """Builds `LocatedMapping` for every mapping and notes keys given twice."""

    def __init__(self, text: str, faults: Faults) -> None:
        super().__init__(text)
        self.faults = faults


def _construct_mapping(loader: _LocatingLoader, node: yaml.MappingNode) -> LocatedMapping:
    loader.flatten_mapping(node)
    mapping = LocatedMapping(node.start_mark.line + 1)
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node, deep=True))
        line = key_node.start_mark.line + 1
        if key in mapping:
            loader.faults.add(line, f"{key!r} is given twice; the first is on line {mapping.lines[key]}")
            continue
        mapping[key] = loader.construct_object(value_node, deep=True)
        mapping.lines[key] = line
    return mapping


_LocatingLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def read_located_yaml(path: Path, faults: Faults) -> LocatedMapping:
    """Read the one mapping in *path*; keys given twice are noted in *faults*.

    Raises:
        BadInput: the file cannot be read, is not YAML, or is not a mapping.
    """
    loader = _LocatingLoader(_text_of(path), faults)
    try:
        document = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(str(path), [f"line {line}: not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise BadInput(str(path), [f"line 1: not YAML: {error}"]) from error
    if not isinstance(document, LocatedMapping):
        raise BadInput(str(path), ["line 1: the file must hold a mapping, `name: value` lines"])
    return document


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(str(path), [f"cannot be read: {error}"]) from error

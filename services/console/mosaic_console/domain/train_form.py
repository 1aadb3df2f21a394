"""A form out of the JSON Schema that a worker publishes, and a submission out of what was filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mosaic.worker.branches import hyper_parameters
from mosaic.worker.spelling import setting_of

#: Given by the platform, or offered elsewhere in the form.
_NOT_OFFERED = frozenset({"run_id", "seed", "algo_params", "extras", "mode", "policy_path"})
_PARAMS = "algo_params."
#: Name of a group -> how the settings in it begin; what fits none is in the first.
GROUPS = ("Training", "Algorithm", "Evaluation and files", "Weights & Biases")
_FIRST_WORDS = (("wandb", "track_wandb"), ("eval", "checkpoint", "keep_", "capture", "tensorboard", "metrics", "emit"))
_FIELD = re.compile(r"^(?:run: )?(?:config[.:] ?)?(?:config\.)?([A-Za-z_][\w.]*)\b")
_LONGEST_SEEDS = 1000


@dataclass(frozen=True)
class Control:
    """One setting: what may stand there, what stands there, and what is wrong with it."""

    #: As it stands in a config, with dots between the parts.
    name: str
    #: ``choice``, ``flag``, ``integer``, ``number``, ``text`` or ``json``.
    kind: str
    help: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    least: str = ""
    most: str = ""
    value: str = ""
    fault: str = ""

    @property
    def label(self) -> str:
        """What people read."""
        return self.name.removeprefix(_PARAMS)

    @property
    def range(self) -> str:
        """What a number may be, in a few characters."""
        if not self.most:
            return f"≥ {self.least}" if self.least else ""
        return f"{self.least} … {self.most}" if self.least else f"≤ {self.most}"


def controls_of(schema: Mapping[str, Any], algo: str) -> dict[str, list[Control]]:
    """Return the controls of every setting that *algo* has, by group; those for worker, algo and env are not here."""
    chosen = {setting_of(schema, "algo"), setting_of(schema, "env")}
    found: dict[str, list[Control]] = {group: [] for group in GROUPS}
    for name, facts in _mapping(schema.get("properties")).items():
        if name not in _NOT_OFFERED and name not in chosen and isinstance(facts, Mapping) and "$ref" not in facts:
            found[_group(name)].append(_control(name, facts))
    for name, facts in hyper_parameters(schema, algo).items():
        found["Algorithm"].append(_control(_PARAMS + name, facts))
    steps = setting_of(schema, "steps")
    found["Training"].sort(key=lambda control: control.name != steps)
    return {group: controls for group, controls in found.items() if controls}


def choices_of(schema: Mapping[str, Any], common: str) -> list[str]:
    """Return what a worker offers for ``algo`` or ``env``; nothing where it takes any text."""
    described = _mapping(_mapping(schema.get("properties")).get(setting_of(schema, common) or ""))
    listed = described.get("enum")
    return [str(one) for one in listed] if isinstance(listed, Sequence) and not isinstance(listed, str) else []


def read_controls(controls: Sequence[Control], values: Mapping[str, str]) -> tuple[list[Control], dict[str, Any]]:
    """Return *controls* with what was filled in and what is wrong with it, and the config of what differs."""
    filled, config = list[Control](), dict[str, Any]()
    for control in controls:
        text = values.get(control.name, "").strip()
        try:
            if text and text != control.default:
                _put(config, control.name, _value(control, text))
            filled.append(replace(control, value=text))
        except ValueError as error:
            filled.append(replace(control, value=text, fault=str(error)))
    return filled, config


def filled_from(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what stands in the controls for a run with *config*."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from filled_from(value, f"{before}{name}.")
        else:
            yield before + name, shown(value)


def shown(value: Any) -> str:
    """Return *value* as it stands in a control; an empty one says null."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def with_faults(controls: Sequence[Control], faults: Sequence[str]) -> tuple[list[Control], list[str]]:
    """Return *controls* with the *faults* that name one of them, and those that name none."""
    left, by_name = list[str](), dict[str, str]()
    names = {control.name: control.name for control in controls} | {control.label: control.name for control in controls}
    for fault in faults:
        found = _FIELD.match(fault)
        name = names.get(found[1], "") if found else ""
        if found and name:
            by_name[name] = fault[found.end() :].lstrip(": ")
        else:
            left.append(fault)
    return [replace(one, fault=by_name.get(one.name, one.fault)) for one in controls], left


def read_seeds(text: str) -> list[int]:
    """Return the seeds of ``7``, ``1,2,3`` or ``1..5``.

    Raises:
        ValueError: it is none of these.
    """
    seeds: list[int] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        first, dots, last = part.partition("..")
        if not (first.isdecimal() and (not dots or last.isdecimal())):
            raise ValueError(f"{part!r} is no seed: write 7, or 1,2,3, or 1..5")
        end = int(last) if dots else int(first)
        if end - int(first) >= _LONGEST_SEEDS:
            raise ValueError(f"{part!r} is more than {_LONGEST_SEEDS} runs")
        seeds += range(int(first), end + 1)
    return seeds


def as_yaml(value: Mapping[str, Any], before: str = "") -> str:
    """Return *value* as YAML that `mosaic submit FILE` reads; scalars and lists are written as JSON, which is YAML."""
    lines: list[str] = []
    for name, one in value.items():
        key = name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else json.dumps(name)
        if isinstance(one, Mapping) and one:
            lines.append(f"{before}{key}:\n{as_yaml(one, before + '  ')}")
        else:
            lines.append(f"{before}{key}: {json.dumps(one)}\n")
    return "".join(lines)


def _group(name: str) -> str:
    wandb, files = _FIRST_WORDS
    return GROUPS[3] if name.startswith(wandb) else GROUPS[2] if name.startswith(files) else GROUPS[0]


def _control(name: str, facts: Mapping[str, Any]) -> Control:
    # A schema that names no type is taken by its default.
    kinds = facts.get("type", _TYPES.get(type(facts.get("default")), "string"))
    kinds = [kinds] if isinstance(kinds, str) else [str(one) for one in kinds or ()]
    choices = tuple(shown(one) for one in facts.get("enum") or () if one is not None)
    kind = "choice" if choices else next((_KINDS[one] for one in kinds if one in _KINDS), "json")
    least = facts.get("minimum", facts.get("exclusiveMinimum"))
    most = facts.get("maximum", facts.get("exclusiveMaximum"))
    default = shown(facts.get("default")) if "default" in facts else ""
    ends = (f"{end:g}" if isinstance(end, (int, float)) else "" for end in (least, most))
    return Control(name, kind, str(facts.get("description", "")), default, choices, *ends)


_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_KINDS = {"boolean": "flag", "integer": "integer", "number": "number", "string": "text"}


def _value(control: Control, text: str) -> Any:
    if control.kind == "flag":
        if text not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text == "true"
    if control.kind in ("integer", "number"):
        return _number(control, text)
    if control.kind == "json":
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError('this is no JSON: write [1, 2], {"key": 1} or "text"') from None
    if control.choices and text not in control.choices:
        raise ValueError(f"{text!r} is none of {', '.join(control.choices)}")
    return text


def _number(control: Control, text: str) -> float | int:
    try:
        value = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise ValueError(f"{text!r} is no number") from None
    if control.kind == "integer":
        if not value.is_integer():
            raise ValueError(f"{text!r} is no whole number")
        value = int(value)
    return value


def _put(config: dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".") if name.startswith(_PARAMS) else [name]
    for parent in parents:
        config = config.setdefault(parent, {})
    config[last] = value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.worker import config_schema, validate_config

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]


class Device(Enum):
    CPU = "cpu"
    CUDA = "cuda"


Name = NewType("Name", str)


@dataclass
class Network:
    """The network."""

    layers: tuple[int, ...] = (64, 64)


@dataclass
class Everything:
    """Configuration of a run.

    More words.

    Attributes:
        run_id: Names the run.
        text: Some text
            on two lines.
        rate (float): The rate.
    """

    run_id: str
    text: Optional[str] = None  # noqa: UP045
    rate: float = field(default=0.5, metadata={"minimum": 0, "maximum": 1})
    count: int = 3  #: how many
    #: which device
    #: to use
    device: Device = Device.CPU
    mode: Literal["train", "eval"] = "train"
    flag: bool = False
    """Whether to."""
    names: list[str] = field(default_factory=list)
    table: dict[str, int] = field(default_factory=dict)
    pair: tuple[int, str] = (1, "a")
    either: Union[int, str] = 1  # noqa: UP007
    nested: Network = field(default_factory=Network)
    maybe_nested: Network | None = None
    where: Path = Path("x")
    name: Name = Name("n")
    free: Any = None
    secret: Unknown = None
    algo: str = field(default="ppo", metadata={"choices": ["ppo", "dqn"], "help": "the algorithm"})


SCHEMA = config_schema(Everything)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("run_id", {"type": "string", "description": "Names the run.", "minLength": 1}),
        ("text", {"type": ["string", "null"], "description": "Some text on two lines.", "default": None}),
        ("rate", {"type": "number", "description": "The rate.", "minimum": 0, "maximum": 1, "default": 0.5}),
        ("count", {"type": "integer", "description": "how many", "default": 3}),
        ("device", {"enum": ["cpu", "cuda"], "description": "which device to use", "default": "cpu"}),
        ("mode", {"enum": ["train", "eval"], "default": "train"}),
        ("flag", {"type": "boolean", "description": "Whether to.", "default": False}),
        ("names", {"type": "array", "items": {"type": "string"}, "default": []}),
        ("table", {"type": "object", "additionalProperties": {"type": "integer"}, "default": {}}),
        ("either", {"type": ["integer", "string"], "default": 1}),
        ("where", {"type": "string", "default": "x"}),
        ("name", {"type": "string", "default": "n"}),
        ("free", {"default": None}),
        ("secret", {"default": None}),
        (
            "algo",
            {"type": "string", "description": "the algorithm", "enum": ["ppo", "dqn"], "default": "ppo"},
        ),
        (
            "pair",
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
                "default": [1, "a"],
            },
        ),
    ],
)
def test_each_field_is_described_by_its_type_default_and_help(name: str, expected: dict[str, Any]) -> None:
    assert expected == SCHEMA["properties"][name]


def test_the_whole_is_an_object_that_refuses_unknown_fields() -> None:
    assert "https://json-schema.org/draft/2020-12/schema" == SCHEMA["$schema"]
    assert ("Everything", "Configuration of a run.") == (SCHEMA["title"], SCHEMA["description"])
    assert ["run_id"] == SCHEMA["required"]
    assert SCHEMA["additionalProperties"] is False


def test_a_dataclass_within_is_an_object_within() -> None:
    inner = SCHEMA["properties"]["nested"]

    assert {"type": "array", "items": {"type": "integer"}, "default": [64, 64]} == inner["properties"]["layers"]
    assert {"layers": [64, 64]} == inner["default"]
    assert [{"type": "null"}] == SCHEMA["properties"]["maybe_nested"]["anyOf"][1:]


def test_a_class_that_is_no_dataclass_allows_anything() -> None:
    schema = config_schema(dict)

    assert "object" == schema["type"]
    assert [] == validate_config(schema, {"anything": 1})


def test_defaults_satisfy_their_own_schema() -> None:
    defaults = {name: part["default"] for name, part in SCHEMA["properties"].items() if "default" in part}

    assert [] == validate_config(SCHEMA, {"run_id": "r", **defaults})


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([], "must be an object, is []"),
        ({}, "run_id: is required"),
        ({"run_id": 3}, "run_id: must be a string, is 3"),
        ({"run_id": "r", "rate": 2}, "rate: must be at most 1, is 2"),
        ({"run_id": "r", "rate": -0.5}, "rate: must be at least 0, is -0.5"),
        ({"run_id": "r", "count": True}, "count: must be an integer, is true"),
        ({"run_id": "r", "count": 1.5}, "count: must be an integer, is 1.5"),
        ({"run_id": "r", "device": "gpu"}, 'device: must be one of "cpu", "cuda", is "gpu", did you mean \'cpu\'?'),
        ({"run_id": "r", "names": ["a", 1]}, "names[1]: must be a string, is 1"),
        ({"run_id": "r", "table": {"k": "v"}}, 'table.k: must be an integer, is "v"'),
        ({"run_id": "r", "pair": [1]}, "pair: must have at least 2 items, has 1"),
        ({"run_id": "r", "pair": ["a", "b"]}, 'pair[0]: must be an integer, is "a"'),
        ({"run_id": "r", "nested": {"layer": []}}, "nested.layer: is not a known field, did you mean 'layers'?"),
        ({"run_id": "r", "maybe_nested": {"layers": 3}}, "maybe_nested.layers: must be an array, is 3"),
        ({"run_id": "r", "either": []}, "either: must be an integer or a string, is []"),
    ],
)
def test_a_fault_has_its_path(data: Any, fault: str) -> None:
    assert [fault] == validate_config(SCHEMA, data)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"exclusiveMinimum": 0}, 1, 0),
        ({"exclusiveMaximum": 1}, 0, 1),
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 2}, "ab", "abc"),
        ({"pattern": "^a"}, "ab", "b"),
        ({"format": "inside-run-directory"}, "logs/tensorboard", "/logs"),
        ({"format": "inside-run-directory"}, "..logs", "logs/../../other"),
        ({"const": 1}, 1, True),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, None, 1),
        (False, ..., 1),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, {"a": {"a": {}}}, {"a": {"a": 1}}),
    ],
)
def test_the_keywords_it_knows(schema: Any, good: Any, bad: Any) -> None:
    if good is not ...:
        assert [] == validate_config(schema, good)
    assert 1 == len(validate_config(schema, bad))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "enum",
        "required",
        "properties",
        "additionalProperties",
        "items",
        "prefixItems",
        "minItems",
        "minLength",
        "pattern",
        "minimum",
        "exclusiveMaximum",
        "anyOf",
        "oneOf",
        "allOf",
        "const",
        "$ref",
    ]
)
SCHEMAS = st.recursive(
    st.dictionaries(KEYWORDS, JSON, max_size=4),
    lambda inner: st.dictionaries(KEYWORDS, inner | st.lists(inner, max_size=2), max_size=3),
    max_leaves=6,
)


@given(SCHEMAS | JSON, JSON)
def test_validating_never_raises(schema: Any, data: Any) -> None:
    faults = validate_config(schema, data)

    assert all(isinstance(fault, str) for fault in faults)


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert [] == validate_config({"$ref": "#"}, 1)


def test_a_default_of_none_makes_null_a_value_of_the_field() -> None:
    @dataclass
    class Loose:
        run_id: str
        seed: int = None  # type: ignore[assignment]
        policy: str = field(default=None, metadata={"choices": ["mlp", "cnn"]})  # type: ignore[arg-type]
        device: Device = None  # type: ignore[assignment]
        either: Union[Device, int] = None  # type: ignore[assignment]  # noqa: UP007
        network: Network = None  # type: ignore[assignment]
        names: list[str] = None  # type: ignore[assignment]
        text: Optional[str] = None  # noqa: UP045

    schema = config_schema(Loose)

    fields = ("seed", "policy", "device", "either", "network", "names", "text")
    assert [] == validate_config(schema, {"run_id": "R1", **dict.fromkeys(fields)})
    assert 7 == len(validate_config(schema, {"run_id": "R1", **dict.fromkeys(fields, 0.5)}))

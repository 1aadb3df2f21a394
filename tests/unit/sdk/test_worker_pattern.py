from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.worker import validate_config
from mosaic.worker.pattern import Budget, TooMuchWork, matches

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "[ab]",
        "[^a]",
        r"\w",
        r"\d",
        r"\s",
        r"\W",
        ".",
        "-",
        "[a-c_]",
        r"[\d.]",
        "^",
        "$",
        r"\b",
        r"\A",
        r"\Z",
    ]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda choices: f"({'|'.join(choices)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{2,}"])).map(
            lambda parts: f"(?:{parts[0]}){parts[1]}"
        ),
        inner.map(lambda body: f"(?={body})"),
        inner.map(lambda body: f"(?!{body})"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text(alphabet="abc-_1. \n", max_size=8))
def test_a_match_is_what_re_says_it_is(pattern: str, text: str) -> None:
    assert (re.search(pattern, text) is not None) == matches(pattern, text, Budget(1_000_000))


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?i)a", "(?i:a)", "(?<=a)b", "(?<!a)b", "[", "(", "a{2,1}", "(" * 3000 + ")" * 3000]
)
def test_what_cannot_be_followed_forbids_nothing(pattern: str) -> None:
    assert matches(pattern, "a", Budget(1_000_000))


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a|a)*$", "^a*a*a*a*a*a*$", "^(a*)*$", "^(a|aa)+$"])
def test_a_pattern_with_many_ways_through_it_takes_no_longer_than_others(pattern: str) -> None:
    assert not matches(pattern, "a" * 500 + "!", Budget(250_000))


def test_more_work_than_the_budget_allows_is_not_done() -> None:
    with pytest.raises(TooMuchWork):
        matches("(.*){500}!", "a" * 3000, Budget(250_000))


DOUBLING: dict[str, Any] = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
REFUSING: dict[str, Any] = {"allOf": [{"required": ["x"] * 1000}, {"$ref": "#"}, {"$ref": "#"}]}


@pytest.mark.parametrize("schema", [DOUBLING, {"not": 1, "oneOf": [{"$ref": "#"}] * 3}], ids=["anyOf", "oneOf"])
def test_a_schema_that_never_ends_is_a_fault_and_not_a_standstill(schema: dict[str, Any]) -> None:
    started = time.monotonic()

    (fault,) = validate_config(schema, {"run_id": "R1"})

    assert fault.startswith("cannot be checked: the schema takes too much work")
    assert time.monotonic() - started < 20


def test_faults_without_end_are_cut_off() -> None:
    assert 100 == len(validate_config(REFUSING, {}))


def test_a_fault_shows_the_beginning_of_a_value_however_long_it_is() -> None:
    (fault,) = validate_config({"type": "integer"}, ["x" * 10] * 100_000)

    assert 90 > len(fault)
    assert fault.endswith("...")

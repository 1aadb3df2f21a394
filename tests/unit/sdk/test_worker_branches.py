"""Each algorithm has its own parameters, and a config is judged by those of the algorithm it names."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.worker import validate_config
from mosaic.worker.branches import branch_of, branch_of_others, parameters_of

SCHEMA: dict[str, Any] = {
    "properties": {
        "algo": {"enum": ["ppo", "dqn"], "default": "ppo"},
        "algo_params": {"type": "object"},
        "extras": {"type": "object"},
    },
    "$defs": {
        "ppo": {"properties": {"clip_coef": {"type": "number"}}, "additionalProperties": False},
        "dqn": {"properties": {"clip_coeff_of_dqn": {"type": "number"}}, "additionalProperties": False},
    },
}
SCHEMA["anyOf"] = [
    *(branch_of(algo, parameters_of(algo, SCHEMA), SCHEMA["properties"]) for algo in ("ppo", "dqn")),
    branch_of_others(("ppo", "dqn")),
]


@pytest.mark.parametrize(
    "config", [{}, {"algo_params": {"clip_coef": 0.1}}, {"algo": "dqn", "extras": {"clip_coeff_of_dqn": 1}}]
)
def test_an_algorithm_takes_its_own_parameters(config: dict[str, Any]) -> None:
    assert [] == validate_config(SCHEMA, config)


@pytest.mark.parametrize(
    ("config", "suggestion"),
    [
        pytest.param({"algo_params": {"clip_coeff": 1}}, "clip_coef", id="the default algorithm"),
        pytest.param({"algo": "dqn", "algo_params": {"clip_coeff": 1}}, "clip_coeff_of_dqn", id="a named one"),
    ],
)
def test_a_misspelt_parameter_is_one_of_the_algorithm_that_is_named(config: dict[str, Any], suggestion: str) -> None:
    (fault,) = validate_config(SCHEMA, config)

    assert f"did you mean '{suggestion}'" in fault


def test_a_name_that_is_no_algorithm_is_the_only_fault() -> None:
    (fault,) = validate_config(SCHEMA, {"algo": "pp0", "algo_params": {"clip_coeff": 1}})

    assert fault.startswith("algo: ")

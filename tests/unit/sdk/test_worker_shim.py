"""What every package around a library says of itself."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from mosaic.worker import shim, validate_config
from mosaic.worker.library.config import LibrarySettings


def test_a_worker_says_which_version_of_its_library_is_installed() -> None:
    told = {"name": "n", "version": "1", "description": "d", "homepage": "h"}

    metadata, able = shim.described("mine", **told, library="pytest", resume_grade="A")

    assert (pytest.__version__, "mine", "A") == (metadata.upstream_version, able.worker_type, able.resume_grade)
    assert shim.installed_version("no-such-distribution") is None


def test_each_algorithm_takes_its_own_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", SimpleNamespace(registry={}))
    own = {"deep": {"depth": {"type": "integer"}}, "flat": {}}

    schema = shim.published_schema(
        LibrarySettings,
        ["deep", "flat", "d"],
        lambda name: {"type": "object", "properties": own[name], "additionalProperties": False},
        lambda name: {"action_spaces": [name]},
        short_names={"d": "deep"},
    )

    assert {"deep", "flat"} == set(schema["$defs"])
    assert {"action_spaces": ["deep"], "max_agents": 1} == schema["x-algorithms"]["d"]
    config = {"run_id": "r", "algo_params": {"depth": 1}}
    assert [] == validate_config(schema, {**config, "algo": "deep"}) == validate_config(schema, {**config, "algo": "d"})
    (fault,) = validate_config(schema, {**config, "algo": "flat"})
    assert "algo_params.depth: is not a known field" in fault

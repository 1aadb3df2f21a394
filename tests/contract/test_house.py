"""`make house` counts what it says it counts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def test_every_step_of_the_way_names_modules_that_exist(house: ModuleType) -> None:
    named = [name for step in house.WAY["step"] for name in step["modules"]]

    assert [] == [name for name in named if name not in house.modules()]
    assert len(named) == len(set(named))
    assert set(named) <= set(house.way_of_a_run())


def test_what_is_generated_or_a_test_is_not_counted(house: ModuleType) -> None:
    counted = [file for room in house.ROOMS for file in house.files_of(room)]

    assert len(counted) == len(set(counted)) == len(house.modules())
    assert not [file for file in counted if "_pb2" in file.name or file.name.startswith("test_")]
    assert ROOT / "sdk/src/mosaic/errors.py" in counted


def test_a_name_that_is_defined_nowhere_is_an_error(house: ModuleType) -> None:
    with pytest.raises(LookupError, match="defined by 0 files"):
        house.place_of("sdk:no_such_name")

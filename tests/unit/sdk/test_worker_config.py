from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker import WorkerCLI, WorkerConfig, extract_worker_config, load_worker_config_from_file


@dataclass
class Config:
    run_id: str
    env_id: str = "CartPole-v1"
    seed: int | None = None
    total_steps: int = 100
    extras: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("run_id is required")
        if self.total_steps < 1:
            raise ValueError("total_steps must be >= 1")
        assert isinstance(self, WorkerConfig)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        return cls(**{key: value for key, value in data.items() if key in cls.__dataclass_fields__})


class Picky(Config):
    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Picky:
        return cls(run_id=data["run_id"], env_id=data["env_id"])


def a_file(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def nested(config: Any) -> dict[str, Any]:
    return {"run_name": "x", "metadata": {"worker": {"module": "m", "config": config}}}


@pytest.mark.parametrize(
    ("payload", "extracted"),
    [
        ({"run_id": "r"}, {"run_id": "r"}),
        (nested({"run_id": "n"}), {"run_id": "n"}),
        ({"metadata": {"worker": {}}}, {"metadata": {"worker": {}}}),
        ({"metadata": {}}, {"metadata": {}}),
        ({"metadata": None, "run_id": "r"}, {"metadata": None, "run_id": "r"}),
    ],
)
def test_the_nested_section_is_taken_only_when_it_is_there(payload: Any, extracted: Any) -> None:
    assert extracted == extract_worker_config(payload)


@pytest.mark.parametrize("load", [load_worker_config_from_file, WorkerCLI.load_and_validate_config])
@pytest.mark.parametrize("wrap", [dict, nested], ids=["direct", "nested"])
def test_both_forms_give_the_same_config(load: Any, wrap: Any, tmp_path: Path) -> None:
    path = a_file(tmp_path, wrap({"run_id": "r", "seed": 7}))

    assert Config("r", seed=7) == load(path, Config)


def test_the_upstream_loader_takes_what_from_dict_takes(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"run_id": "r", "unheard_of": 1, "env_id": 5})

    assert 5 == load_worker_config_from_file(path, Config).env_id  # type: ignore[comparison-overlap]


def test_launchers_may_add_their_fields_to_a_strict_config(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"run_id": "r", "worker_id": "w", "agent_id": "a"})

    assert "r" == WorkerCLI.load_and_validate_config(path, Config).run_id


@pytest.mark.parametrize(
    ("content", "error", "fault"),
    [
        ("nope", json.JSONDecodeError, "is not JSON: Expecting value at line 1, column 1"),
        ("[]", TypeError, "the configuration must be an object, is list"),
        (nested([]), TypeError, "metadata.worker.config must be an object, is list"),
        ({"metadata": {"worker": {}}}, ValueError, "metadata.worker.config is missing"),
        ({"metadata": {"other": {}}}, ValueError, "metadata.worker is missing"),
        ({}, ValueError, "run_id: is required"),
        ({"run_id": ""}, ValueError, "run_id: must not be empty"),
        ({"run_id": "r", "total_steps": -1}, ValueError, "total_steps must be >= 1"),
        ({"run_id": "r", "total_steps": "many"}, ValueError, 'total_steps: must be an integer, is "many"'),
        ({"run_id": "r", "totl_steps": 3}, ValueError, "totl_steps: is not a known field, did you mean 'total_steps'?"),
        ({"run_id": "r", "seed": 1.5}, ValueError, "seed: must be an integer or null, is 1.5"),
    ],
)
def test_bad_input_names_the_file_and_the_fault(
    content: Any, error: type[Exception], fault: str, tmp_path: Path
) -> None:
    path = a_file(tmp_path, content)

    with pytest.raises(error) as caught:
        WorkerCLI.load_and_validate_config(path, Config)

    assert isinstance(caught.value, BadInput)
    assert 2 == caught.value.exit_code
    assert str(path) == caught.value.source
    assert any(fault in listed for listed in caught.value.faults)
    assert str(caught.value).startswith(f"Failed to load config from {path}: ")


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"run_id": "r", "env": "x", "env_id": 3, "total_steps": 0})

    with pytest.raises(BadInput) as caught:
        WorkerCLI.load_and_validate_config(path, Config)

    assert (
        "env: is not a known field, did you mean 'env_id'?",
        "env_id: must be a string, is 3",
        "total_steps must be >= 1",
    ) == caught.value.faults


@pytest.mark.parametrize("load", [load_worker_config_from_file, WorkerCLI.load_and_validate_config])
def test_a_missing_file_is_a_file_not_found_error(load: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        load(tmp_path / "none.json", Config)


def test_a_directory_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot be read"):
        load_worker_config_from_file(tmp_path, Config)
    with pytest.raises(ValueError, match=r"Failed to load config from .* cannot be read"):
        WorkerCLI.load_and_validate_config(tmp_path, Config)


def test_a_file_that_is_not_text_is_a_value_error(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(ValueError, match="is not UTF-8 text"):
        load_worker_config_from_file(path, Config)


def test_a_key_error_stays_a_key_error_and_says_more(tmp_path: Path) -> None:
    path = a_file(tmp_path, {"run_id": "r"})

    with pytest.raises(KeyError) as caught:
        load_worker_config_from_file(path, Picky)

    assert f"{path}: env_id: is required" == str(caught.value)


@pytest.mark.parametrize("load", [load_worker_config_from_file, WorkerCLI.load_and_validate_config])
def test_a_class_without_from_dict_is_a_type_error(load: Any, tmp_path: Path) -> None:
    path = a_file(tmp_path, {})

    with pytest.raises(TypeError, match=r"int must implement from_dict\(\) class method"):
        load(path, int)


def test_where_reading_stopped_is_kept(tmp_path: Path) -> None:
    path = a_file(tmp_path, '{\n "a": }')

    with pytest.raises(json.JSONDecodeError) as caught:
        load_worker_config_from_file(path, Config)

    assert (2, 7) == (caught.value.lineno, caught.value.colno)


def test_a_number_python_will_not_read_is_bad_input(tmp_path: Path) -> None:
    path = a_file(tmp_path, f'{{"run_id": "r", "total_steps": 1{"0" * 5000}}}')

    with pytest.raises(BadInput, match="cannot be read: Exceeds the limit"):
        load_worker_config_from_file(path, Config)

"""Which variables a submission may set: settings, never what leads to code, never keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.errors import BadInput
from mosaic.ids import WorkerName
from mosaic.model.variables import names_of
from mosaic.wire.v1 import registry_pb2
from mosaic_scheduler.adapters.registry_fleet import to_view
from mosaic_scheduler.ports import WorkerFacts
from tests.fakes.scheduler import SCHEMA, Desk, a_fleet


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    name = WorkerName("toy")
    declared = frozenset({"TOY_SPEED", *names_of("CAMERA_*, LD_*")})
    desk = Desk(tmp_path, replace(a_fleet(), workers={name: WorkerFacts(name, "1.0", SCHEMA, {}, None, declared)}))
    yield desk
    desk.engine.dispose()


@pytest.mark.parametrize(
    "name", ["WANDB_MODE", "OMP_NUM_THREADS", "CUDA_LAUNCH_BLOCKING", "MOSAIC_ENV_ANYTHING", "TOY_SPEED", "CAMERA_MODE"]
)
def test_a_setting_of_a_library_of_the_worker_or_of_the_operator_is_taken(desk: Desk, name: str) -> None:
    assert {name: "1"} == desk.submit(environment={name: "1"}).spec.environment


@pytest.mark.parametrize(
    "name",
    [
        *("PYTHONWARNINGS", "PYTHONPATH", "pythonstartup", "LD_PRELOAD", "LD_LIBRARY_PATH", "BROWSER", "PATH", "HOME"),
        *("OMP_TOOL_LIBRARIES", "CUDA_INJECTION64_PATH", "NCCL_NET_PLUGIN", "WANDB_X_EXECUTABLE", "MPLBACKEND"),
        *("BASH_ENV", "GLIBC_TUNABLES", "GIT_SSH_COMMAND", "TMPDIR", "MOSAIC_RUN_ID", "MOSAIC_RESUME_FROM"),
    ],
)
def test_what_an_interpreter_or_a_loader_reads_is_refused_whoever_allows_it(desk: Desk, name: str) -> None:
    for given in ({"environment": {name: "1"}}, {"secrets": {name: "hub"}}):
        desk.secrets.values["hub"] = "value"
        with pytest.raises(BadInput) as refused:
            desk.submit(**given)
        assert [name] == [fault.partition(":")[0].partition(".")[2] for fault in refused.value.faults]


@pytest.mark.parametrize("name", ["", "1ST", "A=B", "A B", "Ä", "A\nB", "A" * 129])
def test_a_name_that_cannot_be_is_refused_at_submit(desk: Desk, name: str) -> None:
    with pytest.raises(BadInput):
        desk.submit(environment={name: "1"})


def test_any_other_name_is_refused_with_what_to_do(desk: Desk) -> None:
    with pytest.raises(BadInput) as refused:
        desk.submit(environment={"FOO": "1"})

    (fault,) = refused.value.faults
    assert "MOSAIC_ENV_" in fault
    assert "MOSAIC_SCHEDULER_ENVIRONMENT_NAMES" in fault


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("WANDB_API_KEY", "x"), ("HF_TOKEN", "x"), ("MOSAIC_ENV_DB_PASSWORD", "x"), ("TOY_SECRET", "x")),
        ("MOSAIC_ENV_NOTE", "hf_" + "a" * 34),
        ("MOSAIC_ENV_NOTE", "sk-proj-" + "a" * 40),
        ("MOSAIC_ENV_NOTE", "mosaic_pat_1_2_3"),
        ("MOSAIC_ENV_NOTE", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_a_key_is_refused_with_the_advice_to_make_it_a_secret(desk: Desk, name: str, value: str) -> None:
    with pytest.raises(BadInput) as refused:
        desk.submit(environment={name: value})

    (fault,) = refused.value.faults
    assert f"--secret {name}=NAME" in fault
    assert value not in fault or len(value) < 5


def test_there_is_a_limit_to_how_many_and_how_long(desk: Desk) -> None:
    many = {f"MOSAIC_ENV_{number}": "" for number in range(65)}

    with pytest.raises(BadInput) as refused:
        desk.submit(environment={**many, "MOSAIC_ENV_0": "x" * 5000})

    assert 2 == len(refused.value.faults)


def test_the_schema_of_a_worker_and_the_operator_add_names() -> None:
    schema = '{"x-environment-variables": ["TOY_SPEED", 3]}'
    fleet = registry_pb2.Fleet(workers=[registry_pb2.Worker(name="toy", config_schema_json=schema)])

    assert {"TOY_SPEED", "CAMERA_*"} == to_view(fleet, frozenset({"CAMERA_*"})).workers[WorkerName("toy")].variables

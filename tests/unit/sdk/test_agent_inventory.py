"""What a machine has, as far as we may use it."""

from __future__ import annotations

import pytest

from mosaic.agent.inventory import count_cpus, default_node_id, find_gpus, look_around, measure_memory_mb
from mosaic.errors import BadInput
from mosaic.ids import is_id


def test_simulated_gpus_have_ids_of_their_own_node() -> None:
    gpus = find_gpus({"MOSAIC_GPUS": "sim:2:8192"}, "node-a")

    assert [gpu.gpu_id for gpu in gpus] == ["GPU-sim-node-a-0", "GPU-sim-node-a-1"]
    assert {8192} == {gpu.memory_mb for gpu in gpus}


def test_no_gpus_can_be_asked_for() -> None:
    assert find_gpus({"MOSAIC_GPUS": "none"}, "node-a") == ()


@pytest.mark.parametrize("wanted", ["sim", "sim:x", "4", "sim:2:big"])
def test_a_wish_for_gpus_that_cannot_be_read_is_refused(wanted: str) -> None:
    with pytest.raises(BadInput, match="neither sim:N nor sim:N:MEMORY_MB"):
        find_gpus({"MOSAIC_GPUS": wanted}, "node-a")


def test_a_machine_has_something_to_give() -> None:
    machine = look_around({"MOSAIC_GPUS": "sim:1"})

    assert machine.cpus >= 1
    assert machine.memory_mb > 0
    assert len(machine.gpus) == 1


def test_a_machine_is_named_the_same_twice() -> None:
    assert default_node_id() == default_node_id()
    assert is_id(default_node_id())


def test_limits_that_cannot_be_read_do_not_limit(tmp_path: object) -> None:
    assert count_cpus(tmp_path) >= 1  # type: ignore[arg-type]
    assert measure_memory_mb(tmp_path) > 0  # type: ignore[arg-type]

"""A GPU is used where the lease has one, and a GPU that cannot be used is told."""

from __future__ import annotations

import io
import json

import pytest

from mosaic.worker import TelemetryEmitter
from mosaic.worker.gpu import learns_on_gpu

LEASE = {"CUDA_VISIBLE_DEVICES": "GPU-1"}
NO_LEASE = {"CUDA_VISIBLE_DEVICES": ""}


@pytest.mark.parametrize(
    ("asked", "environment", "sees_gpu", "expected", "warning"),
    [
        (None, LEASE, True, True, ""),
        (None, LEASE, False, False, "the lease has a GPU"),
        (None, NO_LEASE, True, False, ""),
        (None, {}, True, False, ""),
        (True, {}, True, True, ""),
        (True, NO_LEASE, False, False, "cuda is true"),
        (False, LEASE, True, False, ""),
    ],
)
def test_the_gpu_of_the_lease_is_used_unless_told_otherwise(
    asked: bool | None, environment: dict[str, str], sees_gpu: bool, expected: bool, warning: str
) -> None:
    sink = io.StringIO()

    assert expected == learns_on_gpu(asked, environment, TelemetryEmitter("r", sink=sink), lambda: sees_gpu)

    told = [json.loads(line)["payload"] for line in sink.getvalue().splitlines()]
    text = f"{warning}, but torch can use none here: this run learns on the CPU"
    assert [{"level": "warning", "stream": "worker", "text": text}] * bool(warning) == told


def test_the_library_is_not_asked_where_its_answer_does_not_count() -> None:
    def import_torch() -> bool:
        raise AssertionError("this takes seconds")

    emitter = TelemetryEmitter("r", sink=io.StringIO())
    assert not learns_on_gpu(False, LEASE, emitter, import_torch)
    assert not learns_on_gpu(None, NO_LEASE, emitter, import_torch)

"""Whether a run learns on a GPU: what was asked for, what the lease holds and what the library can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from mosaic.worker.emitter import TelemetryEmitter


def torch_sees_gpu() -> bool:
    """Tell whether torch can use a GPU; importing it may take seconds."""
    return bool(import_module("torch").cuda.is_available())


def learns_on_gpu(
    asked: bool | None,
    environment: Mapping[str, str],
    emitter: TelemetryEmitter,
    sees_gpu: Callable[[], bool] = torch_sees_gpu,
) -> bool:
    """Return whether to use a GPU; None asks for that of the lease, if it has one.

    *sees_gpu* is called only when its answer counts. A GPU that was asked for or is held and cannot be used is told
    in the run's log, and the run learns on the CPU.
    """
    is_leased = bool(environment.get("CUDA_VISIBLE_DEVICES"))
    if asked is False or (asked is None and not is_leased):
        return False
    if sees_gpu():
        return True
    why = "cuda is true" if asked else "the lease has a GPU"
    emitter.log(f"{why}, but torch can use none here: this run learns on the CPU", "warning")
    return False

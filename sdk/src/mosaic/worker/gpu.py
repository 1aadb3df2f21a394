"""Whether a run learns on a GPU: what was asked for, what the lease holds and what the library can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def learns_on_gpu(
    asked: bool | None, environment: Mapping[str, str], sees_gpu: Callable[[], bool], warn: Callable[[str], None]
) -> bool:
    """Return whether to use a GPU; None asks for that of the lease, if it has one.

    *sees_gpu* asks the library, which may take seconds to import, and is called only when its answer counts. A GPU
    that was asked for or is held and cannot be used is told to *warn*, and the run learns on the CPU.
    """
    is_leased = bool(environment.get("CUDA_VISIBLE_DEVICES"))
    if asked is False or (asked is None and not is_leased):
        return False
    if sees_gpu():
        return True
    why = "cuda is true" if asked else "the lease has a GPU"
    warn(f"{why}, but torch can use none here: this run learns on the CPU")
    return False

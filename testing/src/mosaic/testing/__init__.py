"""What plug-in authors and users need for their tests.

The conformance checks of a worker, as a function and as pytest cases, and the whole platform in containers.

Names are loaded when first used: part of this package runs inside the environment of the
worker under test, where nothing but Python may be expected.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic.testing.conformance import check_worker as check_worker
    from mosaic.testing.containers.runs import StackRun as StackRun
    from mosaic.testing.containers.stack import MosaicStack as MosaicStack
    from mosaic.testing.pytest_cases import worker_conformance as worker_conformance
    from mosaic.testing.recording import RecordingEmitter as RecordingEmitter
    from mosaic.testing.report import Check as Check
    from mosaic.testing.report import Outcome as Outcome
    from mosaic.testing.report import Report as Report

_HOMES = {
    "Check": "report",
    "MosaicStack": "containers.stack",
    "Outcome": "report",
    "RecordingEmitter": "recording",
    "Report": "report",
    "StackRun": "containers.runs",
    "check_worker": "conformance",
    "worker_conformance": "pytest_cases",
}

__all__ = [
    "Check",
    "MosaicStack",
    "Outcome",
    "RecordingEmitter",
    "Report",
    "StackRun",
    "check_worker",
    "worker_conformance",
]


def __getattr__(name: str) -> Any:
    """Load *name* from the module that holds it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

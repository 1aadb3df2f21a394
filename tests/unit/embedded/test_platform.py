"""A platform that goes on looking for newly installed workers."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from mosaic.errors import MosaicError, WorkerBroken
from mosaic_embedded import platform
from mosaic_embedded.platform import Platform


class Clumsy(Platform):
    """Fails to add agents once, then can."""

    fault: Exception

    def add_new_agents(self) -> None:
        if not hasattr(self, "has_failed"):
            self.has_failed = True
            raise self.fault
        self._stopping.set()


@pytest.mark.parametrize("fault", [WorkerBroken("toy", "it cannot be read"), OSError("too many open files")])
def test_a_worker_that_cannot_be_added_does_not_end_the_looking(
    fault: MosaicError | OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = itertools.count()
    monkeypatch.setattr(platform, "_LOOK_FOR_WORKERS_S", 0.01)
    monkeypatch.setattr(platform, "_installed", lambda home: [("toy", str(next(changes)))])
    clumsy = Clumsy(tmp_path, {})
    clumsy.fault = fault

    looking = threading.Thread(target=clumsy._watch_for_workers)
    looking.start()
    looking.join(10)

    assert clumsy._stopping.is_set()

"""What a comparison needs to know of a run. Nothing else here reads a run's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.client import Run
from mosaic.lifecycle import RunState


@dataclass(frozen=True, slots=True)
class Facts:
    """A run, as far as it matters which arm it belongs to and whether it counts."""

    run_id: str
    name: str
    worker: str
    seed: int | None
    state: RunState
    has_ended: bool
    reason: str
    config: Mapping[str, Any]
    #: Of worker and settings without the seed.
    config_digest: str
    labels: Mapping[str, str]
    #: The run from whose last checkpoint it began.
    continues: str


def facts_of(run: Run) -> Facts:
    """Return what is known of *run*."""
    return Facts(
        run_id=run.run_id,
        name=run.spec.name,
        worker=run.spec.worker,
        seed=run.spec.seed,
        state=run.state,
        has_ended=run.has_ended,
        reason=next((line.strip() for line in run.reason.splitlines() if line.strip()), ""),
        config=run.spec.config,
        config_digest=run.spec.config_digest,
        labels=run.spec.labels,
        continues=run.spec.continues,
    )

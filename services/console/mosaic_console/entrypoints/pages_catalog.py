"""Environments and workers: what trains on what, and why not."""

from __future__ import annotations

from itertools import groupby

from fastapi import APIRouter, Response

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic.worker.environments import families
from mosaic_console.domain.train_form import choices_of, controls_of
from mosaic_console.entrypoints.looks import html
from mosaic_console.entrypoints.parts import ThePlatform
from mosaic_console.handlers.environments import environments

router = APIRouter(include_in_schema=False)


@router.get("/environments")
@needs(Permission.FLEET_READ)
def environments_page(platform: ThePlatform, family: str = "", worker: str = "", text: str = "") -> Response:
    """Show the catalog, by family."""
    found = environments(platform, family=family, worker=worker)
    shown = [one for one in found if text.lower() in f"{one.environment.env_id} {one.environment.about}".lower()]
    grouped = [(name, list(those)) for name, those in groupby(shown, key=lambda one: one.environment.family)]
    workers = [str(each.name) for each in platform.fleet().workers]
    asked = {"family": family, "worker": worker, "text": text}
    return html("environments.html", grouped=grouped, families=families(), workers=workers, asked=asked)


@router.get("/workers")
@needs(Permission.FLEET_READ)
def workers_page(platform: ThePlatform) -> Response:
    """Show every worker with its algorithms and settings."""
    fleet = platform.fleet()
    rows = [
        (
            worker,
            choices_of(worker.config_schema, "algo"),
            [control for group in controls_of(worker.config_schema, "").values() for control in group],
            [agent for agent in fleet.agents if agent.worker == worker.name],
        )
        for worker in sorted(fleet.workers, key=lambda each: each.name)
    ]
    return html("workers.html", rows=rows)

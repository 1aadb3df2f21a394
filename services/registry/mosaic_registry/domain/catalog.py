"""Which announcement of a worker counts: the first, for as long as an agent that takes runs stands by it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable

from mosaic.model.fleet import Agent, Worker

#: How faithfully a worker continues from its checkpoints, as it declares; empty = nobody has measured it.
RESUME_GRADES = ("", "A", "B", "C")


def digest_of(worker: Worker) -> str:
    """Return what identifies all that others rely on: two announcements that differ in it contradict each other."""
    relied_on = {
        "version": worker.version,
        "capabilities": dict(worker.capabilities),
        "config_schema": dict(worker.config_schema),
        "resume_grade": worker.resume_grade,
    }
    return hashlib.sha256(json.dumps(relied_on, sort_keys=True, default=str).encode()).hexdigest()


def adopt(known: Worker | None, presented: Worker, others: Collection[Agent]) -> Worker:
    """Return the catalog's entry after an agent *presented* a worker; *others* are all other agents.

    What others announced is not changed by a newcomer. During an upgrade the old one counts until its last agent is
    gone or drained, and then the new one does.
    """
    if known is None or not is_announced(known, others):
        return presented
    return known


def is_announced(worker: Worker, agents: Iterable[Agent]) -> bool:
    """Tell whether one of *agents* takes runs of *worker* as it stands in the catalog."""
    return any(_announces(agent, worker) for agent in agents if agent.worker == worker.name and _takes_runs(agent))


def successor(worker: Worker, agents: Iterable[Agent]) -> Agent | None:
    """Return the agent whose announcement takes the place of one that nobody announces any more; None if none does."""
    able = [agent for agent in agents if agent.worker == worker.name and _takes_runs(agent)]
    if not able or any(_announces(agent, worker) for agent in able):
        return None
    return max(able, key=lambda agent: (_order(agent.worker_version), agent.agent_id))


def _takes_runs(agent: Agent) -> bool:
    return agent.alive and not agent.draining


def _announces(agent: Agent, worker: Worker) -> bool:
    if agent.worker_digest and worker.digest:
        return agent.worker_digest == worker.digest
    # One of them is of before there were digests.
    return agent.worker_version == worker.version


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))

"""What a topic of the live stream stands for, as of now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.run import RunFilter
from mosaic_console.domain.live import run_of, topic_of
from mosaic_console.domain.wanted import LARGEST_PAGE
from mosaic_console.ports import Platform

_OPEN = frozenset(state for state in RunState if not is_terminal(state))


def whole_topic(platform: Platform, topic: str) -> str:
    """Return *topic* with the whole id of its run.

    Raises:
        RunNotFound: there is no such run.
    """
    run_id = run_of(topic)
    return topic if run_id is None else topic_of(platform.run(run_id).run.run_id)


def look(platform: Platform, topic: str) -> Mapping[str, Any]:
    """Return how *topic* stands."""
    run_id = run_of(topic)
    if run_id is not None:
        return _run(platform, run_id)
    return _fleet(platform) if topic == "fleet" else _queue(platform)


def _run(platform: Platform, run_id: str) -> Mapping[str, Any]:
    run = platform.run(run_id).run
    return {"run": run, "summary": platform.summaries([run_id]).get(run_id)}


def _queue(platform: Platform) -> Mapping[str, Any]:
    """Tell every open run, and the newest one that ended, so that an end is news as well."""
    newest = platform.page(RunFilter(), size=1).runs
    open_runs = platform.page(RunFilter(states=_OPEN), size=LARGEST_PAGE).runs
    shown = [{"run_id": run.run_id, "state": run.state, "attempt": run.attempt} for run in (*open_runs, *newest)]
    return {"runs": list({each["run_id"]: each for each in shown}.values())}


def _fleet(platform: Platform) -> Mapping[str, Any]:
    # Heartbeats come every few seconds and change nothing that is worth a message.
    fleet = platform.fleet()
    agents = [
        {"agent_id": each.agent_id, "alive": each.alive, "draining": each.draining, "worker": each.worker}
        for each in fleet.agents
    ]
    return {"revision": fleet.revision, "nodes": fleet.nodes, "agents": agents}

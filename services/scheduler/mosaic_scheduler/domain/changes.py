"""What can become different between two rounds, so that a planner need not start over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from mosaic.ids import AgentId, NodeId, RunId
from mosaic.model.team import Team
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Agent, Node, Snapshot, Usage


@dataclass(frozen=True, slots=True)
class RunQueued:
    """A run waits, or what is known about a waiting run is different now."""

    run: QueuedRun


@dataclass(frozen=True, slots=True)
class RunLeftQueue:
    """A run no longer waits. Unknown runs have already left."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class AttemptHolds:
    """An attempt holds a lease, or something about it is different now. Its run leaves the queue."""

    attempt: RunningAttempt


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The attempt of a run is gone and its lease is free. Unknown ones have already ended."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class NodeIs:
    """A node has appeared or is different now."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node has left the fleet; attempts on it keep their entries until they end."""

    node_id: NodeId


@dataclass(frozen=True, slots=True)
class AgentIs:
    """An agent has appeared or is different now."""

    agent: Agent


@dataclass(frozen=True, slots=True)
class AgentGone:
    """An agent has left the fleet."""

    agent_id: AgentId


@dataclass(frozen=True, slots=True)
class TeamIs:
    """A team has appeared or is different now."""

    team: Team


@dataclass(frozen=True, slots=True)
class UsageFolded:
    """Decayed use has been brought up to date."""

    usage: Usage


PlanningChange: TypeAlias = (
    RunQueued
    | RunLeftQueue
    | AttemptHolds
    | AttemptEnded
    | NodeIs
    | NodeGone
    | AgentIs
    | AgentGone
    | TeamIs
    | UsageFolded
)


def changed(snapshot: Snapshot, changes: Iterable[PlanningChange]) -> Snapshot:
    """Return *snapshot* after *changes*, in order: what a planner that applied them stands for."""
    nodes = {node.node_id: node for node in snapshot.nodes}
    agents = {agent.agent_id: agent for agent in snapshot.agents}
    teams = {team.name: team for team in snapshot.teams}
    queued = {run.run_id: run for run in snapshot.queued}
    running = {attempt.run_id: attempt for attempt in snapshot.running}
    usage = snapshot.usage
    for change in changes:
        match change:
            case RunQueued(run):
                queued[run.run_id] = run
            case RunLeftQueue(run_id):
                queued.pop(run_id, None)
            case AttemptHolds(attempt):
                queued.pop(attempt.run_id, None)
                running[attempt.run_id] = attempt
            case AttemptEnded(run_id):
                running.pop(run_id, None)
            case NodeIs(node):
                nodes[node.node_id] = node
            case NodeGone(node_id):
                nodes.pop(node_id, None)
            case AgentIs(agent):
                agents[agent.agent_id] = agent
            case AgentGone(agent_id):
                agents.pop(agent_id, None)
            case TeamIs(team):
                teams[team.name] = team
            case UsageFolded(folded):
                usage = folded
    return replace(
        snapshot,
        nodes=tuple(nodes.values()),
        agents=tuple(agents.values()),
        teams=tuple(teams.values()),
        queued=tuple(queued.values()),
        running=tuple(running.values()),
        usage=usage,
    )

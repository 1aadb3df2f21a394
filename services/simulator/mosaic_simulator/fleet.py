"""The fleet a trace is played on: groups of equal nodes, and the teams that share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mosaic.ids import AgentId, GpuId, NodeId, TeamName, WorkerName
from mosaic.model.team import Quota, Team
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node
from mosaic_simulator.meters import Resources, total


@dataclass(frozen=True)
class NodeGroup:
    """Equal nodes; each has one agent for every worker of the group."""

    #: The nodes are called ``<name>-0001`` and so on; a group of one bears the name itself.
    name: str
    cpus: float
    memory_mb: int
    workers: tuple[WorkerName, ...]
    count: int = 1
    gpus: int = 0
    gpu_memory_mb: int = 40_960

    def node_ids(self) -> tuple[NodeId, ...]:
        """Return the names of the nodes."""
        if self.count == 1:
            return (NodeId(self.name),)
        return tuple(NodeId(f"{self.name}-{number:04d}") for number in range(1, self.count + 1))

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes, all healthy."""
        return tuple(self._node(node_id) for node_id in self.node_ids())

    def agents(self) -> tuple[Agent, ...]:
        """Return one agent for each worker on each node."""
        return tuple(
            Agent(AgentId(f"{node_id}.{worker}"), node_id, worker)
            for node_id in self.node_ids()
            for worker in self.workers
        )

    def _node(self, node_id: NodeId) -> Node:
        gpus = tuple(Gpu(GpuId(f"{node_id}.gpu{index}"), self.gpu_memory_mb) for index in range(self.gpus))
        return Node(node_id, self.cpus, self.memory_mb, gpus)


@dataclass(frozen=True)
class Fleet:
    """Everything a trace does not say: machines and tenants."""

    groups: tuple[NodeGroup, ...]
    teams: tuple[Team, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node."""
        return tuple(node for group in self.groups for node in group.nodes())

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """Every agent."""
        return tuple(agent for group in self.groups for agent in group.agents())

    @cached_property
    def gpu_count(self) -> int:
        """How many GPUs there are."""
        return sum(group.count * group.gpus for group in self.groups)

    @cached_property
    def capacity(self) -> Resources:
        """Cpus, memory and GPUs of all nodes together."""
        return total((g.count * g.cpus, float(g.count * g.memory_mb), float(g.count * g.gpus)) for g in self.groups)

    def without_borrowing(self, name: TeamName) -> Fleet:
        """Return the fleet with *name* held to its own quota."""
        teams = tuple(replace(team, borrowing_limit_gpus=0.0) if team.name == name else team for team in self.teams)
        return replace(self, teams=teams)


def even_fleet(nodes: int, teams: Sequence[TeamName], workers: Sequence[str]) -> Fleet:
    """Return *nodes* equal machines of eight GPUs, their quota divided evenly over *teams*."""
    group = NodeGroup(
        name="node",
        count=nodes,
        cpus=64.0,
        memory_mb=524_288,
        gpus=8,
        workers=tuple(WorkerName(worker) for worker in workers),
    )
    gpus_each = nodes * group.gpus / len(teams)
    return Fleet((group,), tuple(Team(team, quota=Quota(gpus=gpus_each)) for team in teams))

"""The nodes, indexed so that a round looks only at those that matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from mosaic.ids import AgentId, NodeId, RunId, TeamName, WorkerName
from mosaic.lifecycle import AttemptState
from mosaic.model.run import Priority
from mosaic_scheduler.domain.amount import GPU, RESOURCES
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import could_ever_fit, fits
from mosaic_scheduler.domain.packing import tightness, wastes_nothing
from mosaic_scheduler.domain.run import RunningAttempt
from mosaic_scheduler.domain.snapshot import Agent, Node
from mosaic_scheduler.domain.space import WHOLE, Holding, NodeSpace


class Fleet:
    """Every node with its agents and what is held on it.

    Two indexes keep a round cheap. Open nodes lie on shelves by the GPU room they have. And
    for a demand that fitted nowhere it is remembered up to which entry of `_freed`, the list of nodes
    that have since got room, that was true: the next search need only look at the entries after it.
    """

    def __init__(self) -> None:
        self.spaces: dict[NodeId, NodeSpace] = {}
        self.agents_of: dict[WorkerName, dict[AgentId, Agent]] = {}
        #: What all healthy nodes hold together.
        self.capacity = [0, 0, 0]
        self.attempts_on: dict[NodeId, dict[RunId, RunningAttempt]] = {}
        #: Attempts that have been asked to stop.
        self.leaving: dict[RunId, RunningAttempt] = {}
        #: Attempts whose resume is proven, by team and class: those that may be asked to leave.
        self.resumable_of: dict[tuple[TeamName, Priority], dict[RunId, RunningAttempt]] = {}
        self._agents: dict[AgentId, Agent] = {}
        self._agents_on: dict[NodeId, dict[AgentId, Agent]] = {}
        self._holdings: dict[RunId, Holding] = {}
        self._shelves: dict[int, dict[NodeId, NodeSpace]] = {}
        self._freed: list[NodeId] = []
        self._fitted_nowhere: dict[Demand, int] = {}
        self._holders: dict[Demand, NodeId] = {}

    def put_node(self, node: Node) -> None:
        """Add *node*, or replace what was known of it; what runs there stays booked."""
        self.drop_node(node.node_id)
        agents = self._agents_on.get(node.node_id, {}).values()
        holdings = (self._holdings[run_id] for run_id in self.attempts_on.get(node.node_id, ()))
        space = NodeSpace(node, agents, holdings)
        self.spaces[node.node_id] = space
        self._count_capacity(space, 1)
        self._shelve(space)
        self._freed.append(node.node_id)

    def drop_node(self, node_id: NodeId) -> None:
        """Forget a node; attempts on it stay known until they end."""
        space = self.spaces.pop(node_id, None)
        if space is not None:
            self._count_capacity(space, -1)
            self._unshelve(space, space.gpu_room)
            self._holders.clear()

    def put_agent(self, agent: Agent) -> None:
        """Add *agent*, or replace what was known of it."""
        self.drop_agent(agent.agent_id)
        self._agents[agent.agent_id] = agent
        self.agents_of.setdefault(agent.worker, {})[agent.agent_id] = agent
        self._agents_on.setdefault(agent.node_id, {})[agent.agent_id] = agent
        self._renew(agent.node_id)

    def drop_agent(self, agent_id: AgentId) -> None:
        """Forget an agent."""
        agent = self._agents.pop(agent_id, None)
        if agent is not None:
            del self.agents_of[agent.worker][agent_id]
            del self._agents_on[agent.node_id][agent_id]
            self._renew(agent.node_id)

    def load(self, nodes: Iterable[Node], agents: Iterable[Agent], attempts: Iterable[RunningAttempt]) -> None:
        """Fill an empty fleet at once."""
        for agent in agents:
            self._agents[agent.agent_id] = agent
            self.agents_of.setdefault(agent.worker, {})[agent.agent_id] = agent
            self._agents_on.setdefault(agent.node_id, {})[agent.agent_id] = agent
        for attempt in attempts:
            self._holdings[attempt.run_id] = Holding.of(attempt)
            self._index(attempt)
        for node in nodes:
            self.put_node(node)

    def put_attempt(self, attempt: RunningAttempt) -> Holding:
        """Book what *attempt* holds and return it."""
        holding = self._holdings[attempt.run_id] = Holding.of(attempt)
        self._index(attempt)
        self.take(attempt.node_id, holding)
        return holding

    def drop_attempt(self, attempt: RunningAttempt) -> Holding:
        """Free what *attempt* holds and return it."""
        holding = self._holdings.pop(attempt.run_id)
        del self.attempts_on[attempt.node_id][attempt.run_id]
        self.leaving.pop(attempt.run_id, None)
        self.resumable_of.get((attempt.team, attempt.priority), {}).pop(attempt.run_id, None)
        self.give_back(attempt.node_id, holding)
        return holding

    def holding_of(self, run_id: RunId) -> Holding:
        """Return what the attempt of a run holds."""
        return self._holdings[run_id]

    def leaving_on(self, node_id: NodeId) -> int:
        """Count the attempts that have been asked to leave a node and still hold something there."""
        return sum(attempt.is_leaving for attempt in self.attempts_on.get(node_id, {}).values())

    def take(self, node_id: NodeId, holding: Holding) -> None:
        """Book *holding* on a node; on a node that is gone there is nothing to book."""
        space = self.spaces.get(node_id)
        if space is not None:
            before = space.gpu_room
            space.take(holding)
            self._move(space, before)

    def give_back(self, node_id: NodeId, holding: Holding) -> None:
        """Undo `take`."""
        space = self.spaces.get(node_id)
        if space is not None:
            before = space.gpu_room
            space.give_back(holding)
            self._move(space, before)
            self._freed.append(node_id)

    def candidates(self, demand: Demand) -> Iterator[NodeSpace]:
        """Iterate over the nodes on which *demand* fits, in the order in which to fill them.

        Which nodes are looked at is settled by the call; they are put in order shelf by shelf, as
        far as the caller goes.
        """
        since = self._fitted_nowhere.get(demand)
        shelves = self._shelves_for(demand) if since is None else [self._freed_since(since)]
        in_order = _in_filling_order(shelves, demand)
        first = next(in_order, None)
        if first is None:
            self._fitted_nowhere[demand] = len(self._freed)
            return iter(())
        self._fitted_nowhere.pop(demand, None)
        return chain((first,), in_order)

    def with_gpu_room(self, at_least: int = 0) -> Iterator[NodeSpace]:
        """Iterate over the open nodes with that much room on GPUs or more, those with most first."""
        for room in sorted(self._shelves, reverse=True):
            if room < at_least:
                break
            yield from self._shelves[room].values()

    def could_hold(self, demand: Demand) -> bool:
        """Tell whether some open node could hold *demand* when empty."""
        known = self.spaces.get(self._holders.get(demand, NodeId("")))
        if known is not None and could_ever_fit(known, demand):
            return True
        holder = next((space for space in self.spaces.values() if could_ever_fit(space, demand)), None)
        if holder is not None:
            self._holders[demand] = holder.node_id
        return holder is not None

    def forget_old_frees(self) -> None:
        """Keep the list of freed nodes short; the next search of each demand looks at all nodes."""
        if len(self._freed) > 4 * len(self.spaces) + 1000:
            self._freed.clear()
            self._fitted_nowhere.clear()

    def _index(self, attempt: RunningAttempt) -> None:
        self.attempts_on.setdefault(attempt.node_id, {})[attempt.run_id] = attempt
        if attempt.state is AttemptState.STOPPING:
            self.leaving[attempt.run_id] = attempt
        elif attempt.resume_grade is not None and attempt.resume_grade.is_proven:
            self.resumable_of.setdefault((attempt.team, attempt.priority), {})[attempt.run_id] = attempt

    def _freed_since(self, since: int) -> list[NodeSpace]:
        fresh = dict.fromkeys(self._freed[since:])
        spaces = (self.spaces.get(node_id) for node_id in fresh)
        return [space for space in spaces if space is not None and space.is_open]

    def _shelves_for(self, demand: Demand) -> list[list[NodeSpace]]:
        """Return the nodes with room for *demand*: those it wastes nothing on, then by whole GPUs, fewest first."""
        by_whole_gpus: dict[int, list[NodeSpace]] = {}
        for room in sorted(self._shelves):
            if room >= demand.amount[GPU]:
                by_whole_gpus.setdefault(room // WHOLE, []).extend(self._shelves[room].values())
        shelves = list(by_whole_gpus.values())
        if demand.gpus:
            return shelves
        return [[space for shelf in shelves for space in shelf if wastes_nothing(space, demand)], *shelves]

    def _renew(self, node_id: NodeId) -> None:
        space = self.spaces.get(node_id)
        if space is not None:
            self.put_node(space.node)

    def _count_capacity(self, space: NodeSpace, sign: int) -> None:
        if space.node.healthy:
            for resource, amount in zip(RESOURCES, space.capacity(), strict=True):
                self.capacity[resource] += sign * amount

    def _move(self, space: NodeSpace, before: int) -> None:
        if space.gpu_room != before:
            self._unshelve(space, before)
            self._shelve(space)

    def _shelve(self, space: NodeSpace) -> None:
        if space.is_open:
            self._shelves.setdefault(space.gpu_room, {})[space.node_id] = space

    def _unshelve(self, space: NodeSpace, gpu_room: int) -> None:
        if space.is_open:
            shelf = self._shelves[gpu_room]
            del shelf[space.node_id]
            if not shelf:
                del self._shelves[gpu_room]


def _in_filling_order(shelves: Iterable[list[NodeSpace]], demand: Demand) -> Iterator[NodeSpace]:
    seen: set[NodeId] = set()
    for shelf in shelves:
        fitting = [space for space in shelf if space.node_id not in seen and fits(space, demand)]
        fitting.sort(key=lambda space: tightness(space, demand))
        seen.update(space.node_id for space in fitting)
        yield from fitting

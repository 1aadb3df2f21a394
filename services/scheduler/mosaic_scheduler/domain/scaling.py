"""How many more machines would find work: what an autoscaler asks of the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic_scheduler.domain.changes import AgentIs, NodeIs, PlanningChange
from mosaic_scheduler.domain.enactment import changes_of
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.reasons import ReasonCode
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node, Snapshot

#: What no machine changes: it is not its time yet, nobody may run it, or others are leaving for it already.
#: Quotas are not among them, because what a team may borrow grows with the fleet; the second plan decides.
_WAITS_FOR_SOMETHING_ELSE = frozenset(
    {
        ReasonCode.NOT_BEFORE,
        ReasonCode.TEAM_UNKNOWN,
        ReasonCode.MAKING_ROOM,
    }
)

#: Of each worker: more machines than any autoscaler adds at a time; it asks again soon.
_IMAGINED_AT_MOST = 500
#: No node id begins so: an id starts with a letter or a digit.
_PREFIX = "?"


def runs_that_would_fit(
    snapshot: Snapshot, machines: Mapping[WorkerName, Node], *, now: datetime
) -> Counter[WorkerName]:
    """Count, by worker, the queued runs that would start if there were more machines like *machines*.

    The next round is planned with one empty machine more for every run that could use one: a run
    counts when it starts on one of those. So quotas, caps and gangs weigh as they do in any round, and
    a run larger than the machine of its worker does not count. For a worker of which no machine is
    known, one is imagined that is just large enough.
    """
    planner = Planner(snapshot)
    decided = planner.plan(now)
    waiting = decided.waiting.items()
    able = [planner.queued[run_id] for run_id, why in waiting if why.code not in _WAITS_FOR_SOMETHING_ELSE]
    planner.apply(changes_of(decided, queued=planner.queued, running=planner.running, now=now))
    planner.apply(_imagined(_some_of_each(able), machines))
    worker_of = {run.run_id: run.worker for run in able}
    starts = (start for start in planner.plan(now).admissions if start.node_id.startswith(_PREFIX))
    return Counter(worker_of[start.run_id] for start in starts if start.run_id in worker_of)


def last_machines(
    before: Mapping[WorkerName, Node], nodes: Mapping[str, Node], agents: Iterable[Agent]
) -> dict[WorkerName, Node]:
    """Return the largest machine of each worker; of one that has none at the moment, the one from *before*."""
    standing: dict[WorkerName, Node] = {}
    for agent in agents:
        node = nodes.get(agent.node_id)
        if node is not None and _size(node) > _size(standing.get(agent.worker)):
            standing[agent.worker] = node
    return {**before, **standing}


def _some_of_each(runs: Iterable[QueuedRun]) -> Iterator[QueuedRun]:
    taken: Counter[WorkerName] = Counter()
    for run in runs:
        taken[run.worker] += 1
        if taken[run.worker] <= _IMAGINED_AT_MOST:
            yield run


def _imagined(runs: Iterable[QueuedRun], machines: Mapping[WorkerName, Node]) -> Iterator[PlanningChange]:
    for number, run in enumerate(runs):
        node_id = NodeId(f"{_PREFIX}{number}")
        yield NodeIs(_like(machines.get(run.worker) or _just_large_enough(run), node_id))
        agent_id = AgentId(f"{_PREFIX}{number}")
        yield AgentIs(Agent(agent_id, node_id, run.worker, slots=1))


def _like(machine: Node, node_id: NodeId) -> Node:
    gpus = (Gpu(GpuId(f"{node_id}-{index}"), gpu.memory_mb) for index, gpu in enumerate(machine.gpus))
    return replace(machine, node_id=node_id, gpus=tuple(gpus), healthy=True, draining=False)


def _just_large_enough(run: QueuedRun) -> Node:
    needs = run.resources
    count = needs.gpus or (1 if needs.gpu_fraction else 0)
    gpus = tuple(Gpu(GpuId(str(index)), needs.gpu_memory_mb) for index in range(count))
    return Node(NodeId(_PREFIX), needs.cpus, needs.memory_mb, gpus)


def _size(node: Node | None) -> tuple[int, float, int]:
    return (len(node.gpus), node.cpus, node.memory_mb) if node else (-1, 0.0, 0)

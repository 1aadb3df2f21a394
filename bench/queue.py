"""A thousand tiny runs queued at once: how fast they are dispatched until every slot is taken.

The runs are submitted while the only node is drained, so the whole queue is there when dispatching starts. Each
run asks for next to nothing and the node has a slot for every one of them; they sleep after they have claimed
their place, so that what is measured is dispatching and not the workers' own start. Dispatched means claimed by
the agent. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time

from bench.platforms import stack
from mosaic.client import Mosaic, Resources, Submission
from mosaic.lifecycle import RunState
from tests.stack.environment import WORKER

_SLOTS = 200


def queue_up(fleet: Mosaic, count: int) -> float:
    """Submit *count* runs, hundred seeds at a time, and return the seconds it took."""
    began = time.monotonic()
    for first in range(0, count, 100):
        seeds = tuple(range(first, min(first + 100, count)))
        fleet.submit(Submission(WORKER, {"episodes": 1, "steps": 1}, seeds=seeds, resources=Resources(0.001, 1)))
    return time.monotonic() - began


def dispatched(fleet: Mosaic) -> int:
    """Return how many runs have left the queue."""
    waiting = fleet.runs(states=[RunState.QUEUED], limit=10_000)
    return len(fleet.runs(limit=10_000)) - len(waiting)


def main() -> None:
    """Queue, open the gate, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    count = parser.parse_args().runs
    with stack(slots=_SLOTS) as running:
        fleet = running.mosaic
        (agent,) = running.agent_names
        fleet.drain(node_id=agent)
        submit_s = queue_up(fleet, count)
        print(f"{count} runs queued in {submit_s:.2f} s ({count / submit_s:.0f} runs/s accepted)")
        fleet.drain(node_id=agent, draining=False)
        opened = time.monotonic()
        target = min(count, _SLOTS)
        while dispatched(fleet) < target:
            time.sleep(0.02)
        seconds = time.monotonic() - opened
        print(f"{target} runs dispatched in {seconds:.2f} s, until every slot was taken")
    print(json.dumps({"runs_per_s": round(target / seconds, 1), "accepted_per_s": round(count / submit_s, 1)}))


if __name__ == "__main__":
    main()

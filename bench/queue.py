"""A thousand tiny runs queued at once: how fast they are dispatched until every slot is taken.

The runs are submitted while the only node is drained, so the whole queue is there when dispatching starts. A run is
dispatched when it has its slot and its agent has been told; how fast agents then claim, which on a small machine is
how fast it can start Python processes, is printed beside it. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time

from bench.platforms import stack
from mosaic.client import Mosaic, Resources
from mosaic.lifecycle import RunState
from tests.stack.environment import WORKER

_SLOTS = 200
#: Seldom, because listing a thousand runs costs the scheduler something too.
_LOOK_S = 0.2
_LOOK_AGAIN_S = 1.0


def queue_up(fleet: Mosaic, count: int) -> float:
    """Submit *count* runs, hundred seeds at a time, and return the seconds it took."""
    began = time.monotonic()
    for first in range(0, count, 100):
        seeds = tuple(range(first, min(first + 100, count)))
        fleet.submit(WORKER, {"episodes": 1, "steps": 1}, seeds=seeds, resources=Resources(0.001, 1))
    return time.monotonic() - began


def claim_times(fleet: Mosaic, wanted: int) -> list[float]:
    """Return when each of the first *wanted* claims came, once there are so many."""
    while True:
        time.sleep(_LOOK_AGAIN_S)
        left = [run.run_id for run in fleet.runs(limit=10_000) if run.state is not RunState.QUEUED]
        if len(left) >= wanted:
            claims = [fleet.run(run_id).attempts[0].claimed_at for run_id in left]
            times = sorted(claim.timestamp() for claim in claims if claim is not None)
            if len(times) >= wanted:
                return times[:wanted]


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
        opened = time.time()
        target = min(count, _SLOTS)
        while len(fleet.runs(states=[RunState.QUEUED], limit=10_000)) > count - target:
            time.sleep(_LOOK_S)
        seconds = time.time() - opened
        claimed_s = claim_times(fleet, target)[-1] - opened
        print(f"{target} runs dispatched in {seconds:.2f} s, until every slot was taken")
        print(f"{target} runs claimed in {claimed_s:.2f} s, their processes starting all the while")
    result = {
        "runs_per_s": round(target / seconds, 1),
        "claimed_per_s": round(target / claimed_s, 1),
        "accepted_per_s": round(count / submit_s, 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""Writes down what each episode of PettingZoo's MPE really paid; put on ``PYTHONPATH`` as ``sitecustomize``.

Each line of ``paid.jsonl`` in the run directory is one finished episode: the sum of the rewards of each agent.
"""

from __future__ import annotations

import json
import os

from pettingzoo.utils.conversions import aec_to_parallel_wrapper as Parallel

_step, _reset = Parallel.step, Parallel.reset


def _recording_reset(self, *args, **named):  # type: ignore[no-untyped-def]
    self.paid = dict.fromkeys(self.possible_agents, 0.0)
    return _reset(self, *args, **named)


def _recording_step(self, actions):  # type: ignore[no-untyped-def]
    answer = _step(self, actions)
    _observations, rewards, terminated, truncated, _infos = answer
    for agent, reward in rewards.items():
        self.paid[agent] += float(reward)
    if all(terminated[agent] or truncated[agent] for agent in self.paid):
        with open(os.path.join(os.environ["MOSAIC_RUN_DIR"], "paid.jsonl"), "a") as rows:
            rows.write(json.dumps(self.paid) + "\n")
    return answer


Parallel.step, Parallel.reset = _recording_step, _recording_reset  # type: ignore[method-assign]

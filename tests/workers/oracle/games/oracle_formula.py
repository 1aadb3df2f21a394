"""What every episode of the toy environments pays, in closed form. Standard library only: workers and tests read it.

Actions change nothing. A training episode is known by its number in its environment, an evaluation episode by the
place of its seed among the evaluation seeds and by how often this process has played that seed before. What an
episode pays also tells the attempt that ended it, so that whatever is counted twice or in the wrong place shows.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Mapping

AGENTS = ("agent_0", "agent_1", "agent_2")

#: The seeds of evaluation episodes, comma-separated, told to the environments by the submission.
EVALUATION_SEEDS = "MOSAIC_ENV_EVALUATION_SEEDS"
#: The first attempt ends with SIGKILL when its environment begins the training episode of this number.
KILLED_IN = "MOSAIC_ENV_KILLED_IN"

#: A worker's lines wait a second at most for the next ones; whoever is killed later has said everything.
_LINES_WAIT_S = 2.0
#: How often this process has played each evaluation seed.
_turns: Counter[int] = Counter()


def length(number: int) -> int:
    """Return how many steps an episode takes: 3 to 7, 25 in five."""
    return 3 + number % 5


def training_return(number: int, attempt: int = 1) -> float:
    """Return what a training episode pays: more and more up to number 80, then less; 200 less in each attempt."""
    return 80 - abs(number - 80) + number % 7 / 8 - 200 * (attempt - 1)


def evaluation_return(place: int, turn: int, attempt: int = 1) -> float:
    """Return what an evaluation episode pays: more than any of training, and more each time a seed is played."""
    return 500 + 2 * place + 32 * turn - 200.0 * (attempt - 1)


def shares(whole: float) -> dict[str, float]:
    """Return what each agent of a team gets of *whole*; the first gets more than all together."""
    return dict(zip(AGENTS, (whole + 70, 2 * whole - 5, -2 * whole - 65), strict=True))


class Game:
    """The episodes of one environment, one after the other; plain values, which any checkpoint can hold."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        #: Training episodes that have ended.
        self.ended = 0
        self._seeds = [int(seed) for seed in variables.get(EVALUATION_SEEDS, "").split(",") if seed]
        self._killed_in = int(variables.get(KILLED_IN, "-1"))
        #: The place of its seed, while evaluation episodes are played.
        self._place: int | None = None
        self._steps = 0

    def begin(self, seed: int | None) -> None:
        """Begin an episode; without a *seed* it is of the same kind as the last."""
        self._steps = 0
        if seed is not None:
            self._place = self._seeds.index(seed) if seed in self._seeds else None

    def advance(self) -> tuple[float, float, bool]:
        """Return what this step and the whole episode pay, and whether that was the last step.

        Every step but the last pays 1, so that whoever loses a part of an episode loses a part of its return.
        """
        attempt = int(os.environ.get("MOSAIC_ATTEMPT", "1"))
        if self._place is None and self.ended == self._killed_in and attempt == 1:
            time.sleep(_LINES_WAIT_S)
            os.kill(os.getpid(), signal.SIGKILL)
        self._steps += 1
        number = self.ended if self._place is None else self._place
        if self._steps < length(number):
            return 1.0, 0.0, False
        return self._end(attempt, number)

    def _end(self, attempt: int, number: int) -> tuple[float, float, bool]:
        if self._place is None:
            self.ended += 1
            whole = training_return(number, attempt)
        else:
            whole = evaluation_return(number, _turns[number], attempt)
            _turns[number] += 1
        return whole - (length(number) - 1), whole, True

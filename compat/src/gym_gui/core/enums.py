"""How the agents of an environment take their steps."""

from __future__ import annotations

from enum import Enum


class SteppingParadigm(str, Enum):
    """Whose turn it is."""

    SINGLE_AGENT = "single_agent"
    SEQUENTIAL = "sequential"  #: one after the other, as in PettingZoo AEC
    SIMULTANEOUS = "simultaneous"  #: all at once, as in PettingZoo Parallel and RLlib
    HIERARCHICAL = "hierarchical"  #: goals above, actions below

    def __str__(self) -> str:
        return self.value

"""What an episode is: the one place that sorts them. `docs/reference/numbers.md` says the same in a table.

Standard library only, so that everything that shows a number can ask it.
"""

from __future__ import annotations

from collections.abc import Mapping

#: An episode of the run: of its only agent, or the sum over a team.
TRAINING = "training"
#: One agent's share of a team's episode.
AGENT = "agent"
#: An episode played to judge what was learned: of the only agent, or the sum over a team.
EVALUATION = "evaluation"
#: One agent's share of a team's evaluation episode.
EVALUATION_AGENT = "evaluation_agent"

EPISODE_KINDS = (TRAINING, AGENT, EVALUATION, EVALUATION_AGENT)

#: What the returns of a run are of, when it only ever told of several single agents.
OF_AGENTS = "agents"
OF_TRAINING = "training"

#: Under this agent workers told of evaluations before there was a field for it.
_EVALUATING_AGENT = "evaluation"


def kind_of(agent: str | None, evaluation: bool | None) -> str:
    """Return the kind of an episode from what its line says."""
    if evaluation:
        return EVALUATION_AGENT if agent else EVALUATION
    return AGENT if agent else TRAINING


def settled(agent: str | None, evaluation: bool | None) -> tuple[str | None, bool | None]:
    """Return agent and evaluation as they are meant, given what a line of any age says."""
    if agent == _EVALUATING_AGENT and evaluation is None:
        return None, True
    return agent, evaluation


def headline_kind(counts: Mapping[str, int]) -> str:
    """Return the kind whose episodes are the run's own, given how many there are of each.

    They are those of training; a run that only ever names agents is judged by its agents' episodes.
    """
    return AGENT if counts.get(AGENT) and not counts.get(TRAINING) else TRAINING


def evaluation_kind(counts: Mapping[str, int]) -> str:
    """Return the kind whose episodes are the run's evaluation, by the same rule."""
    return EVALUATION_AGENT if counts.get(EVALUATION_AGENT) and not counts.get(EVALUATION) else EVALUATION


def returns_of(kind: str, agents: int) -> str:
    """Return what a headline over episodes of *kind* is of; the only one of *agents* is the run itself."""
    return OF_AGENTS if kind == AGENT and agents > 1 else OF_TRAINING

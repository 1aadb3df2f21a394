"""Runs grouped by their settings: the seeds of one group are one arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mosaic.comparison.facts import Facts
from mosaic.comparison.members import Member
from mosaic.comparison.settings import Settings, shown
from mosaic.errors import BadInput, did_you_mean
from mosaic.statistics import Band, Estimate, Profile
from mosaic.statistics.scores import Floats


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one arm, before anything is known of what they came to."""

    label: str
    #: What tells it from the other arms.
    settings: Mapping[str, str]
    runs: tuple[Facts, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """What one group of settings came to over its seeds."""

    label: str
    settings: Mapping[str, str]
    members: tuple[Member, ...]
    #: Seeds that arms beside it have and it has not.
    missing_seeds: tuple[int, ...]
    #: Settings in which its own runs differ, besides the seed.
    mixes: tuple[str, ...]
    #: The interquartile mean of the scores that count.
    score: Estimate
    #: How likely a run of it is better than one of the baseline; None for the baseline itself.
    better: Estimate | None
    #: The learning curve, over all runs as far as each got.
    curve: Band
    #: The curves of the runs behind it, on its steps, in the order of those members that are in the curve.
    traces: Floats
    #: Which part of the runs that count is above each score.
    profile: Profile

    @property
    def counted(self) -> list[Member]:
        """The runs that count."""
        return [member for member in self.members if member.score is not None]


def grouped(runs: Sequence[Facts], settings: Settings, by: Sequence[str]) -> list[Group]:
    """Return the arms of *runs* in the order of their first ones: by the settings *by*, else by all but the seed."""
    found: dict[object, list[Facts]] = {}
    for run in runs:
        key = tuple(shown(settings.value(run, name)) for name in by) if by else run.config_digest
        found.setdefault(key, []).append(run)
    for members in found.values():
        members.sort(key=lambda run: (run.seed is None, run.seed, run.run_id))
    firsts = [members[0] for members in found.values()]
    names = list(by) or settings.differing(firsts)
    told = [{name: shown(settings.value(run, name)) for name in names} for run in firsts]
    labels = _labels(list(found.values()), told, is_asked=bool(by))
    return [Group(*one) for one in zip(labels, told, map(tuple, found.values()), strict=True)]


def find(groups: Sequence[Group], wanted: str) -> int:
    """Return which of *groups* people mean by its label, by ``SETTING=VALUE``, or by one of its runs; else the first.

    Raises:
        BadInput: none of them, or several.
    """
    if not wanted:
        return 0
    found = [place for place, group in enumerate(groups) if _is_meant(group, wanted)]
    if len(found) == 1:
        return found[0]
    labels = [group.label for group in groups]
    fault = f"{wanted!r} could be several arms" if found else f"{wanted!r} is no arm{did_you_mean(wanted, labels)}"
    raise BadInput("--baseline", [f"{fault} ({'; '.join(labels)})"])


def missing_seeds(groups: Sequence[Group]) -> list[tuple[int, ...]]:
    """Return for each of *groups* the seeds that it lacks beside arms with which it shares any."""
    seeds = [{run.seed for run in group.runs if run.seed is not None} for group in groups]
    # Where seeds were drawn, no two arms share one, and none is missing.
    return [tuple(sorted(set().union(*(other for other in seeds if other & own)) - own)) for own in seeds]


def _labels(members: Sequence[Sequence[Facts]], told: Sequence[Mapping[str, str]], *, is_asked: bool) -> list[str]:
    names = [{run.name for run in runs} for runs in members]
    bears_one = all(len(own) == 1 and "" not in own for own in names) and len(set().union(*names)) == len(names)
    if bears_one and not is_asked:
        return [own.copy().pop() for own in names]
    labels = [", ".join(f"{name}={value}" for name, value in one.items()) or runs[0].worker
              for one, runs in zip(told, members, strict=True)]  # fmt: skip
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({runs[0].config_digest[:6]})" for label, runs in zip(labels, members, strict=True)]


def _is_meant(group: Group, wanted: str) -> bool:
    name, _, value = wanted.partition("=")
    if wanted == group.label or (value and group.settings.get(name) == value):
        return True
    return any(wanted == run.name or run.run_id.startswith(wanted) or run.run_id.endswith(wanted) for run in group.runs)

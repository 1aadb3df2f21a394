"""Which of many runs are to be compared."""

from __future__ import annotations

from collections.abc import Collection

from mosaic.client import Run
from mosaic.comparison.facts import facts_of
from mosaic.comparison.settings import Settings, shown
from mosaic.comparison.source import Source
from mosaic.errors import BadInput, did_you_mean


def of_name(runs: Collection[Run], prefix: str) -> list[Run]:
    """Return those of *runs* whose name begins with *prefix*."""
    return [run for run in runs if facts_of(run).name.startswith(prefix)]


def of_environment(platform: Source, runs: Collection[Run], env: str) -> list[Run]:
    """Return those of *runs* that play *env*.

    Raises:
        BadInput: none does; it lists what they play.
    """
    facts = [facts_of(run) for run in runs]
    settings = Settings(platform, facts)
    played = [shown(settings.value(one, "env")) for one in facts]
    found = [run for run, own in zip(runs, played, strict=True) if own == env]
    if not found:
        raise BadInput("--env", [f"no run plays {env!r}{did_you_mean(env, played)} ({', '.join(sorted(set(played)))})"])
    return found

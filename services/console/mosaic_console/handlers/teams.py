"""The terms of teams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mosaic.errors import BadInput, did_you_mean
from mosaic.model.team import Team
from mosaic_console.ports import Platform

#: Term -> whether it is a whole number. Those of a quota, the others of `mosaic.model.team.Team`, and a time.
TERMS = {
    "weight": False,
    "gpus": False,
    "cpus": False,
    "memory_mb": True,
    "lending_limit_gpus": False,
    "borrowing_limit_gpus": False,
    "max_running": True,
    "max_queued": True,
    "max_running_per_user": True,
    "max_queued_per_user": True,
    "max_gpus_per_user": False,
    "max_wall_s": False,
}
_LARGEST = 2**31 - 1
_SPAN = "max_wall"


def set_team(platform: Platform, name: str, body: Mapping[str, Any]) -> Team:
    """Set up the team of that name, or change those of its terms that *body* gives; null lifts a limit.

    Raises:
        BadInput: lists every term that is not known or makes no sense.
    """
    faults = [f"{term!r} is no term of a team{did_you_mean(term, TERMS)}" for term in body if term not in TERMS]
    faults += [f"{term} {fault}" for term in TERMS if term in body and (fault := _fault(term, body[term]))]
    if faults:
        raise BadInput("team", faults)
    return platform.set_team(name, dict(_term(term, value) for term, value in body.items()))


def _fault(term: str, value: Any) -> str:
    if value is None and term != "weight":
        return ""
    if isinstance(value, bool) or not isinstance(value, int if TERMS[term] else (int, float)):
        return f"must be a {'whole ' if TERMS[term] else ''}number, not {value!r:.40}"
    return "" if math.isfinite(value) and abs(value) <= _LARGEST else "is out of range"


def _term(term: str, value: Any) -> tuple[str, Any]:
    if term != f"{_SPAN}_s":
        return term, value
    return _SPAN, None if value is None else timedelta(seconds=value)

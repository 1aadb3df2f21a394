"""A submission out of what a program sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from mosaic.client import Resources, Run, RunSpec
from mosaic.client.checks import faults_of
from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import UserName
from mosaic.model.identity import Caller
from mosaic_console.ports import Platform

#: Limits of time, which are told in seconds.
_SPANS = ("max_wall", "hang_limit")
#: Key of a body -> field of the spec.
_FIELDS = {f"{field.name}_s" if field.name in _SPANS else field.name: field.name for field in fields(RunSpec)}
KEYS = (*_FIELDS, "seeds")
_NEEDS = tuple(field.name for field in fields(Resources))


def submit(platform: Platform, caller: Caller, body: Mapping[str, Any], *, key: str = "") -> list[Run]:
    """Submit for *caller* and return the runs, one for each seed; the same *key* again returns the same runs.

    Raises:
        BadInput: lists everything that is wrong with it.
    """
    asked, seeds = read_submission(body, caller, key=key)
    return platform.submit(asked, seeds=seeds, idempotency_key=key)


def predict(platform: Platform, caller: Caller, body: Mapping[str, Any], *, key: str = "") -> list[str]:
    """Return what `submit` would lead to, in sentences.

    Raises:
        BadInput: lists everything that is wrong with it.
    """
    asked, seeds = read_submission(body, caller, key=key)
    return platform.predict(asked, seeds=seeds, idempotency_key=key)


def read_submission(body: Mapping[str, Any], caller: Caller, *, key: str = "") -> tuple[RunSpec, Sequence[int]]:
    """Return what *body* asks for in the name of *caller*, and for which seeds.

    Raises:
        BadInput: lists every key that is not known and every value that cannot be one.
    """
    faults = _unknown(body, KEYS, "")
    values = {field: body[name] for name, field in _FIELDS.items() if body.get(name) is not None}
    needs, seeds = values.pop("resources", {}), body.get("seeds") or ()
    values["not_before"] = _moment(values.get("not_before"))
    # Who asks is told by the credential; a submission made from another may still name whose that was.
    if values.pop("user", "") not in ("", caller.user):
        faults.append(f"user: you are {caller.user}, and submit for nobody else; leave it out")
    asked = RunSpec(**values, user=UserName(caller.user))
    if isinstance(needs, Mapping):
        faults += _unknown(needs, _NEEDS, " of resources")
        asked = replace(asked, resources=Resources(**{name: needs[name] for name in _NEEDS if name in needs}))
    else:
        faults.append("resources must hold keys and values")
    faults += faults_of(asked, seeds=seeds, idempotency_key=key)
    if faults:
        raise BadInput("submission", faults)
    return asked, seeds


def _unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> list[str]:
    return [f"key {key!r}{where} is not known{did_you_mean(key, known)}" for key in given if key not in known]


def _moment(value: Any) -> Any:
    """Return the time that *value* says, or the value itself for whoever lists the faults."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value

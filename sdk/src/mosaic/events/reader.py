"""One line of a stream to an event, a log line or a named violation. Nothing here raises."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import ValidationError

from mosaic.events.decode import decode_object
from mosaic.events.envelope import Event
from mosaic.events.kinds import AGENT_KINDS, CANON, EVENT, KIND_KEYS, KINDS, kind_of
from mosaic.events.text import LogLine, read_object, read_text
from mosaic.events.tolerant import LABEL_CHARS, Fields, as_text, take_time

#: How much of a broken line is shown with its violation.
RAW_CHARS = 2_000

_KIND = re.compile(r"[a-z][a-z0-9_.:-]{0,63}\Z")
_CLAIM = re.compile(rf'\s*\{{\s*"(?:{"|".join(KIND_KEYS)})"\s*:\s*"([A-Za-z_]{{1,64}})"'.encode())


@dataclass(frozen=True, slots=True)
class Violation:
    """A line that claims to be an event and is not one."""

    kind: str  #: what it claims to be
    reason: str  #: every fault found
    text: str  #: how the line begins


#: All that a line can be.
Reading = Event | LogLine | Violation


def read_line(line: bytes, *, run_id: str | None = None) -> Reading:
    """Return what *line* is, whatever its bytes; never raises, in time linear in its length.

    A JSON object whose ``event``, ``type`` or ``event_type`` is a word is an event: of that kind
    if we know it (and a violation if it then lacks what the kind needs), else `Custom`. All else is
    log text. *run_id* is used where the line names no run.
    """
    record = decode_object(line)
    if record is None:
        return _torn_event(line) or read_text(line)
    kind = _take_kind(record)
    if kind is None:
        return read_object(record, line)
    # An agent looks for these bytes in what its worker prints: no other spelling may pass for its own words.
    if kind in AGENT_KINDS and f'"{kind}"'.encode() not in line:
        return Violation(kind, "only the agent says this, in plain letters", _beginning(line))
    reading = _read_event(kind, record, run_id)
    return reading if not isinstance(reading, str) else Violation(kind, reading, _beginning(line))


def _take_kind(record: Fields) -> str | None:
    for key in KIND_KEYS:
        name = record.get(key)
        if isinstance(name, str):
            kind = kind_of(name)
            if not _KIND.match(kind):
                return None
            del record[key]
            return kind
    return None


def _read_event(kind: str, record: Fields, run_id: str | None) -> Event | str:
    """Return the event, or the sentence that says why there is none."""
    envelope = _take_envelope(record, run_id)
    if kind not in KINDS or kind == "custom":
        return _custom(kind, record, envelope)
    payload = record.pop("payload", None)
    if payload is not None and not isinstance(payload, dict):
        return f"payload is {type(payload).__name__}, not an object"
    fields = {**record, **payload} if payload else record
    faults = CANON[kind](fields) if kind in CANON else []
    return "; ".join(faults) if faults else _validated({"event": kind, "payload": fields, **envelope})


def _custom(kind: str, record: Fields, envelope: Fields) -> Event | str:
    if kind == "custom":
        own = record.pop("kind", None)
        kind = own if isinstance(own, str) else kind
    payload = record.pop("payload", {})
    fields = {**record, **payload} if isinstance(payload, dict) else {**record, "payload": payload}
    return _validated({"event": "custom", "kind": kind, "payload": fields, **envelope})


def _validated(event: Fields) -> Event | str:
    try:
        return EVENT.validate_python(event)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, fault['loc'][2:]))}: {fault['msg']}" for fault in faults)


def _take_envelope(record: Fields, default_run_id: str | None) -> Fields:
    run_id = record.pop("run_id", None)
    time = take_time(record)
    named = default_run_id if run_id is None else as_text(run_id)[:LABEL_CHARS]
    return {name: value for name, value in (("run_id", named), ("timestamp", time)) if value is not None}


def _torn_event(line: bytes) -> Violation | None:
    claim = _CLAIM.match(line)
    kind = kind_of(claim[1].decode()) if claim else ""
    if kind not in KINDS:
        return None
    return Violation(kind, "not valid JSON: the line is torn or garbled", _beginning(line))


def _beginning(line: bytes) -> str:
    return line[:RAW_CHARS].decode("utf-8", "replace").replace("\x00", "\ufffd").strip()

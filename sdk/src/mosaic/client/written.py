"""Values as ``--json`` and the API write them, and what the API is sent."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from mosaic.client.values import EventLine
from mosaic.model.attempt import RunDetail
from mosaic.model.codec import to_json
from mosaic.model.run import Priority, Run, RunSpec
from mosaic.worker.plain import plain

#: Where the values are that the codec writes; others are left for `mosaic.worker.plain`.
_OURS = ("mosaic.model.", "mosaic.client.")


def written(value: Any) -> Any:
    """Return values as their JSON, also within lists and dicts: times as people read them, a run with its digests."""
    if isinstance(value, Mapping):
        return {key: written(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [written(part) for part in value]
    if isinstance(value, EventLine):
        return plain(value.as_json())
    if isinstance(value, RunDetail):
        return to_json(value, iso=True) | {"run": written(value.run)}
    if isinstance(value, Run):
        digests = {"config_digest": value.spec.config_digest, "run_digest": value.spec.run_digest}
        return to_json(value, iso=True) | digests
    return to_json(value, iso=True) if is_dataclass(value) and type(value).__module__.startswith(_OURS) else value


def written_line(event: EventLine) -> dict[str, Any]:
    """Return an event with the very bytes that the worker wrote."""
    stamp = {"attempt": event.attempt, "seq": event.seq, "time": event.time, "kind": event.kind}
    try:
        return {**stamp, "line": event.line.decode()}
    except UnicodeDecodeError:
        return {**stamp, "line_base64": base64.b64encode(event.line).decode()}


def unwritten_line(told: Mapping[str, Any]) -> bytes:
    """Return the bytes that `written_line` wrote."""
    return base64.b64decode(told["line_base64"]) if "line_base64" in told else str(told["line"]).encode()


def submission(spec: RunSpec, seeds: Sequence[int]) -> dict[str, Any]:
    """Return what is asked for; who asks is told by the credential."""
    # A priority may be the word for it, which the scheduler judges with all the rest.
    word = spec.priority.label if isinstance(spec.priority, Priority) else spec.priority
    return {**to_json(replace(spec, priority=Priority.NORMAL), iso=True), "priority": word, "seeds": list(seeds)}

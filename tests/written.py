"""The canonical line of an event, to compare events by."""

from __future__ import annotations

import orjson

from mosaic.events import Event


def write_line(event: Event) -> bytes:
    """Return the line of *event*, without a newline: keys sorted, fields that were never set left out."""
    event_json = event.model_dump_json(exclude_unset=True)
    return orjson.dumps(orjson.loads(event_json) | {"event": event.event}, option=orjson.OPT_SORT_KEYS)

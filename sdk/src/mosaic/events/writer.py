"""From an event to the line that carries it."""

from __future__ import annotations

import orjson

from mosaic.events.union import Event


def write_line(event: Event) -> bytes:
    """Return the canonical line of *event*, without a newline.

    Keys are sorted and fields that were never set are left out, so equal events give equal bytes
    and `read_line` gives the event back.
    """
    event_json = event.model_dump_json(exclude_unset=True)
    return orjson.dumps(orjson.loads(event_json) | {"event": event.event}, option=orjson.OPT_SORT_KEYS)

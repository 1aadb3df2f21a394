"""For whom the console asks, in the metadata of its calls."""

from __future__ import annotations

import json

from mosaic.model.codec import to_json
from mosaic.model.identity import Caller

#: The metadata's name; only the console's is believed.
CALLER_KEY = "mosaic-caller-bin"


def speak_for(caller: Caller) -> tuple[tuple[str, bytes], ...]:
    """Return the metadata that names *caller*."""
    return ((CALLER_KEY, json.dumps(to_json(caller)).encode()),)

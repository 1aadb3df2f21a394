"""Values as the API writes them; nothing else in the console knows how.

The same as ``--json`` of the command: values of the model as their codec writes them, and a number that JSON cannot say
as ``"NaN"`` or ``"Infinity"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.client.written import written
from mosaic.worker.plain import plain, to_json
from mosaic_console.domain.environments import Described
from mosaic_console.ports import RunPage


def dumps(value: Any) -> str:
    """Return *value*, or values in lists and dicts, as JSON text on one line."""
    return to_json(as_json(value))


def as_json(value: Any) -> Any:
    """Return *value* as JSON values."""
    if isinstance(value, Described):
        return _environment(value)
    if isinstance(value, RunPage):
        return {"runs": as_json(list(value.runs)), "next": value.next}
    if isinstance(value, Mapping):
        return {key: as_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    # What is left for `plain` costs as much again, and most values leave it nothing.
    return written(value)


def _environment(value: Described) -> dict[str, Any]:
    env = value.environment
    return {
        **plain(env),
        "agents": env.agents,
        "actions": env.actions,
        "observations": env.observations,
        "workers": list(value.workers),
        "why_not": dict(value.why_not),
    }

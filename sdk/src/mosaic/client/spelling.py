"""What every library has, under the name that each of them gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.client.platform import Mosaic
from mosaic.errors import BadInput

#: The first name that a worker's schema knows is used.
_SPELLINGS = {
    "env": ("env_id", "env", "env_name", "task"),
    "algo": ("algo", "algorithm", "method"),
    "steps": ("total_steps", "total_timesteps", "running_steps", "num_steps", "num_episodes"),
}


def spell(platform: Mosaic, worker: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``env``, ``algo`` and ``steps`` under the names that the worker's config has for them.

    What is empty or 0 was not asked for and is left out.

    Raises:
        BadInput: the worker has no setting for one of them.
        WorkerNotFound: no worker has that name.
    """
    given = {common: value for common, value in given.items() if value}
    if not given:
        return {}
    known = platform.worker(worker).config_schema.get("properties", {})
    spelt, faults = {}, []
    for common, value in given.items():
        name = next((name for name in _SPELLINGS[common] if name in known), None)
        if name is None:
            faults.append(
                f"worker {worker} has no setting for {common}; set one of its own (--set): {', '.join(known)}"
            )
        else:
            spelt[name] = value
    if faults:
        raise BadInput("submit", faults)
    return spelt

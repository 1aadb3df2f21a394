"""What every library has, under the name that each of them gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.client.platform import Mosaic
from mosaic.errors import BadInput
from mosaic.worker.spelling import setting_of


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
    schema = platform.worker(worker).config_schema
    spelt, faults = {}, []
    for common, value in given.items():
        name = setting_of(schema, common)
        if name is None:
            known = schema.get("properties", {})
            faults.append(
                f"worker {worker} has no setting for {common}; set one of its own (--set): {', '.join(known)}"
            )
        else:
            spelt[name] = value
    if faults:
        raise BadInput("submit", faults)
    return spelt

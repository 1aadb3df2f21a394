"""Values of the model as ``--json`` and the console write them: as their codec does, but times as people read them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from mosaic.model.run import Run


def written(value: Any) -> Any:
    """Return values of the model as their JSON, also within lists; times are left for `mosaic.worker.plain`.

    A run has its digests beside it.
    """
    if isinstance(value, (list, tuple)):
        return [written(one) for one in value]
    if not (is_dataclass(value) and type(value).__module__.startswith("mosaic.model.")):
        return value
    # Protobuf, which the codec needs, takes longer to import than most commands take.
    from mosaic.model.codec import to_json

    document = to_json(value)
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, datetime):
            document[field.name] = part
        elif is_dataclass(part) or (isinstance(part, tuple) and any(map(is_dataclass, part))):
            document[field.name] = written(part)
    if isinstance(value, Run):
        document |= {"config_digest": value.spec.config_digest, "run_digest": value.spec.run_digest}
    return document

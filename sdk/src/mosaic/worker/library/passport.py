"""What a checkpoint was trained on and with. It lies inside the checkpoint, and whoever loads one is held to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from mosaic.errors import BadInput

#: How a person calls what two passports, or a passport and a request, may disagree in.
_COMPARED = {"worker": "worker", "env_id": "environment", "algo": "algorithm"}


@dataclass(frozen=True)
class Passport:
    """Where a checkpoint comes from; told with ``checkpoint_saved`` and ``checkpoint_loaded``."""

    worker: str
    library: str
    library_version: str
    algo: str
    env_id: str
    step: int
    seed: int
    #: See `mosaic.worker.library.settings.settings_digest`.
    settings_digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Passport:
        """Read what `to_dict` returned, also that of a newer release.

        Raises:
            BadInput: something is missing.

        """
        names = [one.name for one in fields(cls)]
        try:
            return cls(**{name: data[name] for name in names if name in data})
        except TypeError as error:
            raise BadInput("passport of the checkpoint", [str(error)]) from error

    def check(self, source: str, **wanted: str | None) -> None:
        """Hold a run to this passport; what it did not ask for (None) is as the passport says.

        Raises:
            BadInput: the run asked for another worker, environment or algorithm; every contradiction is named.

        """
        theirs = asdict(self)
        faults = [
            f"is of {_COMPARED[name]} {theirs[name]!r}, but {asked!r} was asked for"
            for name, asked in wanted.items()
            if asked is not None and asked != theirs[name]
        ]
        if faults:
            raise BadInput(source, faults)

"""Whose a secret is, and what may be one."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.errors import BadInput
from mosaic.ids import TeamName, UserName, is_id

#: Bytes of a value: a private key or a service account's file, not a data set.
MAX_VALUE = 64 * 1024


@dataclass(frozen=True, slots=True)
class SecretOwner:
    """A team, or a user: exactly one of them."""

    team: TeamName = TeamName("")
    user: UserName = UserName("")

    @property
    def key(self) -> str:
        """As stores know it; no name holds a slash."""
        return f"team/{self.team}" if self.team else f"user/{self.user}"


def check_secret(name: str, value: str) -> None:
    """Raise `BadInput` unless *name* and *value* may be a secret; the value is not in what it says."""
    faults = [] if is_id(name) else [f"{name[:100]!r} is not a name"]
    if not value:
        faults.append("it has no value")
    if len(value.encode("utf-8", "replace")) > MAX_VALUE:
        faults.append(f"its value is longer than {MAX_VALUE} bytes")
    if "\0" in value:
        faults.append("its value holds a NUL, which no variable can")
    if faults:
        raise BadInput("secret", faults)

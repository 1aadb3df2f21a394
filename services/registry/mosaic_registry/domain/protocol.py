"""Which version of the protocol two sides speak."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import Refused

#: What this registry speaks, newest first.
SPOKEN = ("MOSAIC/2.0",)


class NoCommonProtocol(Refused):
    """Agent and registry share no protocol version."""

    def __init__(self, offered: Sequence[str], spoken: Sequence[str]) -> None:
        """Name both lists, so that the reader sees which side to upgrade."""
        self.offered = tuple(offered)
        self.spoken = tuple(spoken)
        theirs = ", ".join(offered) or "none"
        super().__init__(
            f"no common protocol: the agent speaks {theirs}; this registry speaks {', '.join(spoken)}; "
            "upgrade the older side"
        )


def negotiate(offered: Sequence[str], spoken: Sequence[str] = SPOKEN) -> str:
    """Return the highest version in both lists.

    Raises:
        NoCommonProtocol: there is none.

    """
    common = [version for version in spoken if version in offered]
    if not common:
        raise NoCommonProtocol(offered, spoken)
    return max(common, key=_number)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.rpartition("/")[2].split("."))

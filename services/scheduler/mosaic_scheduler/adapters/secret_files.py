"""Secrets of teams as files in one directory, the way Kubernetes and Compose mount them."""

from __future__ import annotations

from pathlib import Path

from mosaic.ids import TeamName, UserName, is_id


class SecretFiles:
    """Reads a secret when it is asked for, so that a rotated one is used at the next claim."""

    def __init__(self, directory: str, *, top_of: TeamName) -> None:
        """Look in *directory*: in it for the secrets of team *top_of*, in a folder named after it for any other team.

        An empty name means that there are no secrets.
        """
        self._directory = Path(directory) if directory else None
        self._top_of = top_of

    def value(self, name: str, *, user: UserName, team: TeamName) -> str | None:
        """Return the content of the file *name* of *team* without its last newline, or None."""
        if self._directory is None or not (is_id(name) and is_id(team)):
            return None
        folder = self._directory if team == self._top_of else self._directory / team
        try:
            return (folder / name).read_text(encoding="utf-8").removesuffix("\n")
        except OSError:
            return None

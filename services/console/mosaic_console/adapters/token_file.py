"""The files in the state directory by which scripts of the same user find and open the console."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import ServiceUnavailable

_ONLY_MINE = 0o600


@dataclass(frozen=True)
class TokenFile:
    """Where the token and the address of the console of one state directory are."""

    home: Path

    @property
    def path(self) -> Path:
        """The token, readable by its owner alone."""
        return self.home / "console.token"

    @property
    def address_path(self) -> Path:
        """Where the console listens."""
        return self.home / "console.json"

    def write(self, token: str, url: str) -> None:
        """Write both anew; what a killed platform left, or a link that somebody put there, is removed first."""
        self.remove()
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _ONLY_MINE)
        with os.fdopen(file, "w", encoding="ascii") as opened:
            os.fchmod(file, _ONLY_MINE)  # whatever the umask says
            opened.write(token + "\n")
        draft = self.address_path.with_suffix(".tmp")
        draft.write_text(json.dumps({"url": url}) + "\n", encoding="utf-8")
        os.replace(draft, self.address_path)

    def read(self) -> tuple[str, str]:
        """Return the token and the address.

        Raises:
            ServiceUnavailable: no console runs there.
        """
        try:
            url = json.loads(self.address_path.read_text(encoding="utf-8"))["url"]
            return self.path.read_text(encoding="ascii").strip(), str(url)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ServiceUnavailable("the console", str(self.home)) from error

    def remove(self) -> None:
        """Remove both."""
        for path in (self.address_path, self.path):
            path.unlink(missing_ok=True)

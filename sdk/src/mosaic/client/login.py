"""Where the platform is, and the credential that opens its door."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mosaic.errors import BadInput, ServiceUnavailable

_ONLY_MINE = 0o600
#: What `mosaic login` keeps: address and token.
_KEPT = "login.json"
#: What a platform that runs on this machine says of itself: its address, and the token of whoever started it.
_ADDRESS, _TOKEN = "console.json", "console.token"


@dataclass(frozen=True, slots=True)
class Login:
    """One address for everything, and who asks there."""

    url: str
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no address.

        Raises:
            BadInput: it is not ``http://host`` or ``https://host``.
        """
        if not self.url.startswith(("http://", "https://")):
            fault = f"{self.url!r} is no address of a platform; write https://fleet.example.org"
            raise BadInput("MOSAIC_URL", [fault])

    @classmethod
    def find(cls, env: Mapping[str, str], home: Path) -> Login:
        """Return what *env* names, else what ``mosaic login`` kept in *home*, else the platform that runs there.

        Raises:
            BadInput: the file that ``MOSAIC_TOKEN_FILE`` names cannot be read.
            ServiceUnavailable: no platform is found.
        """
        token = env.get("MOSAIC_TOKEN") or _token_of(env.get("MOSAIC_TOKEN_FILE", ""))
        if env.get("MOSAIC_URL"):
            return cls(env["MOSAIC_URL"].rstrip("/"), token)
        found = cls.kept(home) or cls.running(home)
        return replace(found, token=token) if token else found

    @classmethod
    def kept(cls, home: Path) -> Login | None:
        """Return what ``mosaic login`` kept in *home*, if it did.

        Raises:
            BadInput: it cannot be read.
        """
        try:
            return cls(**json.loads((home / _KEPT).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(str(home / _KEPT), [f"cannot be read ({error}); `mosaic login` writes it anew"]) from error

    @classmethod
    def running(cls, home: Path) -> Login:
        """Return the platform that runs in *home*.

        Raises:
            ServiceUnavailable: none does.
        """
        try:
            url = json.loads((home / _ADDRESS).read_text(encoding="utf-8"))["url"]
            return cls(str(url), (home / _TOKEN).read_text(encoding="ascii").strip())
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ServiceUnavailable("the platform", str(home)) from error

    def keep(self, home: Path) -> None:
        """Keep it in *home*, readable by its owner alone, for every command after this one."""
        home.mkdir(parents=True, exist_ok=True)
        self.drop(home)
        write_secret(home / _KEPT, json.dumps({"url": self.url, "token": self.token}))

    @staticmethod
    def drop(home: Path) -> None:
        """Forget what ``mosaic login`` kept."""
        (home / _KEPT).unlink(missing_ok=True)

    def tell(self, home: Path) -> None:
        """Say in *home* where the platform is; whatever lies there, also a link that somebody made, is removed."""
        self.forget(home)
        write_secret(home / _TOKEN, self.token)
        draft = (home / _ADDRESS).with_suffix(".tmp")
        draft.write_text(json.dumps({"url": self.url}) + "\n", encoding="utf-8")
        os.replace(draft, home / _ADDRESS)

    @staticmethod
    def forget(home: Path) -> None:
        """Say in *home* that no platform runs there."""
        for name in (_ADDRESS, _TOKEN):
            (home / name).unlink(missing_ok=True)


def write_secret(path: Path, secret: str) -> None:
    """Write a file that its owner alone can read; nothing may be there yet."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _ONLY_MINE)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        os.fchmod(file, _ONLY_MINE)  # whatever the umask says
        opened.write(secret + "\n")


def _token_of(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise BadInput("MOSAIC_TOKEN_FILE", [f"{path} cannot be read: {error}"]) from error

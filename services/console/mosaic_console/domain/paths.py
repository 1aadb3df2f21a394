"""The path of a file within a directory, as it stands in an address."""

from __future__ import annotations

from urllib.parse import unquote

from mosaic.errors import BadInput

_LONGEST = 4096


def parts_of(path: str) -> tuple[str, ...]:
    """Return the names that *path* consists of, none of which leads out of where it begins.

    Raises:
        BadInput: it is absolute, empty or too long, has a part that is no name, or is encoded twice.
    """
    parts = tuple(path.split("/"))
    if len(path) > _LONGEST or not all(map(_is_name, parts)):
        raise BadInput("path", [f"{path!r:.100} is no path of a file inside the run's directory"])
    return parts


def _is_name(part: str) -> bool:
    # What is encoded still was encoded twice: no honest client does that, and it may be read otherwise elsewhere.
    is_plain = "\0" not in part and "\\" not in part and unquote(part) == part
    return is_plain and part not in ("", ".", "..")

"""Where a request comes from: our own pages and scripts, or a page that only happens to run on this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_own_host(host: str, names: Collection[str]) -> bool:
    """Tell whether the ``Host`` of a request is one of *names*, with whatever port a tunnel gave it.

    A name that somebody else's DNS answers for is not among them.
    """
    name, colon, port = host.lower().partition(":")
    return name in names and (not colon or (port.isascii() and port.isdigit()))


def is_safe(method: str) -> bool:
    """Tell whether *method* only reads; one that nobody knows does not."""
    return method in _SAFE_METHODS


def is_from_own_page(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that one of our own pages sends this.

    Another port of this machine is *same-site*, so its cookies come along; only *same-origin* is ours. Browsers that
    do not send ``Sec-Fetch-Site`` send ``Origin``.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    host = headers.get("host", "")
    return bool(host) and headers.get("origin", "").lower() in {f"http://{host.lower()}", f"https://{host.lower()}"}

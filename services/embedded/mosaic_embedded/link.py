"""``mosaic console``: a fresh link to the console of a platform that runs already."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from mosaic.errors import ServiceUnavailable
from mosaic_console.adapters.token_file import TokenFile

_TIMEOUT_S = 10.0


def new_link(home: Path) -> str:
    """Return a link that signs one browser in, once.

    Raises:
        ServiceUnavailable: no console runs in *home*.
    """
    token, url = TokenFile(home).read()
    request = urllib.request.Request(
        f"{url}/api/v1/sign-in-links", method="POST", headers={"Authorization": f"Bearer {token}"}
    )
    # A proxy of the environment is for other machines, and must not see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return url + str(json.load(answer)["path"])
    except (OSError, ValueError, KeyError) as error:
        raise ServiceUnavailable("the console", url) from error

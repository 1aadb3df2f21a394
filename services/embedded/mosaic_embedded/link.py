"""``mosaic console``: a fresh link to the console of a platform that runs already."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from mosaic.client import Login
from mosaic.errors import ServiceUnavailable

_TIMEOUT_S = 10.0


def new_link(home: Path) -> str:
    """Return a link that signs one browser in, once.

    Raises:
        ServiceUnavailable: no console runs in *home*.
    """
    login = Login.running(home)
    request = urllib.request.Request(
        f"{login.url}/api/v1/sign-in-links", method="POST", headers={"Authorization": f"Bearer {login.token}"}
    )
    # A proxy of the environment is for other machines, and must not see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return login.url + str(json.load(answer)["path"])
    except (OSError, ValueError, KeyError) as error:
        raise ServiceUnavailable("the console", login.url) from error

"""Puts the console together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mosaic.client import Endpoints
from mosaic_console.adapters.grpc_platform import GrpcPlatform
from mosaic_console.domain.keys import Keyring
from mosaic_console.ports import Platform


@dataclass(frozen=True)
class Parts:
    """The console's parts, connected but not served."""

    platform: Platform
    keyring: Keyring
    #: Whom a valid credential stands for.
    user: str
    #: Cookies are told apart by name and host, not by port: two platforms of one machine must not sign each other out.
    cookie: str = "mosaic_session"


def build(endpoints: Endpoints, *, token: str, user: str, port: int) -> Parts:
    """Connect to the services at *endpoints*; nothing is sent before the first request."""
    keyring = Keyring(token, clock=time.monotonic)
    return Parts(GrpcPlatform(endpoints), keyring, user, cookie=f"mosaic_session_{port}")

"""``python -m mosaic_registry``: one registry, configured by ``MOSAIC_REGISTRY_*``.

``python -m mosaic_registry admin NAME`` makes an admin, also where nobody is left to do so, and prints a one-time link;
``python -m mosaic_registry token`` prints a token for ``MOSAIC_REGISTRY_ADMIN_TOKEN``.
"""

from __future__ import annotations

import os
import sys

from prometheus_client import CollectorRegistry

from mosaic.errors import MosaicError
from mosaic.hosting.process import run_service
from mosaic.ids import UserName
from mosaic.model.people import CredentialKind, new_text
from mosaic_registry.bootstrap import build
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.handlers.first_admin import code_for_admin
from mosaic_registry.settings import Settings


def main() -> None:
    """Serve until SIGTERM or SIGINT, or make an admin."""
    match sys.argv[1:]:
        case []:
            run_service("registry", Settings.from_env, _build, os.environ)
        case ["admin", name]:
            _make_admin(name)
        case ["token"]:
            sys.stdout.write(new_text(CredentialKind.TOKEN) + "\n")
        case _:
            sys.exit("usage: python -m mosaic_registry [admin NAME | token]")


def _build(settings: Settings, metrics: CollectorRegistry) -> RegistryService:
    return RegistryService(settings, metrics=metrics)


def _make_admin(name: str) -> None:
    try:
        parts = build(Settings.from_env(os.environ))
        code = code_for_admin(UserName(name), people=parts.people, now=parts.clock())
    except MosaicError as error:
        sys.stderr.write(f"registry: {error}\n")
        sys.exit(error.exit_code)
    sys.stdout.write(f"{name} is an admin. Within the hour, once: /sign-in?code={code} at the address of the console\n")


if __name__ == "__main__":
    main()

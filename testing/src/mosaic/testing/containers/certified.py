"""Certificates for the containers of a stack, each in a folder that only its container is given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mosaic.hosting.pki import Authority, agent_files, service_files, utc_now
from mosaic.testing.certificates import environment
from mosaic.testing.containers.recipe import Recipe

_INSIDE = "/run/tls"


def with_certificate(recipe: Recipe, authority: Authority, folder: Path, *, is_agent: bool) -> Recipe:
    """Return *recipe* with a certificate of its own, which is made in *folder*."""
    own = folder / recipe.name
    issue = agent_files if is_agent else service_files
    files = issue(own, recipe.name, authority, utc_now())
    # Whoever the container runs as must read them; who gets which folder is decided by what is mounted.
    own.chmod(0o755)
    for path in own.iterdir():
        path.chmod(0o644)
    inside = {name: f"{_INSIDE}/{Path(path).name}" for name, path in environment(files).items()}
    return replace(recipe, environment={**recipe.environment, **inside}, folders={str(own): _INSIDE})

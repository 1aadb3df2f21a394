"""The Docker engine that a stack runs on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from mosaic.testing.containers.faults import EngineMissing, ExtraMissing, ImageMissing
from mosaic.testing.containers.images import PREFIX

if TYPE_CHECKING:
    from testcontainers.core.docker_client import DockerClient

_SOCKET = "/var/run/docker.sock"
_TIMEOUT_S = 120

_reaper_lock = threading.Lock()


def connect() -> DockerClient:
    """Return a client of the engine; close its ``client`` afterwards.

    Raises:
        ExtraMissing: ``mosaic-testing[containers]`` is not installed.
        EngineMissing: none answers.
    """
    try:
        from docker.errors import DockerException
        from testcontainers.core.docker_client import DockerClient, get_docker_host
    except ModuleNotFoundError as error:
        raise ExtraMissing(str(error.name)) from error
    # The client library leaks its socket when nobody listens, so the usual case is looked at first.
    if not get_docker_host() and not _accepts(_SOCKET):
        raise EngineMissing(f"nobody listens on {_SOCKET}")
    try:
        engine = DockerClient(timeout=_TIMEOUT_S)
        engine.client.ping()
    except DockerException as error:
        raise EngineMissing(str(error)) from error
    return engine


def engine_answers() -> bool:
    """Tell whether a stack could be started here as far as the engine is concerned."""
    try:
        with closing(connect().client):
            return True
    except (EngineMissing, ExtraMissing):
        return False


def require_images(engine: DockerClient, images: Iterable[str]) -> None:
    """Make sure that every image is here, pulling what is not; those of the platform are built, never pulled.

    Raises:
        ImageMissing: names all that are neither here nor to be pulled.
    """
    missing = [image for image in dict.fromkeys(images) if not _has(engine.client, image)]
    if missing:
        raise ImageMissing(missing)


@contextmanager
def without_reaper() -> Iterator[None]:
    """Start containers without testcontainers' reaper: stacks are cleaned up by their labels.

    The reaper is one more image, which may not be to be had, and it wants the engine's socket.
    """
    from testcontainers.core.config import testcontainers_config

    with _reaper_lock:
        was_disabled = testcontainers_config.ryuk_disabled
        testcontainers_config.ryuk_disabled = True
        try:
            yield
        finally:
            testcontainers_config.ryuk_disabled = was_disabled


def is_local(engine: DockerClient) -> bool:
    """Tell whether the engine's published ports are on this machine's loopback."""
    return engine.host() in ("localhost", "127.0.0.1")


def _has(client: Any, image: str) -> bool:
    from docker.errors import APIError, ImageNotFound

    try:
        client.images.get(image)
    except ImageNotFound:
        if image.startswith(f"{PREFIX}/"):
            return False
        try:
            client.images.pull(image)
        except APIError:
            return False
    return True


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True

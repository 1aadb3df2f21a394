"""The reference worker as it was: the layers of today's image with the code of an earlier commit in them."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.images import image_of
from tests.images import ROOT

#: This came with agents that pack frames with zstd; services must still understand those of the commit before.
_ZSTD = "docs/decisions/0006-zstd-packs-frames.md"

#: Variables of today's image that an agent of that age refuses, because it does not know them.
_UNKNOWN = (
    "MOSAIC_AGENT_HIDE_FILES",
    "MOSAIC_AGENT_PROBE_REPORT",
    "MOSAIC_AGENT_WORKER_REVISION",
    "MOSAIC_AGENT_PLATFORM_REVISION",
)
#: Today's names of variables -> those that an agent of that age reads.
_OLD_NAMES = {
    "MOSAIC_BROKER_URL": "MOSAIC_AGENT_BROKER_URL",
    "MOSAIC_ENDPOINT_REGISTRY": "MOSAIC_AGENT_REGISTRY_ADDRESS",
    "MOSAIC_ENDPOINT_SCHEDULER": "MOSAIC_AGENT_SCHEDULER_ADDRESS",
    "MOSAIC_HEARTBEAT_S": "MOSAIC_AGENT_HEARTBEAT_S",
}
#: How such an agent is started: it had no init of its own yet.
ENTRYPOINT = (
    "/usr/bin/env",
    *(word for name in _UNKNOWN for word in ("-u", name)),
    *("/opt/mosaic/bin/python", "-m", "mosaic.agent"),
)

_CODE = ("sdk/src/mosaic", "worker-images/reference/mosaic_reference")

_DOCKERFILE = f"""
FROM {image_of("reference")}
USER 0:0
RUN rm -r /opt/mosaic/lib/python3.11/site-packages/mosaic \\
    /opt/worker/lib/python3.11/site-packages/mosaic /opt/worker/lib/python3.11/site-packages/mosaic_reference
COPY sdk/src/mosaic /opt/mosaic/lib/python3.11/site-packages/mosaic
COPY sdk/src/mosaic /opt/worker/lib/python3.11/site-packages/mosaic
COPY worker-images/reference/mosaic_reference /opt/worker/lib/python3.11/site-packages/mosaic_reference
USER 10001:10001
"""


def environment_of_the_past(environment: Mapping[str, str]) -> dict[str, str]:
    """Return *environment* in the names of that age."""
    return {_OLD_NAMES.get(name, name): value for name, value in environment.items()}


@contextmanager
def image_of_the_past(folder: Path) -> Iterator[str]:
    """Build the image from *folder*, which is empty; yield its name and remove it afterwards."""
    commit = _last_with_zlib()
    _check_out(commit, folder)
    (folder / "Dockerfile").write_text(_DOCKERFILE, encoding="utf-8")
    tag = f"mosaic-test/reference:{commit[:12]}"
    with closing(connect().client) as client:
        client.images.build(path=str(folder), tag=tag, rm=True, forcerm=True)
        try:
            yield tag
        finally:
            client.images.remove(tag)


def _last_with_zlib() -> str:
    found = _git("log", "--diff-filter=A", "--format=%P", "--", _ZSTD).decode().split()
    assert found, f"this test needs the commit before {_ZSTD}, so the whole history of the project"
    return found[-1]


def _check_out(commit: str, folder: Path) -> None:
    with tarfile.open(fileobj=BytesIO(_git("archive", commit, *_CODE))) as archive:
        archive.extractall(folder, filter="data")


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    assert 0 == done.returncode, done.stderr.decode(errors="replace")
    return done.stdout

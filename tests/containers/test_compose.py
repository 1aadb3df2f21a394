"""What the README tells a newcomer to type, with Compose itself, under a name and on ports of the test's own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.images import SERVICES
from mosaic.testing.containers.ownership import labels_of
from mosaic.testing.ports import free_port
from tests.containers.drills import assert_shut_in
from tests.images import ROOT, compose_file

PATIENCE_S = 300

#: The sets of files that the pages tell people to use together.
SETS = {
    "plain": ("docker-compose.yml",),
    "gpu": ("docker-compose.yml", "docker-compose.gpu.yml"),
    "production": ("docker-compose.yml", "docker-compose.production.yml"),
    "gpu in production": ("docker-compose.yml", "docker-compose.gpu.yml", "docker-compose.production.yml"),
}


@dataclass(frozen=True)
class Project:
    """A platform that Compose runs beside whatever else is on the engine."""

    name: str
    files: tuple[str, ...]
    port: int

    def compose(self, *command: str) -> str:
        """Run ``docker compose``; return what it printed."""
        chosen = {"MOSAIC_CONSOLE_PORT": str(self.port)}
        return _run(["docker", "compose", "--project-name", self.name, *_flags(self.files), *command], chosen)

    def mosaic(self, *command: str) -> str:
        """Run the ``mosaic`` command against this platform; return what it printed."""
        token = self.compose("exec", "-T", "registry", "cat", "/run/secrets/admin-token").strip()
        chosen = {"MOSAIC_URL": f"http://127.0.0.1:{self.port}", "MOSAIC_TOKEN": token}
        return _run([sys.executable, "-m", "mosaic.cli", *command], chosen)

    def left(self) -> list[str]:
        """Return the names of everything that belongs to the project."""
        asked = {"label": f"com.docker.compose.project={self.name}"}
        with closing(connect().client) as client:
            found = [
                *client.containers.list(all=True, filters=asked),
                *client.networks.list(filters=asked),
                *client.volumes.list(filters=asked),
            ]
            return [str(one.name) for one in found]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """The plain set of files, labelled so that what a killed test leaves is swept away like any other stack."""
    name = f"mosaic-test-{secrets.token_hex(4)}"
    labelled = tmp_path / "labels.json"
    labelled.write_text(json.dumps(_labels(name)), encoding="utf-8")
    made = Project(name, (*SETS["plain"], str(labelled)), free_port())
    yield made
    made.compose("down", "--volumes", "--timeout", "10")


@pytest.mark.parametrize("files", SETS.values(), ids=SETS)
def test_compose_takes_the_files_as_they_are(files: tuple[str, ...]) -> None:
    parts = _config(files)["services"]

    assert compose_file()["services"].keys() == parts.keys()


def test_images_for_gpus_have_tags_of_their_own_and_replace_no_others() -> None:
    plain, gpu = (_config(SETS[name])["services"] for name in ("plain", "gpu"))

    changed = {name.removeprefix("agent-") for name in plain if plain[name]["image"] != gpu[name]["image"]}
    cuda = {
        name.removeprefix("agent-") for name in gpu if "cuda" in gpu[name].get("build", {}).get("args", {}).values()
    }

    assert {"cleanrl", "rllib", "sb3", "xuance"} == changed == cuda


def test_a_newcomer_gets_a_platform_a_manifest_and_a_clean_machine_again(project: Project) -> None:
    project.compose("up", "--detach", "--wait", "--no-build")
    project.mosaic("submit", "reference", "--env", "FrozenLake-v1", "--follow")

    [run] = json.loads(project.mosaic("runs", "--json"))
    manifest = json.loads(project.mosaic("manifest", run["run_id"]))
    inspected = _inspect(project)
    project.compose("down", "--volumes")

    assert ("succeeded", True, 0) == (manifest["outcome"], manifest["is_complete"], manifest["events"]["missing"])
    assert {"secrets", "postgres", "rabbitmq", "redis", *SERVICES, "agent-reference"} == inspected.keys()
    for name, part in inspected.items():
        assert_shut_in(name, part)
    assert [] == project.left()


def _config(files: tuple[str, ...]) -> dict[str, Any]:
    asked = ["docker", "compose", *_flags(files), "--profile", "*", "config", "--format", "json"]
    resolved: dict[str, Any] = json.loads(_run(asked, {"MOSAIC_SECRETS_DIR": "/srv/secrets"}))
    return resolved


def _flags(files: tuple[str, ...]) -> list[str]:
    return [word for file in files for word in ("--file", file)]


def _labels(name: str) -> dict[str, Any]:
    described, own = compose_file(), {"labels": labels_of(name)}
    return {kind: dict.fromkeys(described[kind], own) for kind in ("services", "networks", "volumes")}


def _inspect(project: Project) -> dict[str, dict[str, Any]]:
    with closing(connect().client) as client:
        found = client.containers.list(all=True, filters={"label": f"com.docker.compose.project={project.name}"})
        return {container.labels["com.docker.compose.service"]: dict(container.attrs) for container in found}


def _run(command: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert 0 == done.returncode, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout

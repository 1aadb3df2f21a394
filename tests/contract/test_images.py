from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mosaic.testing.containers.images import image_of
from tests.images import DOCKERFILES, ROOT, SERVICES, WORKERS, image_tool, instructions

lock_tool, labels_tool = image_tool("lock"), image_tool("labels")

RUNNING = [name for name in DOCKERFILES if name != "compose/Dockerfile"]
LOCKS = [
    *(f"services/{service}/requirements.lock" for service in SERVICES),
    *(f"worker-images/{worker}/requirements.lock" for worker in WORKERS),
    *(f"worker-images/base/{name}.lock" for name in ("requirements", "tools", "cuda")),
]


def test_the_linter_finds_nothing_in_any_dockerfile():
    hadolint = Path(sys.executable).with_name("hadolint")
    linted = subprocess.run([hadolint, *DOCKERFILES], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "" == linted.stdout + linted.stderr


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_an_image_is_built_on_official_images_only(dockerfile):
    stages = {rest.partition(" AS ")[2] for word, rest in instructions(dockerfile) if word == "FROM"}
    bases = {rest.partition(" AS ")[0] for word, rest in instructions(dockerfile) if word == "FROM"}

    assert {"python:3.11-slim-bookworm"} == bases - stages - {"${WHEELS}", "${LIBRARY}"}


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_an_image_runs_as_a_numbered_user_without_rights(dockerfile):
    users = [rest for word, rest in instructions(dockerfile) if word == "USER"]

    assert ["10001:10001"] == users


@pytest.mark.parametrize("dockerfile", RUNNING)
def test_an_image_needs_no_shell_to_run_or_to_be_asked_for_its_health(dockerfile):
    found = dict(instructions(dockerfile))
    started, asked = found["ENTRYPOINT"], found["HEALTHCHECK"].partition(" CMD ")[2]

    assert "/opt/mosaic/bin/python" == json.loads(started)[0] == json.loads(asked)[0]


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_an_image_says_which_version_and_revision_it_is(dockerfile):
    labels = dict(instructions(dockerfile))["LABEL"]

    assert 'org.opencontainers.image.version="${VERSION}"' in labels
    assert 'org.opencontainers.image.revision="${REVISION}"' in labels


@pytest.mark.parametrize("worker", WORKERS)
def test_an_image_whose_worker_offers_mujoco_can_draw_it(worker):
    text = labels_tool.dockerfile_of(worker).read_text(encoding="utf-8")
    offers = "mujoco" in json.loads(labels_tool.current_label(worker))["capabilities"]["env_families"]

    assert offers == ("libegl1 libgl1" in text)


@pytest.mark.parametrize("worker", WORKERS)
def test_the_agent_of_an_image_is_told_of_which_commits_it_was_built(worker):
    variables = [rest for word, rest in instructions(labels_tool.dockerfile_of(worker)) if word == "ENV"]

    assert "MOSAIC_AGENT_PLATFORM_REVISION=${REVISION} MOSAIC_AGENT_WORKER_REVISION=${REVISION}" in variables


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_what_an_image_calls_itself_is_the_version_of_the_sdk(dockerfile):
    defaults = dict(rest.split("=", 1) for word, rest in instructions(dockerfile) if word == "ARG" and "=" in rest)

    assert version("mosaic-sdk") == defaults["VERSION"]


@pytest.mark.parametrize("worker", WORKERS)
def test_every_worker_image_has_the_agent_of_the_base_image(worker):
    """A compose build cannot wait for another image, so the stages are repeated; they must stay the same."""
    theirs = labels_tool.dockerfile_of(worker).read_text(encoding="utf-8")

    assert _shared_stages() in theirs


@pytest.mark.parametrize("worker", WORKERS)
def test_the_label_of_a_worker_image_says_what_the_worker_says(worker):
    assert labels_tool.true_label(worker) == labels_tool.current_label(worker), "`make image-labels` writes it"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_version_in_a_lock_has_its_hashes(lock):
    pins, hashes = lock_tool.read_lock((ROOT / lock).read_text(encoding="utf-8"))

    assert pins
    assert [] == [pin for pin in pins if not hashes[pin]]


@pytest.mark.parametrize(
    ("lock", "project"),
    [
        *((f"services/{service}/requirements.lock", f"mosaic-{service}") for service in SERVICES),
        ("worker-images/base/requirements.lock", "mosaic-agent"),
    ],
)
def test_a_lock_holds_what_its_project_needs_at_the_versions_of_the_workspace(lock, project):
    wanted = {name: version(name) for name in _needs(project)}
    locked = _versions(lock)

    assert wanted == {name: locked.get(name) for name in wanted}, "`make image-locks` writes it"


def test_the_name_of_an_image_is_the_one_that_tests_of_users_look_for():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"VERSION := {version('mosaic-sdk')}\n" in makefile
    assert f"mosaic-fleet/registry:{version('mosaic-sdk')}" == image_of("registry")


def _shared_stages() -> str:
    base = (ROOT / "worker-images/base/Dockerfile").read_text(encoding="utf-8")
    return base[base.index("FROM python") : base.index("FROM base\n")]


def _versions(lock: str) -> dict[str, str]:
    pins, _ = lock_tool.read_lock((ROOT / lock).read_text(encoding="utf-8"))
    return {canonicalize_name(pin.split("==")[0]): pin.split("==")[1].split(" ;")[0] for pin in pins}


def _needs(project: str) -> set[str]:
    """Return every distribution that *project* pulls in, ours left out."""
    found: set[str] = set()
    # What is installed may describe the project as it was when it was installed.
    todo = [(canonicalize_name(one.name), tuple(one.extras)) for one in map(Requirement, lock_tool.needs_of(project))]
    done: set[tuple[str, tuple[str, ...]]] = set()
    while todo:
        name, extras = todo.pop()
        if (name, extras) not in done:
            done.add((name, extras))
            found.add(name)
            todo += [(canonicalize_name(one.name), tuple(sorted(one.extras))) for one in _requirements(name, extras)]
    return found


def _requirements(name: str, extras: tuple[str, ...]) -> list[Requirement]:
    every = [Requirement(text) for text in requires(name) or ()]
    return [one for one in every if any(_applies(one, extra) for extra in ("", *extras))]


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})

"""The pods of the manifests run: each starts as it is written, they find each other, and a run goes through them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mosaic.client import Login, Mosaic, RunSpec
from mosaic.lifecycle import RunState
from mosaic.testing.containers.engine import connect, require_images, without_reaper
from mosaic.testing.containers.ownership import labels_of, remove_stack
from mosaic.testing.containers.part import Part
from mosaic.testing.containers.platform import CONSOLE_PORT
from mosaic.testing.containers.runs import StackRun
from tests.containers.pods import recipe_of
from tests.contract.k8s.kubectl import render
from tests.contract.k8s.manifests import SERVICES, Manifests, copy_with_secrets

#: In the order in which they need each other; Kubernetes starts all at once, and lets them try again.
GROUPS = (("postgres", "rabbitmq", "redis"), SERVICES, ("announce-reference",))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Part]]:
    """The dev overlay, with one agent."""
    folder = tmp_path_factory.mktemp("pods")
    manifests = Manifests.parse(render(copy_with_secrets(folder / "k8s") / "overlays" / "dev"))
    with ExitStack() as closing_all:
        yield _start(manifests, folder, closing_all)


def _start(manifests: Manifests, folder: Path, closing_all: ExitStack) -> dict[str, Part]:
    stack_id = secrets.token_hex(4)
    engine = connect()
    closing_all.enter_context(closing(engine.client))
    closing_all.callback(remove_stack, engine.client, stack_id)
    network = engine.client.networks.create(f"mosaic-{stack_id}", labels=labels_of(stack_id))
    pods, started = {pod.name: pod for pod in manifests.pods()}, {}
    for group in GROUPS:
        require_images(engine, [pods[name].container["image"] for name in group])
        for name in group:
            recipe, volumes = recipe_of(manifests, pods[name], folder)
            started[name] = Part(recipe, stack_id=stack_id, network=network, volumes=volumes)
            with without_reaper():
                started[name].start()
        for name in group:
            started[name].wait_until_ready()
    return started


def test_a_run_goes_through_the_pods_and_its_agent_leaves(parts: dict[str, Part]) -> None:
    token = parts["registry"].execute("cat", "/run/secrets/admin-token").strip()
    login = Login(f"http://{parts['console'].address(CONSOLE_PORT)}", token)
    with Mosaic(login) as fleet:
        submission = RunSpec("reference", {"env_id": "FrozenLake-v1", "total_steps": 2000}, seed=1)
        run = StackRun(fleet, fleet.submit(submission)[0].run_id).wait()
        left = parts["announce-reference"].container.wait(timeout=60)

        assert RunState.SUCCEEDED is run.state, run.reason
        assert 0 == left["StatusCode"], parts["announce-reference"].logs()
        assert [] == list(fleet.fleet().agents)

"""Compose and Kubernetes set exactly what our processes read, and agree with each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.k8s.environment import SETTINGS, compose_services, faults, process_of
from tests.contract.k8s.manifests import LIBRARIES, ROOT, Manifests, Pod

#: On one host all agents share its node; in a cluster each pod is one, with one run in it, and with a certificate that
#: was made for it.
DIFFERS = {"MOSAIC_AGENT_NODE_ID", "MOSAIC_AGENT_AGENT_ID", "MOSAIC_CONSOLE_URLS"}
#: In a cluster cert-manager issues certificates, and the registry does not have the CA's key.
COMPOSE_ALONE = {"MOSAIC_REGISTRY_CA_KEY_FILE", "MOSAIC_REGISTRY_JOIN_ADDRESS"}
AGENT_DIFFERS = {"MOSAIC_TLS_CA_FILE", "MOSAIC_TLS_CERT_FILE", "MOSAIC_TLS_KEY_FILE"}

COMPOSE = compose_services(ROOT / "docker-compose.yml")
OURS = [name for name in COMPOSE if process_of(name) in SETTINGS]


def pod_of(manifests: Manifests, service: str) -> Pod:
    """Return the pod that is the same as a service of compose."""
    return next(pod for pod in manifests.pods() if pod.name == service)


def test_kubernetes_sets_only_what_is_read_and_all_that_must_be_set(manifests: Manifests) -> None:
    found = {pod.name: faults(pod.process, manifests.environment(pod)) for pod in manifests.pods() if pod.is_ours}

    assert {name: [] for name in found} == found


@pytest.mark.parametrize("service", OURS)
def test_compose_sets_only_what_is_read_and_all_that_must_be_set(service: str) -> None:
    assert [] == faults(process_of(service), COMPOSE[service]["environment"])


def test_what_is_laid_over_compose_sets_only_what_is_read() -> None:
    overlaid = [item for path in ROOT.glob("docker-compose.*.yml") for item in compose_services(path).items()]
    for name, service in overlaid:
        if process_of(name) in SETTINGS:
            merged = {**COMPOSE[name]["environment"], **service.get("environment", {})}
            assert [] == faults(process_of(name), merged)


@pytest.mark.parametrize(
    ("variable", "value", "fault"),
    [
        (
            "MOSAIC_BROKER_ULR",
            "amqp://x",
            "MOSAIC_BROKER_ULR is read by no scheduler, did you mean",
        ),
        ("MOSAIC_SHEDULER_GRACE_S", "20", "MOSAIC_SHEDULER_GRACE_S is read by no scheduler"),
        ("MOSAIC_SCHEDULER_GRACE_S", "long", "MOSAIC_SCHEDULER_GRACE_S='long' is not a number"),
    ],
)
def test_a_variable_that_is_wrong_is_found(base: Manifests, variable: str, value: str, fault: str) -> None:
    environment = base.environment(pod_of(base, "scheduler"))

    (found,) = faults("scheduler", {**environment, variable: value})
    assert found.startswith(fault)


def test_a_setting_that_is_missing_is_found(base: Manifests) -> None:
    environment = base.environment(pod_of(base, "scheduler"))
    del environment["MOSAIC_BROKER_URL_FILE"]

    assert ["MOSAIC_BROKER_URL is not set"] == faults("scheduler", environment)


def test_the_same_parts_run_in_both(dev: Manifests) -> None:
    pods = {pod.name for pod in dev.pods() if pod.kind != "Job"}

    assert pods == set(COMPOSE) - {"secrets"}
    assert {f"agent-{library}" for library in LIBRARIES} < pods


@pytest.mark.parametrize("service", sorted(set(COMPOSE) - {"secrets"}))
def test_both_run_the_same_image(dev: Manifests, service: str) -> None:
    assert COMPOSE[service]["image"] == pod_of(dev, service).container["image"]


def test_both_run_the_same_images_on_gpus(gpu: Manifests) -> None:
    overlaid = compose_services(ROOT / "docker-compose.gpu.yml")
    agents = [name for name in OURS if process_of(name) == "agent"]
    compose = {name: overlaid[name].get("image", COMPOSE[name]["image"]) for name in agents}

    assert compose == {name: pod_of(gpu, name).container["image"] for name in agents}


@pytest.mark.parametrize("service", OURS)
def test_what_both_set_they_set_alike(dev: Manifests, service: str) -> None:
    compose: dict[str, Any] = COMPOSE[service]["environment"]
    kubernetes = dev.environment(pod_of(dev, service))
    both = (compose.keys() & kubernetes.keys()) - DIFFERS - (AGENT_DIFFERS if process_of(service) == "agent" else set())

    assert {name: str(compose[name]) for name in both} == {name: kubernetes[name] for name in both}


@pytest.mark.parametrize("service", OURS)
def test_what_compose_sets_kubernetes_sets_too(dev: Manifests, service: str) -> None:
    kubernetes = dev.environment(pod_of(dev, service))

    assert set() == COMPOSE[service]["environment"].keys() - kubernetes.keys() - COMPOSE_ALONE


@pytest.mark.parametrize("service", [name for name in COMPOSE if "ports" in COMPOSE[name]])
def test_both_listen_on_the_same_ports(dev: Manifests, service: str) -> None:
    published = {int(port.rpartition(":")[2]) for port in COMPOSE[service]["ports"]}

    assert published <= {port["port"] for port in dev.of("Service")[service]["spec"]["ports"]}


@pytest.mark.parametrize("service", OURS)
def test_both_run_as_the_same_user(dev: Manifests, service: str) -> None:
    security = pod_of(dev, service).spec["securityContext"]

    assert COMPOSE[service]["user"] == f"{security['runAsUser']}:{security['runAsGroup']}"


def test_queues_are_spread_alike(manifests: Manifests) -> None:
    """A run's queue is chosen by the number of shards: all who use it must say the same."""
    environments = [manifests.environment(pod) for pod in manifests.pods() if pod.is_ours]

    assert 1 == len({found["MOSAIC_EVENT_SHARDS"] for found in environments if "MOSAIC_EVENT_SHARDS" in found})

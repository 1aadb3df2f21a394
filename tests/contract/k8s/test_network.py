"""The network allows the arrows of the architecture, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.k8s.manifests import SERVICES, Manifests

#: Who may call whom, and on which port.
ARROWS = {
    ("client", "console", 7420),
    ("console", "registry", 50051),
    ("console", "scheduler", 50052),
    ("console", "telemetry", 50053),
    ("scheduler", "registry", 50051),
    ("agent", "registry", 50051),
    ("agent", "scheduler", 50052),
    ("agent", "rabbitmq", 5672),
    ("scheduler", "rabbitmq", 5672),
    ("telemetry", "rabbitmq", 5672),
    ("registry", "postgres", 5432),
    ("scheduler", "postgres", 5432),
    ("telemetry", "postgres", 5432),
    ("telemetry", "redis", 6379),
}

#: What other namespaces may reach: scrapes, the autoscaler's question, and the calls of clients.
FROM_OUTSIDE = {
    ("monitoring", "registry", 8081),
    ("monitoring", "scheduler", 8082),
    ("monitoring", "telemetry", 8083),
    ("monitoring", "agent", 8080),
    ("keda", "scheduler", 8082),
    ("monitoring", "console", 8084),
    ("clients", "console", 7420),
}

OUTSIDE = {
    "monitoring": {"kubernetes.io/metadata.name": "monitoring"},
    "keda": {"kubernetes.io/metadata.name": "keda"},
    "clients": {"kubernetes.io/metadata.name": "somewhere", "mosaic-fleet/clients": "true"},
    "strangers": {"kubernetes.io/metadata.name": "strangers"},
}


@dataclass(frozen=True)
class End:
    """Where an arrow may begin or end."""

    name: str
    labels: Mapping[str, str]
    #: The labels of its namespace, None for ours.
    namespace: Mapping[str, str] | None = None
    ports: tuple[int, ...] = ()


def ends(manifests: Manifests) -> Iterator[End]:
    """Yield every kind of pod, and one of somebody who uses the platform."""
    for pod in manifests.pods():
        yield End(pod.process, pod.labels, ports=tuple(port["containerPort"] for port in pod.container["ports"]))
    yield End("client", {"app.kubernetes.io/component": "client"}, ports=(80,))


def arrows(manifests: Manifests, sources: Iterable[End]) -> set[tuple[str, str, int]]:
    """Return which of *sources* may call which pod; inside the namespace both ends must allow it."""
    policies = [document["spec"] for document in manifests.of("NetworkPolicy").values()]
    return {
        (source.name, target.name, port)
        for source in sources
        for target in ends(manifests)
        for port in target.ports
        if _allows(policies, "Ingress", target, source, port)
        and (source.namespace is not None or _allows(policies, "Egress", source, target, port))
    }


def _allows(policies: Iterable[Any], direction: str, end: End, other: End, port: int) -> bool:
    chosen = [policy for policy in policies if direction in policy["policyTypes"] and _selects(policy, end)]
    if not chosen:
        return True
    word = {"Ingress": "from", "Egress": "to"}[direction]
    rules = [rule for policy in chosen for rule in policy.get(direction.lower(), ())]
    return any(
        port in [allowed["port"] for allowed in rule["ports"]] and any(_is(peer, other) for peer in rule[word])
        for rule in rules
    )


def _selects(policy: Any, end: End) -> bool:
    return _matches(policy["podSelector"], end.labels)


def _is(peer: Any, end: End) -> bool:
    if (end.namespace is None) == ("namespaceSelector" in peer):
        return False
    in_namespace = end.namespace is None or _matches(peer["namespaceSelector"], end.namespace)
    return in_namespace and _matches(peer.get("podSelector", {}), end.labels)


def _matches(selector: Any, labels: Mapping[str, str]) -> bool:
    return bool(selector.get("matchLabels", {}).items() <= labels.items())


def test_inside_the_namespace_only_the_arrows_are_allowed(dev: Manifests) -> None:
    assert ARROWS == arrows(dev, ends(dev))


def test_where_the_stores_are_elsewhere_the_other_arrows_are_the_same(base: Manifests, gpu: Manifests) -> None:
    ours = {arrow for arrow in ARROWS if arrow[1] in SERVICES}

    assert ours == arrows(base, ends(base))
    assert ours == arrows(gpu, ends(gpu))


def test_from_outside_only_scrapes_and_clients_come_in(manifests: Manifests) -> None:
    strangers = [End(name, {}, namespace=labels) for name, labels in OUTSIDE.items()]

    assert FROM_OUTSIDE == arrows(manifests, strangers)


def test_everything_that_is_not_allowed_is_denied(manifests: Manifests) -> None:
    denial = manifests.of("NetworkPolicy")["deny-everything"]["spec"]

    assert {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} == denial


def test_only_names_are_asked_for_outside_the_namespace(manifests: Manifests) -> None:
    leaving = [
        (name, [port["port"] for port in rule["ports"]])
        for name, policy in manifests.of("NetworkPolicy").items()
        for rule in policy["spec"].get("egress", ())
        if any("podSelector" not in peer or "namespaceSelector" in peer for peer in rule["to"])
    ]

    assert [("ask-for-names", [53, 53])] == leaving

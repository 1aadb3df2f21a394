"""Alerts, dashboard and triggers speak of metrics that exist, and every alert has its page in the runbook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest

from tests.contract.k8s.exposed import exposed_names
from tests.contract.k8s.manifests import ROOT, Manifests

#: What Prometheus and the kubelet say, not we.
FOREIGN = {"up", "kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"}

RUNBOOK = ROOT / "docs" / "how-to" / "runbook.md"


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return exposed_names(tmp_path_factory.mktemp("exposed"))


def metrics_in(expression: str) -> set[str]:
    """Return the metrics that a PromQL expression speaks of."""
    return {selector.name for selector in _selectors(promql_parser.parse(expression))}


def _selectors(node: Any) -> Iterator[Any]:
    """Yield the vector selectors at and below *node*."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for part in ("expr", "lhs", "rhs", "param", "vector_selector"):
        below = getattr(node, part, None)
        if below is not None:
            yield from _selectors(below)
    for argument in getattr(node, "args", None) or ():
        yield from _selectors(argument)


def rules(gpu: Manifests) -> dict[str, Any]:
    (rule,) = gpu.of("PrometheusRule").values()
    return {alert["alert"]: alert for group in rule["spec"]["groups"] for alert in group["rules"]}


def dashboard() -> dict[str, Any]:
    content = json.loads((ROOT / "k8s" / "components" / "monitoring" / "dashboard.json").read_text())
    assert isinstance(content, dict)
    return content


def queries() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def test_metrics_are_found_wherever_they_stand_in_an_expression() -> None:
    expression = "sum by (job) (rate(a_total[5m])) > 0.5 * max(b) and (c or absent(d)) unless topk(3, e offset 5m)"

    assert {"a_total", "b", "c", "d", "e"} == metrics_in(expression)


def test_alerts_speak_of_metrics_that_exist(gpu: Manifests, exposed: set[str]) -> None:
    for name, rule in rules(gpu).items():
        assert set() == metrics_in(rule["expr"]) - exposed - FOREIGN, name


def test_the_dashboard_speaks_of_metrics_that_exist(exposed: set[str]) -> None:
    for query in queries():
        assert set() == metrics_in(query.replace("$namespace", "mosaic")) - exposed, query


def test_the_autoscaler_reads_a_metric_that_exists(gpu: Manifests, exposed: set[str]) -> None:
    for job in gpu.of("ScaledJob").values():
        assert metrics_in(job["spec"]["triggers"][0]["metadata"]["valueLocation"]) <= exposed


def test_everything_that_we_expose_is_on_the_dashboard(exposed: set[str]) -> None:
    shown = {metric for query in queries() for metric in metrics_in(query.replace("$namespace", "mosaic"))}
    ours = {name.removesuffix("_bucket") for name in exposed if name.startswith("mosaic_")}
    derived = ("_sum", "_count", "_created")

    assert {name for name in ours if not name.endswith(derived)} == {name.removesuffix("_bucket") for name in shown} - {
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
    }


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells

    assert max(x for x, _ in taken) < 24


def test_every_panel_has_an_id_of_its_own() -> None:
    numbers = [panel["id"] for panel in dashboard()["panels"]]

    assert sorted(set(numbers)) == sorted(numbers)


def test_the_dashboard_is_handed_to_grafana(gpu: Manifests) -> None:
    (handed,) = [
        one for one in gpu.of("ConfigMap").values() if one["metadata"].get("labels", {}).get("grafana_dashboard")
    ]

    assert dashboard() == json.loads(handed["data"]["mosaic.json"])


def test_every_alert_has_a_section_in_the_runbook_and_no_section_is_left_over(gpu: Manifests) -> None:
    sections = {line.removeprefix("### ") for line in RUNBOOK.read_text().splitlines() if line.startswith("### Mosaic")}

    assert rules(gpu).keys() == sections
    for name, rule in rules(gpu).items():
        assert f"docs/how-to/runbook.md#{name.lower()}" == rule["annotations"]["runbook"]


def test_monitors_find_what_they_look_for(gpu: Manifests) -> None:
    (services,) = gpu.of("ServiceMonitor").values()
    (agents,) = gpu.of("PodMonitor").values()
    wanted = services["spec"]["selector"]["matchLabels"].items()
    found = {name for name, service in gpu.of("Service").items() if wanted <= service["metadata"]["labels"].items()}
    pods = {
        pod.process for pod in gpu.pods() if agents["spec"]["selector"]["matchLabels"].items() <= pod.labels.items()
    }

    assert ({"registry", "scheduler", "telemetry", "console"}, {"agent"}) == (found, pods)
    assert all("health" in {port["name"] for port in pod.container["ports"]} for pod in gpu.pods())

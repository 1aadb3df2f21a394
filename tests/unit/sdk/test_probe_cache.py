from __future__ import annotations

import json
import platform
from dataclasses import asdict

import pytest

from mosaic.agent.control.probe_cache import label_text, read_report
from mosaic.errors import WorkerBroken
from mosaic.worker.probe import ProbedWorker, ProbeReport

WORKER = ProbedWorker(
    "toy",
    "mosaic_toy",
    metadata={"name": "Toy's worker"},
    capabilities={"worker_type": "toy"},
    config_schema={"type": "object"},
    launch=("-m", "mosaic_toy"),
    versions={"platform": "the machine of the build"},
)
REPORT = ProbeReport(
    "/opt/worker/bin/python",
    (WORKER,),
    {"platform": "the machine of the build", "python": "3.11.2"},
    packages={"numpy": "2.4.6"},
)


def test_a_kept_report_is_read_back_with_the_platform_it_is_read_on(tmp_path):
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(REPORT)))

    report = read_report(path)

    assert {"platform": platform.platform(), "python": "3.11.2"} == report.versions
    assert {"platform": platform.platform()} == report.workers[0].versions
    assert WORKER.launch == report.workers[0].launch
    assert {"numpy": "2.4.6"} == report.packages


@pytest.mark.parametrize("text", ["", "[]", '{"workers": [{"no": "worker"}], "python": "", "versions": {}}'])
def test_a_report_that_cannot_be_read_is_named(tmp_path, text):
    path = tmp_path / "probe.json"
    path.write_text(text)

    with pytest.raises(WorkerBroken, match=r"probe\.json"):
        read_report(path)


def test_a_label_says_who_the_worker_is_and_can_stand_in_quotes():
    text = label_text(WORKER)

    assert "'" not in text
    assert {"name": "Toy's worker"} == json.loads(text)["metadata"]
    assert "config_schema" not in json.loads(text)

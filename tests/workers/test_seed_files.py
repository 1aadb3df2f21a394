"""Every config that the guides and upstream's forms print, read as `mosaic submit` reads it, on the real worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.run_file import RunFile, read_run_file
from mosaic.worker.spelling import as_published
from mosaic_scheduler.handlers.checks import config_faults
from mosaic_scheduler.ports import WorkerFacts

FILES = json.loads((Path(__file__).parents[1] / "golden" / "seeds" / "files.json").read_text())


@pytest.mark.parametrize("case", FILES, ids=[f"{case['worker']} {case['from']}" for case in FILES])
def test_what_the_guides_print_is_taken_or_answered_with_the_reason(
    case: Mapping[str, Any], tmp_path: Path, installed_worker: Callable[[str], Any]
) -> None:
    if "unreadable" in case:
        return  # Said before any worker is asked: tests/unit/sdk/test_cli_upstream_files.py
    path = tmp_path / "file.json"
    path.write_text(json.dumps(case["file"]))
    described: RunFile = read_run_file(path, case["worker"])
    worker = installed_worker(described.spec.worker)
    facts = worker.described()
    known = WorkerFacts(described.spec.worker, "1", facts.config_schema, facts.capabilities, None)
    spec = replace(described.spec, config=as_published(facts.config_schema, described.spec.config))
    faults = config_faults(spec, known)

    if "refused" in case:
        assert case["refused"] in "\n".join(faults)
        return
    assert [] == faults
    # What was submitted, and what a worker is handed that is started by hand, come to the same.
    by_platform = worker.run("submitted", {**spec.config, "seed": spec.seed or 1}, "--dry-run")
    by_hand = worker.run("by-hand", {**described.spec.config, "seed": spec.seed or 1}, "--dry-run")
    for run in (by_platform, by_hand):
        assert 0 == run.exit_code, run.stderr
    plans = [json.dumps(run.of("run_completed")[-1].get("plan")) for run in (by_platform, by_hand)]
    assert plans[0] == plans[1].replace("by-hand", "submitted")

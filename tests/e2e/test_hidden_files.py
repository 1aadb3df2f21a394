"""A platform on one machine whose state is hidden from what it executes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.agent.execution import kernel
from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine
from tests.stack.runs import submit, wait_for_end

#: Runs in the worker before it does: what it can open of the platform's own files.
_TRY = """
import os, pathlib
if "MOSAIC_RUN_DIR" in os.environ and not os.path.exists("tried.txt"):
    run = pathlib.Path(os.environ["MOSAIC_RUN_DIR"])
    opened = []
    for path in run.parents[1].rglob("*"):
        if path.is_file() and run not in path.parents and "workers" not in path.parts:
            try:
                path.open("rb").close()
                opened.append(str(path))
            except OSError:
                pass
    (run / "tried.txt").write_text("\\n".join(opened))
"""


@pytest.mark.skipif(not kernel.landlock_version(), reason="needs a kernel with Landlock")
def test_a_run_works_and_can_open_nothing_of_the_platform(tmp_path: Path) -> None:
    (tmp_path / "visible").mkdir()
    (tmp_path / "visible" / "sitecustomize.py").write_text(_TRY)
    variables = {"MOSAIC_AGENT_HIDE_FILES": "true", "MOSAIC_WORKER_ENV_PYTHONPATH": str(tmp_path / "visible")}
    machine = Machine(tmp_path, variables=variables)
    machine.up()
    try:
        with machine.connect() as mosaic:
            run = submit(mosaic, episodes=3, checkpoint_every=1)
            assert RunState.SUCCEEDED is wait_for_end(mosaic, run.run_id).run.state
    finally:
        machine.platform.stop()

    assert "" == (machine.runs_root / run.run_id / "tried.txt").read_text()
    assert (machine.home / "event.key").exists()

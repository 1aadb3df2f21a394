"""Write into the Dockerfiles who each worker is. Run by ``make image-labels``.

The worker is asked without its library: only the version of the library, which is not known then, stays as
it stood. The build of the image asks again, with the library, and fails when the label is not true.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKERS = Path(__file__).resolve().parents[1]

#: The reference worker has a Dockerfile of its own, libraries share one that has a stage for each.
_SHARED = WORKERS / "Dockerfile"
_ASK = """
import sys
from mosaic.agent.control.probe_cache import label_text
from mosaic.worker.anatomy import launch_arguments
from mosaic.worker.plain import plain
from mosaic.worker.probe import ProbedWorker
name, package = sys.argv[1], "mosaic_" + sys.argv[1]
metadata, capabilities = __import__(package).get_worker_metadata()
described = ProbedWorker(name, package, plain(metadata), plain(capabilities), launch=launch_arguments(package))
print(label_text(described))
"""


def current_label(worker: str) -> str:
    """Return what the Dockerfile of *worker* says."""
    match = _label(worker).search(dockerfile_of(worker).read_text(encoding="utf-8"))
    return match["text"] if match else "{}"


def true_label(worker: str) -> str:
    """Return what it should say."""
    # In a process of its own: one worker's modules must not be there when the next one is asked.
    search_path = {**os.environ, "PYTHONPATH": str(WORKERS / worker)}
    ask = [sys.executable, "-W", "ignore", "-c", _ASK, worker]
    said = subprocess.run(ask, env=search_path, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    described, stood = json.loads(said), json.loads(current_label(worker))
    if described["metadata"]["upstream_version"] is None:
        described["metadata"]["upstream_version"] = stood.get("metadata", {}).get("upstream_version")
    return _text(described)


def workers() -> list[str]:
    """Return the workers that have an image."""
    return sorted(path.parent.name for path in WORKERS.glob("*/pyproject.toml"))


def main() -> None:
    """Write every label anew."""
    for worker in workers():
        path, label = dockerfile_of(worker), true_label(worker)
        text = path.read_text(encoding="utf-8")
        written = _label(worker).sub(lambda found, label=label: f"{found['before']}'{label}'", text)
        path.write_text(written, encoding="utf-8")


def dockerfile_of(worker: str) -> Path:
    """Return what the image of *worker* is built from."""
    own = WORKERS / worker / "Dockerfile"
    return own if own.is_file() else _SHARED


def _label(worker: str) -> re.Pattern[str]:
    before = rf"FROM machine AS {worker}\nENV WORKER=" if dockerfile_of(worker) == _SHARED else "ARG WORKER="
    return re.compile(rf"^(?P<before>{before})'(?P<text>.*)'$", re.MULTILINE)


def _text(described: dict[str, Any]) -> str:
    return json.dumps(described, separators=(",", ":"), sort_keys=True).replace("'", "\\u0027")


if __name__ == "__main__":
    main()

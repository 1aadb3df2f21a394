"""Write on every worker's Dockerfile who its worker is. Run by ``make image-labels``.

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

_LABEL = re.compile(r"^ARG WORKER='(?P<text>.*)'$", re.MULTILINE)
_ASK = """
import sys
from mosaic.agent.kept_probe import label_text
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
    match = _LABEL.search(_dockerfile(worker).read_text(encoding="utf-8"))
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
    return sorted(path.parent.name for path in WORKERS.glob("*/Dockerfile") if path.parent.name != "base")


def main() -> None:
    """Write every label anew."""
    for worker in workers():
        path = _dockerfile(worker)
        before, label, after = _parts(path.read_text(encoding="utf-8"))
        if label:
            path.write_text(f"{before}ARG WORKER='{true_label(worker)}'{after}", encoding="utf-8")


def _parts(text: str) -> tuple[str, str, str]:
    label = _LABEL.search(text)
    return (text[: label.start()], label[0], text[label.end() :]) if label else (text, "", "")


def _dockerfile(worker: str) -> Path:
    return WORKERS / worker / "Dockerfile"


def _text(described: dict[str, Any]) -> str:
    return json.dumps(described, separators=(",", ":"), sort_keys=True).replace("'", "\\u0027")


if __name__ == "__main__":
    main()

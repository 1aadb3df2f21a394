"""Upstream's ``analytics.json`` of a run: the worker's own if it wrote one, else ours from its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from mosaic_telemetry.domain.facts import Fact

_FORMATS = {
    ".pt": "pytorch",
    ".pth": "pytorch",
    ".cleanrl_model": "pytorch",
    ".ckpt": "pytorch",
    ".pkl": "pickle",
    ".npz": "numpy",
}


def analytics_document(run_id: str, worker: str, facts: Sequence[Fact]) -> dict[str, Any]:
    """Return the run in the shape that upstream's tools read; absent parts are left out, as there."""
    artifacts = [fact.payload for fact in facts if fact.kind == "artifact" and fact.payload.get("path")]
    own = [item["content"] for item in artifacts if isinstance(item.get("content"), Mapping)]
    if own and "worker_type" in own[-1]:
        return {**own[-1], "run_id": run_id}
    parts = {
        "tensorboard": _tensorboard(artifacts),
        "wandb": _wandb(artifacts),
        "checkpoints": _checkpoints(artifacts),
        "logs_dir": _folder(artifacts, "log"),
        "videos_dir": _folder(artifacts, "video"),
    }
    present = {name: part for name, part in parts.items() if part}
    return {"run_id": run_id, "worker_type": worker, "artifacts": present, "metadata": {}}


def _paths(artifacts: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    return sorted({str(item["path"]) for item in artifacts if item.get("kind") == kind})


def _folder(artifacts: Iterable[Mapping[str, Any]], kind: str) -> str | None:
    paths = _paths(artifacts, kind)
    return PurePosixPath(paths[0]).parent.as_posix() if paths else None


def _tensorboard(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    folder = _folder(artifacts, "tensorboard")
    return {"log_dir": folder, "enabled": True, "port": None, "url": None} if folder else None


def _wandb(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    described = [item for item in artifacts if item.get("kind") == "wandb"]
    if not described:
        return None
    newest = described[-1]
    names = {name: str(newest.get(name) or "") for name in ("project", "run_id", "run_name", "url")}
    return {**names, "entity": newest.get("entity"), "enabled": True}


def _checkpoints(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    files = _paths(artifacts, "checkpoint")
    if not files:
        return None
    return {
        "directory": PurePosixPath(files[0]).parent.as_posix(),
        "format": _FORMATS.get(PurePosixPath(files[-1]).suffix, "none"),
        "files": files,
        "best_checkpoint": next((path for path in files if "best" in PurePosixPath(path).name), None),
        "final_checkpoint": files[-1],
    }

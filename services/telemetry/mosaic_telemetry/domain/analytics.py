"""Upstream's ``analytics.json`` of a run: the worker's own if it wrote one, else ours from its files.

Neither claims what is not there: folders are named if the run left files in them, W&B if the worker told its run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from mosaic.worker.manifest import part_to_dict, read_wandb
from mosaic_telemetry.domain.facts import Fact

_ENDS = ("run_completed", "run_failed", "run_cancelled")
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
    own = _merged([item for item in artifacts if isinstance(item.get("content"), Mapping)])
    if "worker_type" in own:
        parts = _without_empty_claims(_mapping(own.get("artifacts")), artifacts)
        known = {"run_id": run_id, "worker_type": worker or own["worker_type"]}
        return {**own, **known, "artifacts": {**parts, **_wandb(parts.get("wandb"), facts)}}
    parts = {
        "tensorboard": _tensorboard(artifacts),
        **_wandb(None, facts),
        "checkpoints": _checkpoints(artifacts),
        "logs_dir": _folder(artifacts, "log"),
        "videos_dir": _folder(artifacts, "video"),
    }
    present = {name: part for name, part in parts.items() if part}
    return {"run_id": run_id, "worker_type": worker, "artifacts": present, "metadata": {}}


def _merged(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a worker's manifests say together: ``analytics.json``, and over it what its author wrote himself."""
    merged: dict[str, Any] = {}
    for item in sorted(manifests, key=lambda item: PurePosixPath(str(item["path"])).name != "analytics.json"):
        content = _mapping(item["content"])
        both = {
            part: {**_mapping(merged.get(part)), **_mapping(content.get(part))} for part in ("artifacts", "metadata")
        }
        merged |= {**content, **both}
    return merged


def _paths(artifacts: Iterable[Mapping[str, Any]], kind: str) -> list[str]:
    return sorted({str(item["path"]) for item in artifacts if item.get("kind") == kind})


def _folder(artifacts: Iterable[Mapping[str, Any]], kind: str) -> str | None:
    paths = _paths(artifacts, kind)
    return PurePosixPath(paths[0]).parent.as_posix() if paths else None


def _tensorboard(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    folder = _folder(artifacts, "tensorboard")
    return {"log_dir": folder, "enabled": True, "port": None, "url": None} if folder else None


def _without_empty_claims(claimed: Mapping[str, Any], artifacts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a worker says it left behind, without folders of the run in which there is nothing."""
    tensorboard = claimed.get("tensorboard")
    log_dir = tensorboard.get("log_dir") if isinstance(tensorboard, Mapping) else tensorboard
    folders = {"tensorboard": log_dir, "logs_dir": claimed.get("logs_dir"), "videos_dir": claimed.get("videos_dir")}
    kinds = {"tensorboard": "tensorboard"}
    empty = {part for part, folder in folders.items() if folder and not _holds(artifacts, folder, kinds.get(part))}
    return {part: value for part, value in claimed.items() if part not in empty}


def _holds(artifacts: Iterable[Mapping[str, Any]], folder: Any, kind: str | None) -> bool:
    """Tell whether the run left a file in *folder*; of a place outside the run nobody knows."""
    place = PurePosixPath(str(folder))
    if place.is_absolute():
        return True
    files = (PurePosixPath(str(item["path"])) for item in artifacts if kind is None or item.get("kind") == kind)
    return any(file.is_relative_to(place) for file in files)


def _wandb(claimed: Any, facts: Iterable[Fact]) -> dict[str, Any]:
    """Return the entry of W&B, as the worker told it at its end or *claimed* it; nothing if it did neither."""
    told = [fact.payload.get("wandb") for fact in facts if fact.kind in _ENDS]
    entry = read_wandb({key: value for part in (claimed, *told[-1:]) for key, value in _mapping(part).items()})
    return {"wandb": part_to_dict(entry)} if entry is not None else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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

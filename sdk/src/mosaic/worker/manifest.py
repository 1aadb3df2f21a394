"""``analytics.json``: what a run left behind and where.

Paths are relative to the run directory. Writing is strict and atomic; reading is tolerant, since
such files come in several shapes: unknown keys are kept, null members are empty ones, and
``relative_path`` or ``run_path`` stand in for ``log_dir`` or a W&B url.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from mosaic.errors import BadInput
from mosaic.worker.plain import plain


class ManifestInvalid(BadInput, ValueError):
    """A manifest cannot be read."""

    code = "manifest_invalid"


class ManifestFieldMissing(ManifestInvalid, KeyError):
    """A manifest lacks what every manifest must have."""

    def __str__(self) -> str:
        # A KeyError would show the text in quotes, with its newlines escaped.
        return str(self.args[0])


@dataclass(frozen=True)
class TensorBoardMetadata:
    """Where the event files of TensorBoard are."""

    log_dir: str
    enabled: bool
    port: int | None = None
    url: str | None = None


@dataclass(frozen=True)
class WandBMetadata:
    """Which Weights & Biases run belongs to this one."""

    project: str
    entity: str | None
    run_id: str
    run_name: str
    url: str
    enabled: bool


@dataclass(frozen=True)
class CheckpointMetadata:
    """Which checkpoints exist; file names are relative to ``directory``."""

    directory: str
    format: str  #: pytorch, tensorflow, jax/pickle, ray_rllib, none, ...
    files: list[str] = field(default_factory=list)
    best_checkpoint: str | None = None
    final_checkpoint: str | None = None


@dataclass(frozen=True)
class ArtifactsMetadata:
    """Everything a run left behind; what is None or empty is left out of the file.

    A plain string for ``tensorboard`` is taken as its directory.
    """

    tensorboard: TensorBoardMetadata | None = None
    wandb: WandBMetadata | None = None
    checkpoints: CheckpointMetadata | None = None
    logs_dir: str | None = None
    videos_dir: str | None = None

    def __post_init__(self) -> None:
        """Take a directory given as text for the TensorBoard entry it means."""
        given: object = self.tensorboard
        if isinstance(given, (str, os.PathLike)):
            directory = os.fspath(given)
            coerced = TensorBoardMetadata(log_dir=directory, enabled=True) if directory else None
            object.__setattr__(self, "tensorboard", coerced)


@dataclass(frozen=True)
class WorkerAnalyticsManifest:
    """The manifest a worker writes at the end of a run."""

    run_id: str
    worker_type: str
    artifacts: ArtifactsMetadata
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; empty artifact members are left out, keys once read are kept."""
        document = {
            "run_id": self.run_id,
            "worker_type": self.worker_type,
            "artifacts": _artifacts_to_dict(self.artifacts),
            "metadata": dict(self.metadata),
        }
        return document | _kept(self)

    def save(self, path: Path) -> None:
        """Write the manifest to *path*, making its directory; a reader sees all of it or none.

        Raises:
            OSError: the file cannot be written; what stood there before is untouched.

        """
        text = json.dumps(plain(self.to_dict()), indent=2, allow_nan=False)
        write_atomically(Path(path), text)

    @classmethod
    def load(cls, path: Path) -> WorkerAnalyticsManifest:
        """Read a manifest.

        Raises:
            FileNotFoundError: there is no such file.
            ManifestInvalid: it is not JSON, or not a manifest; a ``ValueError`` too, and a
                ``KeyError`` when a required field is missing.

        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ManifestInvalid(str(path), [f"is not JSON: {error}"]) from error
        return cls._read(data, str(path))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WorkerAnalyticsManifest:
        """Build a manifest from its JSON form; raises as `load` does."""
        return cls._read(data, "manifest")

    @classmethod
    def _read(cls, data: Any, source: str) -> WorkerAnalyticsManifest:
        if not isinstance(data, Mapping):
            raise ManifestInvalid(source, [f"must be an object, is {type(data).__name__}"])
        missing = [name for name in ("run_id", "worker_type") if name not in data]
        if missing:
            raise ManifestFieldMissing(source, [f"{name} is missing" for name in missing])
        metadata = data.get("metadata")
        manifest = cls(
            run_id=data["run_id"],
            worker_type=data["worker_type"],
            artifacts=_read_artifacts(data.get("artifacts")),
            metadata=dict(metadata) if isinstance(metadata, Mapping) else {},
        )
        return _keep_unknown(manifest, data)


def write_atomically(path: Path, text: str) -> None:
    """Write *text* as UTF-8 so that *path* holds either the old content or all of the new.

    Raises:
        OSError: it could not be written; nothing of it is left behind.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives 0600, but the agent that collects the file may be another user.
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _artifacts_to_dict(artifacts: ArtifactsMetadata) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for part in ("tensorboard", "wandb", "checkpoints"):
        member = getattr(artifacts, part)
        if member:
            document[part] = part_to_dict(member)
    for directory in ("logs_dir", "videos_dir"):
        if getattr(artifacts, directory):
            document[directory] = getattr(artifacts, directory)
    return document | _kept(artifacts)


def part_to_dict(part: TensorBoardMetadata | WandBMetadata | CheckpointMetadata) -> dict[str, Any]:
    """Return the JSON form of one member; keys once read are kept."""
    return asdict(part) | _kept(part)


def _read_artifacts(data: Any) -> ArtifactsMetadata:
    if not isinstance(data, Mapping):
        return ArtifactsMetadata()
    artifacts = ArtifactsMetadata(
        tensorboard=_read_tensorboard(data.get("tensorboard")),
        wandb=read_wandb(data.get("wandb")),
        checkpoints=_read_checkpoints(data.get("checkpoints")),
        logs_dir=data.get("logs_dir"),
        videos_dir=data.get("videos_dir"),
    )
    return _keep_unknown(artifacts, data)


def _read_tensorboard(data: Any) -> TensorBoardMetadata | None:
    if isinstance(data, str) and data:
        return TensorBoardMetadata(log_dir=data, enabled=True)
    if not isinstance(data, Mapping) or not data:
        return None
    # Where both are given, log_dir is an absolute path of the machine that wrote it.
    directory = data.get("relative_path") or data.get("log_dir") or ""
    entry = TensorBoardMetadata(directory, data.get("enabled", True), data.get("port"), data.get("url"))
    return _keep_unknown(entry, data)


def read_wandb(data: Any) -> WandBMetadata | None:
    """Return the W&B run that *data* tells of, as a manifest or a run's summary tells it; None if it tells of none."""
    if not isinstance(data, Mapping) or not data:
        return None
    entry = WandBMetadata(
        project=data.get("project") or "",
        entity=data.get("entity"),
        run_id=data.get("run_id") or "",
        run_name=data.get("run_name") or "",
        url=_wandb_url(data),
        enabled=data.get("enabled", True),
    )
    return _keep_unknown(entry, data)


def _wandb_url(data: Mapping[str, Any]) -> str:
    """Return where the run can be seen; a path that stands for the address becomes one, unless nothing was sent."""
    url, run_path = data.get("url"), data.get("run_path")
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        return url
    path = run_path or url
    if not isinstance(path, str) or not path or data.get("mode") == "offline":
        return ""
    # A path is entity/project/id, where its page is entity/project/runs/id.
    parts = path.strip("/").split("/")
    return "https://wandb.ai/" + "/".join([*parts[:2], "runs", parts[2]] if len(parts) == 3 else parts)


def _read_checkpoints(data: Any) -> CheckpointMetadata | None:
    if not isinstance(data, Mapping) or not data:
        return None
    entry = CheckpointMetadata(
        directory=data.get("directory") or "",
        format=data.get("format") or "none",
        files=list(data.get("files") or []),
        best_checkpoint=data.get("best_checkpoint"),
        final_checkpoint=data.get("final_checkpoint"),
    )
    return _keep_unknown(entry, data)


PartT = TypeVar("PartT")


def _keep_unknown(part: PartT, data: Mapping[str, Any]) -> PartT:
    """Remember on *part* what *data* says beyond its fields, for `to_dict` to say again."""
    known = {known_field.name for known_field in fields(part)}  # type: ignore[arg-type]
    unknown = {key: value for key, value in data.items() if key not in known}
    if unknown:
        # Not a field: equality and the constructor stay those of the contract.
        object.__setattr__(part, "_unknown_keys", unknown)
    return part


def _kept(part: object) -> dict[str, Any]:
    kept: dict[str, Any] = getattr(part, "_unknown_keys", {})
    return dict(kept)

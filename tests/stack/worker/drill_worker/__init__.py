"""A worker for tests: it trains nothing, exactly, and misbehaves on request."""

from __future__ import annotations

from mosaic.worker import WorkerCapabilities, WorkerMetadata

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Describe the worker."""
    metadata = WorkerMetadata(
        name="Drill",
        version=__version__,
        description="Misbehaves on request.",
        author="MOSAIC Fleet",
        homepage="",
        upstream_library=None,
        upstream_version=None,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="drill",
        supported_paradigms=("sequential",),
        supports_checkpointing=True,
        cpu_cores=1,
        estimated_memory_mb=32,
        resume_grade="A",
    )
    return metadata, capabilities

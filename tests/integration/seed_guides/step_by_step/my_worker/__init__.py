"""My Worker - MOSAIC integration."""

from .config import MyWorkerConfig, load_worker_config
from .runtime import MyWorkerRuntime

__version__ = "1.0.0"


def get_worker_metadata() -> tuple:
    """Return worker metadata and capabilities for MOSAIC discovery.

    This function is called by the MOSAIC worker discovery system via
    entry points to register this worker with the framework.

    Returns:
        Tuple of (WorkerMetadata, WorkerCapabilities)
    """
    from gym_gui.core.worker import WorkerMetadata, WorkerCapabilities

    metadata = WorkerMetadata(
        name="My Worker",
        version=__version__,
        description="My awesome RL worker",
        author="Your Name",
        homepage="https://github.com/your/repo",
        upstream_library="mylib",
        upstream_version="1.0.0",
        license="MIT",
    )

    capabilities = WorkerCapabilities(
        worker_type="myworker",
        supported_paradigms=(
            "sequential",  # Single-agent training
        ),
        env_families=(
            "gymnasium",
            "atari",
        ),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=1,
        supports_self_play=False,
        supports_population=False,
        supports_checkpointing=True,
        supports_pause_resume=False,
        requires_gpu=False,
        gpu_memory_mb=None,
        cpu_cores=1,
        estimated_memory_mb=512,
    )

    return metadata, capabilities


__all__ = [
    "__version__",
    "MyWorkerConfig",
    "load_worker_config",
    "MyWorkerRuntime",
    "get_worker_metadata",
]

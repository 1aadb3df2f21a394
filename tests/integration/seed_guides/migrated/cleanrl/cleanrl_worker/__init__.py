from .config import CleanRLWorkerConfig
from .runtime import CleanRLWorkerRuntime


def get_worker_metadata() -> tuple:
    from gym_gui.core.worker import WorkerMetadata, WorkerCapabilities

    metadata = WorkerMetadata(
        name="CleanRL Worker",
        version="1.0.0",
        description="CleanRL after the migration",
        author="Your Name",
        homepage="https://github.com/your/repo",
        upstream_library="cleanrl",
        upstream_version="1.0.0",
        license="MIT",
    )

    capabilities = WorkerCapabilities(
        worker_type="cleanrl",
        supported_paradigms=("sequential",),
        env_families=("gymnasium",),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=1,
        supports_checkpointing=True,
    )

    return metadata, capabilities


__all__ = ["CleanRLWorkerConfig", "CleanRLWorkerRuntime", "get_worker_metadata"]

from .config import BarlogWorkerConfig
from .runtime import BarlogWorkerRuntime


def get_worker_metadata() -> tuple:
    from gym_gui.core.worker import WorkerMetadata, WorkerCapabilities

    metadata = WorkerMetadata(
        name="BARLOG Worker",
        version="1.0.0",
        description="BARLOG after the migration",
        author="Your Name",
        homepage="https://github.com/your/repo",
        upstream_library="barlog",
        upstream_version="1.0.0",
        license="MIT",
    )

    capabilities = WorkerCapabilities(
        worker_type="barlog",
        supported_paradigms=("sequential",),
        env_families=("gymnasium",),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=1,
        supports_checkpointing=True,
    )

    return metadata, capabilities


__all__ = ["BarlogWorkerConfig", "BarlogWorkerRuntime", "get_worker_metadata"]

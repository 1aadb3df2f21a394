# xuance_worker/__init__.py
from .config import XuanCeWorkerConfig
from .runtime import XuanCeWorkerRuntime

__version__ = "0.1.0"


# Added get_worker_metadata()
def get_worker_metadata() -> tuple:
    """Return worker metadata and capabilities for MOSAIC discovery."""
    from gym_gui.core.worker import WorkerMetadata, WorkerCapabilities

    metadata = WorkerMetadata(
        name="XuanCe Worker",
        version=__version__,
        description="Comprehensive deep RL library with 46+ algorithms",
        author="MOSAIC Team",
        homepage="https://github.com/agi-brain/xuance",
        upstream_library="xuance",
        upstream_version="2.0.0",
        license="MIT",
    )

    capabilities = WorkerCapabilities(
        worker_type="xuance",
        supported_paradigms=("sequential", "parameter_sharing", "independent"),
        env_families=("gymnasium", "atari", "mujoco", "pettingzoo", "smac"),
        action_spaces=("discrete", "continuous", "multi_discrete"),
        observation_spaces=("vector", "image", "dict"),
        max_agents=100,
        supports_checkpointing=True,
    )

    return metadata, capabilities


__all__ = [
    "XuanCeWorkerConfig",
    "XuanCeWorkerRuntime",
    "get_worker_metadata",
]

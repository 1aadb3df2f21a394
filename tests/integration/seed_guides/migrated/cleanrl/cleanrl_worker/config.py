# cleanrl_worker/config.py
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict

@dataclass
class CleanRLWorkerConfig:
    run_id: str
    algo: str
    env_id: str
    total_timesteps: int = 1_000_000
    seed: int | None = 1

    def __post_init__(self) -> None:
        """Validate configuration and assert protocol compliance."""
        if not self.run_id:
            raise ValueError("run_id is required")
        if not self.algo:
            raise ValueError("algo is required")
        if self.total_timesteps < 1:
            raise ValueError("total_timesteps must be >= 1")

        # Protocol compliance check
        try:
            from gym_gui.core.worker import WorkerConfig as WorkerConfigProtocol
            assert isinstance(self, WorkerConfigProtocol)
        except ImportError:
            pass  # gym_gui not available, skip check

    def to_dict(self) -> Dict[str, Any]:
        return {
            "run_id": self.run_id,
            "algo": self.algo,
            "env_id": self.env_id,
            "total_timesteps": self.total_timesteps,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "CleanRLWorkerConfig":
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})


# Added config loader
def load_worker_config(config_path: str) -> CleanRLWorkerConfig:
    """Load worker configuration from JSON file."""
    path = Path(config_path)
    if not path.exists():
        raise FileNotFoundError(f"Config file not found: {config_path}")

    with open(path) as f:
        raw_data = json.load(f)

    # Handle nested metadata.worker.config structure from GUI
    if "metadata" in raw_data and "worker" in raw_data["metadata"]:
        worker_data = raw_data["metadata"]["worker"]
        config_data = worker_data.get("config", {})
    else:
        config_data = raw_data

    return CleanRLWorkerConfig.from_dict(config_data)

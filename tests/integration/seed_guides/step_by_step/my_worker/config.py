"""Configuration dataclass for My Worker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict

@dataclass
class MyWorkerConfig:
    """Configuration for My Worker training runs.

    This dataclass implements the WorkerConfig protocol.

    Attributes:
        run_id: Unique identifier for this run (REQUIRED by protocol)
        env_id: Environment to train on
        algorithm: Algorithm name
        total_steps: Total training steps
        seed: Random seed (REQUIRED by protocol, can be None)
        learning_rate: Learning rate
        batch_size: Batch size
    """

    # Protocol-required fields
    run_id: str
    seed: int | None = None

    # Worker-specific fields
    env_id: str = "CartPole-v1"
    algorithm: str = "dqn"
    total_steps: int = 100_000
    learning_rate: float = 1e-4
    batch_size: int = 32

    def __post_init__(self) -> None:
        """Validate configuration and assert protocol compliance."""
        # Validate required fields
        if not self.run_id:
            raise ValueError("run_id is required")
        if not self.env_id:
            raise ValueError("env_id is required")

        # Validate ranges
        if self.total_steps < 1:
            raise ValueError("total_steps must be >= 1")
        if self.learning_rate <= 0:
            raise ValueError("learning_rate must be > 0")

        # Protocol compliance assertion (graceful fallback if gym_gui unavailable)
        try:
            from gym_gui.core.worker import WorkerConfig as WorkerConfigProtocol
            assert isinstance(self, WorkerConfigProtocol), (
                "MyWorkerConfig must implement WorkerConfig protocol"
            )
        except ImportError:
            pass  # gym_gui not available, skip protocol check

    def to_dict(self) -> Dict[str, Any]:
        """Convert config to dictionary (REQUIRED by protocol)."""
        return {
            "run_id": self.run_id,
            "seed": self.seed,
            "env_id": self.env_id,
            "algorithm": self.algorithm,
            "total_steps": self.total_steps,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
        }

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "MyWorkerConfig":
        """Create config from dictionary (REQUIRED by protocol)."""
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})

    def to_json(self, indent: int = 2) -> str:
        """Serialize to JSON string."""
        return json.dumps(self.to_dict(), indent=indent)


def load_worker_config(config_path: str) -> MyWorkerConfig:
    """Load worker configuration from JSON file.

    Handles both direct config format and nested metadata.worker.config structure.

    Args:
        config_path: Path to JSON configuration file

    Returns:
        Parsed MyWorkerConfig object

    Raises:
        FileNotFoundError: If config file doesn't exist
    """
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
        # Direct config format
        config_data = raw_data

    return MyWorkerConfig.from_dict(config_data)


__all__ = ["MyWorkerConfig", "load_worker_config"]

from dataclasses import dataclass
from typing import Any, Dict

@dataclass
class MyWorkerConfig:
    run_id: str
    env_id: str
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("run_id is required")

        # Protocol compliance check
        try:
            from gym_gui.core.worker import WorkerConfig as WorkerConfigProtocol
            assert isinstance(self, WorkerConfigProtocol)
        except ImportError:
            pass  # gym_gui not available, skip check

    def to_dict(self) -> Dict[str, Any]:
        return {"run_id": self.run_id, "env_id": self.env_id, "seed": self.seed}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "MyWorkerConfig":
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})

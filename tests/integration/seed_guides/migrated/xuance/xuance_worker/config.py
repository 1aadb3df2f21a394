from dataclasses import dataclass, fields
from typing import Any, Dict


@dataclass
class XuanCeWorkerConfig:
    run_id: str
    env_id: str = "CartPole-v1"
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("run_id is required")

        # Protocol compliance check
        try:
            from gym_gui.core.worker import WorkerConfig as WorkerConfigProtocol
            assert isinstance(self, WorkerConfigProtocol)
        except ImportError:
            pass

    def to_dict(self) -> Dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "XuanCeWorkerConfig":
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})

"""The config: read from a flat file only, checked at the end of its own construction."""

import json
from dataclasses import dataclass, fields
from typing import Any, Dict, Optional

from gym_gui.core.worker import WorkerConfig

ENV_NAMES = ("babyai", "minigrid")


@dataclass
class TalkerWorkerConfig:
    run_id: str
    env_name: str = "babyai"
    task: str = "corridor"
    num_episodes: int = 3
    max_steps: int = 4
    api_key: Optional[str] = None
    telemetry_dir: str = None
    seed: Optional[int] = None

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("run_id is required")
        if self.env_name not in ENV_NAMES:
            raise ValueError(f"env_name must be one of {ENV_NAMES}")
        if self.num_episodes < 1 or self.max_steps < 1:
            raise ValueError("num_episodes and max_steps must be at least 1")
        assert isinstance(self, WorkerConfig)

    def to_dict(self) -> Dict[str, Any]:
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**told, "api_key": "***" if self.api_key else None}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "TalkerWorkerConfig":
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in known})

    @classmethod
    def from_json_file(cls, path: str) -> "TalkerWorkerConfig":
        with open(path) as file:
            return cls.from_dict(json.load(file))

"""The runtime: everything of the platform is imported in one block, and without it nothing is told."""

import json
import logging
import random
import sys
from datetime import datetime
from pathlib import Path

from gym_gui.config.paths import VAR_OPERATORS_TELEMETRY_DIR
from gym_gui.logging_config.helpers import log_constant
from gym_gui.services.trainer.proto import trainer_pb2, trainer_pb2_grpc
from gym_gui.telemetry.semconv import TelemetryEnv, VideoModes

from .config import TalkerWorkerConfig

try:
    from gym_gui.core.worker import ArtifactsMetadata, CheckpointMetadata, TelemetryEmitter, WorkerAnalyticsManifest
    from gym_gui.logging_config.log_constants import (
        LOG_MOSAIC_WORKER_LLM_ACTION_DEFAULTED,
        LOG_MOSAIC_WORKER_LLM_ACTION_SELECTED,
        LOG_MOSAIC_WORKER_LLM_AGENT_CREATED,
        LOG_MOSAIC_WORKER_LLM_CONFIG_LOADED,
        LOG_MOSAIC_WORKER_LLM_DEBUG,
        LOG_MOSAIC_WORKER_LLM_ENV_CREATED,
        LOG_MOSAIC_WORKER_LLM_EPISODE_AUTO_RESET,
        LOG_MOSAIC_WORKER_LLM_EPISODE_COMPLETED,
        LOG_MOSAIC_WORKER_LLM_EPISODE_STARTED,
        LOG_MOSAIC_WORKER_LLM_EPISODE_TELEMETRY,
        LOG_MOSAIC_WORKER_LLM_ERROR,
        LOG_MOSAIC_WORKER_LLM_REQUEST,
        LOG_MOSAIC_WORKER_LLM_RESPONSE,
        LOG_MOSAIC_WORKER_LLM_RUNTIME_ERROR,
        LOG_MOSAIC_WORKER_LLM_RUNTIME_STARTED,
        LOG_MOSAIC_WORKER_LLM_RUNTIME_STOPPED,
        LOG_MOSAIC_WORKER_LLM_STEP_TELEMETRY,
        LOG_WORKER_MOSAIC_ACTION_PARSE_FAILED,
        LOG_WORKER_MOSAIC_ACTION_PARSED,
        LOG_WORKER_MOSAIC_OBSERVATION_EGOCENTRIC,
        LOG_WORKER_MOSAIC_OBSERVATION_TEAMMATES,
        LOG_WORKER_MOSAIC_PROMPT_GENERATED,
        LOG_WORKER_MOSAIC_RUNTIME_INTEGRATION,
    )

    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False

logger = logging.getLogger("talker_worker")


class TalkerWorkerRuntime:
    def __init__(self, config: TalkerWorkerConfig) -> None:
        self.config = config
        self.random = random.Random(config.seed)
        self.telemetry_dir = Path(config.telemetry_dir or VAR_OPERATORS_TELEMETRY_DIR)
        self._emitter = TelemetryEmitter(run_id=config.run_id, logger=logger) if _HAS_GYM_GUI else None

    def run(self) -> dict:
        if self._emitter:
            started = {"worker_type": "talker", "env_id": self.config.task, "seed": self.config.seed}
            self._emitter.run_started(started, constant=LOG_MOSAIC_WORKER_LLM_RUNTIME_STARTED)
        returns = [self._play(index) for index in range(self.config.num_episodes)]
        self._write_manifest()
        if self._emitter:
            log_constant(logger, LOG_WORKER_MOSAIC_RUNTIME_INTEGRATION, extra={"run_id": self.config.run_id})
            ended = {"episodes": len(returns), "total_reward": sum(returns)}
            self._emitter.run_completed(ended, constant=LOG_MOSAIC_WORKER_LLM_RUNTIME_STOPPED)
        return {"status": "completed", "episodes": len(returns)}

    def _play(self, index: int) -> float:
        total = 0.0
        for step in range(self.config.max_steps):
            reward = round(self.random.random(), 6)
            total += reward
            self._print({"type": "step", "episode_index": index, "step_index": step, "reward": reward, "action": "go"})
        self._print({"type": "episode", "episode_index": index, "num_steps": step + 1, "total_reward": total})
        return total

    def _print(self, record: dict) -> None:
        record = {**record, "run_id": self.config.run_id, "episode_id": f"{self.config.run_id}-{record['episode_index']}"}
        record["timestamp"] = datetime.utcnow().isoformat()
        print(json.dumps(record), flush=True)

    def _write_manifest(self) -> None:
        if not _HAS_GYM_GUI:
            return
        checkpoints = CheckpointMetadata(directory=None, format="none")
        artifacts = ArtifactsMetadata(checkpoints=checkpoints, logs_dir=str(self.telemetry_dir))
        manifest = WorkerAnalyticsManifest(run_id=self.config.run_id, worker_type="talker", artifacts=artifacts)
        manifest.save(self.telemetry_dir / f"{self.config.run_id}_analytics.json")

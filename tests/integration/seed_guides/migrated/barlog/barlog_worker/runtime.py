# barlog_worker/runtime.py
from types import SimpleNamespace
from typing import Dict, Any

from .analytics import write_analytics_manifest

# Import standardized telemetry
try:
    from gym_gui.core.worker import TelemetryEmitter as StandardTelemetryEmitter
    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False
    StandardTelemetryEmitter = None

class BarlogWorkerRuntime:
    def __init__(self, config):
        self.config = config

        # Create lifecycle telemetry emitter
        if _HAS_GYM_GUI:
            self._lifecycle_emitter = StandardTelemetryEmitter(run_id=config.run_id)
        else:
            self._lifecycle_emitter = None

    def run(self) -> Dict[str, Any]:
        # Emit run_started lifecycle event
        if self._lifecycle_emitter:
            self._lifecycle_emitter.run_started({
                "env_name": self.config.env_name,
                "task": self.config.task,
                "agent_type": self.config.agent_type,
            })

        try:
            result = self._train()

            # Generate analytics manifest
            manifest_path = write_analytics_manifest(
                self.config,
                notes=f"BARLOG {self.config.agent_type} on {self.config.task}",
            )

            summary = {
                "status": "completed",
                "episodes": result.episodes,
                "analytics_manifest": str(manifest_path),
            }

            # Emit run_completed lifecycle event
            if self._lifecycle_emitter:
                self._lifecycle_emitter.run_completed(summary)

            return summary

        except Exception as e:
            error_summary = {
                "status": "failed",
                "error": str(e),
            }

            # Emit run_failed lifecycle event
            if self._lifecycle_emitter:
                self._lifecycle_emitter.run_failed(error_summary)

            raise

    def _train(self):
        return SimpleNamespace(episodes=3)

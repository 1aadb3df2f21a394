from typing import Dict, Any

from .config import MyWorkerConfig

try:
    from gym_gui.core.worker import TelemetryEmitter
    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False
    TelemetryEmitter = None

class MyWorkerRuntime:
    def __init__(self, config: MyWorkerConfig):
        self.config = config
        if _HAS_GYM_GUI:
            self._emitter = TelemetryEmitter(run_id=config.run_id)
        else:
            self._emitter = None

    def run(self) -> Dict[str, Any]:
        # Emit lifecycle events
        if self._emitter:
            self._emitter.run_started({"env_id": self.config.env_id})

        try:
            # Your training logic here
            result = self._train()

            summary = {"status": "completed", "result": result}

            if self._emitter:
                self._emitter.run_completed(summary)

            return summary
        except Exception as e:
            error_summary = {"status": "failed", "error": str(e)}
            if self._emitter:
                self._emitter.run_failed(error_summary)
            raise

    def _train(self):
        # Implement your training logic
        pass

from typing import Any, Dict

try:
    from gym_gui.core.worker import TelemetryEmitter
    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False
    TelemetryEmitter = None


class CleanRLWorkerRuntime:
    def __init__(self, config):
        self.config = config
        if _HAS_GYM_GUI:
            self._emitter = TelemetryEmitter(run_id=config.run_id)
        else:
            self._emitter = None

    def run(self) -> Dict[str, Any]:
        # START
        if self._emitter:
            self._emitter.run_started({"env_id": self.config.env_id})

        try:
            result = self._train()

            summary = {"status": "completed", "result": result}

            # SUCCESS
            if self._emitter:
                self._emitter.run_completed(summary)

            return summary

        except Exception as e:
            error_summary = {"status": "failed", "error": str(e)}

            # FAILURE
            if self._emitter:
                self._emitter.run_failed(error_summary)

            raise

    def _train(self):
        for step in range(3_000):
            reward = step % 7

            if step % 1000 == 0 and self._emitter:
                self._emitter.heartbeat({"step": step, "reward": reward})

        return {"steps": 3_000}

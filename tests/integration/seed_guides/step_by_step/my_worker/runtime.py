"""Runtime orchestration for My Worker."""

from __future__ import annotations

import logging
from typing import Any, Dict

from .config import MyWorkerConfig

# Import standardized telemetry
try:
    from gym_gui.core.worker import TelemetryEmitter
    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False
    TelemetryEmitter = None

# Import analytics
try:
    from .analytics import write_analytics_manifest
    _HAS_ANALYTICS = True
except ImportError:
    _HAS_ANALYTICS = False
    write_analytics_manifest = None

LOGGER = logging.getLogger(__name__)


class MyWorkerRuntime:
    """Orchestrate My Worker training execution.

    Example:
        >>> config = MyWorkerConfig(run_id="test", env_id="CartPole-v1")
        >>> runtime = MyWorkerRuntime(config)
        >>> summary = runtime.run()
        >>> print(summary["status"])
        'completed'
    """

    def __init__(self, config: MyWorkerConfig, *, dry_run: bool = False):
        """Initialize runtime.

        Args:
            config: Worker configuration
            dry_run: If True, validate without executing
        """
        self.config = config
        self._dry_run = dry_run

        # Create lifecycle telemetry emitter
        if _HAS_GYM_GUI:
            self._emitter = TelemetryEmitter(run_id=config.run_id)
        else:
            self._emitter = None

    def run(self) -> Dict[str, Any]:
        """Execute training run.

        Returns:
            Dictionary with execution results (compatible with standardized interface)

        Raises:
            Exception: Propagated from training on failure
        """
        # Emit run_started lifecycle event
        if self._emitter:
            self._emitter.run_started({
                "env_id": self.config.env_id,
                "algorithm": self.config.algorithm,
                "total_steps": self.config.total_steps,
            })

        if self._dry_run:
            LOGGER.info("Dry-run mode | env_id=%s", self.config.env_id)
            summary = {
                "status": "dry-run",
                "env_id": self.config.env_id,
                "config": self.config.to_dict(),
            }
            if self._emitter:
                self._emitter.run_completed(summary)
            return summary

        try:
            LOGGER.info(
                "Starting training | env_id=%s algorithm=%s steps=%d",
                self.config.env_id,
                self.config.algorithm,
                self.config.total_steps,
            )

            # Execute your training logic
            result = self._train()

            LOGGER.info("Training completed | env_id=%s", self.config.env_id)

            # Generate analytics manifest
            manifest_path = None
            if _HAS_ANALYTICS:
                try:
                    manifest_path = write_analytics_manifest(
                        self.config,
                        notes=f"Training {self.config.algorithm} on {self.config.env_id}",
                    )
                    LOGGER.info("Analytics manifest written to: %s", manifest_path)
                except Exception as e:
                    LOGGER.warning("Failed to write analytics manifest: %s", e)

            summary = {
                "status": "completed",
                "env_id": self.config.env_id,
                "result": result,
                "config": self.config.to_dict(),
                "analytics_manifest": str(manifest_path) if manifest_path else None,
            }

            # Emit run_completed lifecycle event
            if self._emitter:
                self._emitter.run_completed(summary)

            return summary

        except Exception as e:
            LOGGER.error("Training failed: %s", e, exc_info=True)

            error_summary = {
                "status": "failed",
                "env_id": self.config.env_id,
                "error": str(e),
                "config": self.config.to_dict(),
            }

            # Emit run_failed lifecycle event
            if self._emitter:
                self._emitter.run_failed(error_summary)

            raise

    def _train(self) -> Dict[str, Any]:
        """Execute training loop.

        Returns:
            Training results dictionary
        """
        # Emit heartbeat during training
        if self._emitter:
            self._emitter.heartbeat({
                "step": 1000,
                "episode_reward": 42.0,
            })

        return {
            "final_reward": 100.0,
            "episodes": 50,
        }


__all__ = ["MyWorkerRuntime"]

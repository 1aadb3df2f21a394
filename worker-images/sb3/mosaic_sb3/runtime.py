"""The runtime: that of the template, around Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.worker.library.runtime import LibraryRuntime
from mosaic_sb3.algorithms import find_algorithm


class SB3Runtime(LibraryRuntime):
    """Trains one algorithm of Stable-Baselines3."""

    worker = "sb3"
    library = "stable-baselines3"
    trainer = "mosaic_sb3.trainer:SB3Trainer"

    def plan(self) -> Mapping[str, Any]:
        """Return the arguments that are not the library's own, and the code that trains with them."""
        algorithm, config = find_algorithm(self.config.algo), self.config
        told = "".join(f", {name}={value!r}" for name, value in config.algo_params.items())
        code = f"{algorithm.name}({config.policy_name!r}, {config.env_id!r}, seed={config.seed}{told})"
        code = f"from {algorithm.package} import {algorithm.name}; {code}.learn({config.total_steps})"
        return {"arguments": {**algorithm.defaults, **config.algo_params}, "code": code}

    def found_out(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what settings that were left open have come to."""
        return {**super().found_out(arguments), "num_envs": self.config.num_envs or 1}

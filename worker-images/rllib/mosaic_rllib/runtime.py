"""The runtime: that of the template, with a Ray of its own around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker.library.checkpoints import About, mismatches
from mosaic.worker.library.runtime import LibraryRuntime
from mosaic.worker.library.settings import DEFAULT, PRESET, Resolved
from mosaic_rllib.catalog import is_multi_agent
from mosaic_rllib.config import UNDECIDED
from mosaic_rllib.instance import leave_ray
from mosaic_rllib.plan import leased_cpus, make_plan


class RLlibRuntime(LibraryRuntime):
    """Trains one algorithm of Ray RLlib.

    RLlib takes seconds to import, so whatever needs it is imported when it is used.
    """

    worker = "rllib"
    library = "ray"
    trainer = "mosaic_rllib.trainer:RLlibTrainer"

    def run(self) -> dict[str, Any]:
        """Train or evaluate as the template does; whatever happens, nothing of Ray stays."""
        try:
            return super().run()
        finally:
            leave_ray(is_hasty=self.control.is_stopping)

    def run_interactive(self) -> dict[str, Any]:
        """Answer commands with a policy of one agent."""
        if is_multi_agent(self.config.env_id):
            raise BadInput("env_id", [f"{self.config.env_id} has several agents; --interactive plays one"])
        return super().run_interactive()

    def check(self) -> None:
        """Refuse what cannot be made, or not be trained in this way; the environment is made for that."""
        from mosaic_rllib.environments import cast_of

        cast_of(self.config)

    def plan(self) -> Mapping[str, Any]:
        """Return what RLlib would be told, and the Python that one would write for it."""
        made = make_plan(self.config, leased_cpus(self._environment), on_gpu=self._on_gpu)
        return {"arguments": self.config.algo_params, "code": made.as_code(), "ray_cpus": made.ray_cpus}

    def settings(self, arguments: Mapping[str, Any]) -> Resolved:
        """Return every setting that runs; where the worker itself changes a default of RLlib, that is a preset."""
        from mosaic_rllib.algorithm import usual_arguments

        usual = usual_arguments(self.config.algo)
        changed = {name for name, value in arguments.items() if name in usual and value != usual[name]}
        settings = super().settings(arguments)
        presets = {name for name, entry in settings.items() if name in changed and entry["origin"] == DEFAULT}
        return {name: {**entry, "origin": PRESET} if name in presets else entry for name, entry in settings.items()}

    def found_out(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what settings that were left open have come to."""
        found = {name: arguments[name] for name in ("policies", "num_env_runners", "num_envs")}
        return {**super().found_out(arguments), **found}

    def taken_over(self, about: About) -> Mapping[str, Any]:
        """Share out policies, and make the environment, as it was done for the checkpoint."""
        theirs = {name: entry["value"] for name, entry in about.settings.items()}
        policies, ours = theirs.get("policies", UNDECIDED), self.config.policies
        if ours != UNDECIDED and (faults := mismatches(("policies", policies, ours))):
            raise BadInput("the checkpoint", faults)
        return {"policies": policies, "env_kwargs": self.config.env_kwargs or theirs.get("env_kwargs", {})}

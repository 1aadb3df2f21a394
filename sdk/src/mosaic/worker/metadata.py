"""What a worker says about itself before it has run anything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkerMetadata:
    """Who made the worker and which library it wraps. Nothing here is validated."""

    name: str
    version: str
    description: str
    author: str
    homepage: str
    upstream_library: str | None  #: distribution name of the wrapped library, if there is one
    upstream_version: str | None
    license: str  #: an SPDX identifier


@dataclass(frozen=True)
class WorkerCapabilities:
    """What the worker can do and what it needs; runs are matched against it before they start.

    Field order is part of the contract, since positional construction is allowed. Everything
    that most workers would repeat has a default.
    """

    worker_type: str
    supported_paradigms: tuple[str, ...] = ()
    env_families: tuple[str, ...] = ()
    action_spaces: tuple[str, ...] = ()
    observation_spaces: tuple[str, ...] = ()
    max_agents: int = 1
    supports_self_play: bool = False
    supports_population: bool = False
    supports_checkpointing: bool = False
    supports_pause_resume: bool = False
    requires_gpu: bool = False
    gpu_memory_mb: int | None = None  #: None when it does not matter or is not known
    cpu_cores: int = 1
    estimated_memory_mb: int = 512
    #: How faithfully it goes on from its checkpoints, as ``mosaic workers check`` grades it: A, B or C.
    #: Only runs of grade A or B are asked to leave for others; None when nobody has measured it.
    resume_grade: str | None = None

    def supports_paradigm(self, paradigm: str) -> bool:
        """Tell whether *paradigm* is one the worker trains in."""
        return paradigm in self.supported_paradigms

    def supports_env_family(self, env_family: str) -> bool:
        """Tell whether environments of *env_family* can be used."""
        return env_family in self.env_families

    def is_multi_agent(self) -> bool:
        """Tell whether more than one agent may learn at once."""
        return self.max_agents > 1

"""A worker as upstream's own are built: its own command, its own parser, its own event lines.

It knows `gym_gui` and has never heard of `mosaic`.
"""


def get_worker_metadata():
    from gym_gui.core.worker import WorkerCapabilities, WorkerMetadata

    metadata = WorkerMetadata(
        name="Talker",
        version="0.1.0",
        description="Lets a scripted speaker walk through a corridor.",
        author="Someone",
        homepage="https://example.org/talker",
        upstream_library=None,
        upstream_version=None,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="talker",
        supported_paradigms=("llm_agent", "evaluation"),
        env_families=("babyai", "minigrid"),
        action_spaces=("discrete", "text"),
        observation_spaces=("text",),
        max_agents=1,
        supports_self_play=False,
        supports_population=False,
        supports_checkpointing=False,
        supports_pause_resume=False,
        requires_gpu=False,
        gpu_memory_mb=None,
        cpu_cores=1,
        estimated_memory_mb=256,
    )
    return metadata, capabilities

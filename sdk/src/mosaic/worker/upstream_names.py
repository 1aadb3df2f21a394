"""The names that upstream's forms, guides and workers have for settings, and what becomes of each here.

This is the only list of them: the scheduler reads a submitted config by it, and a worker the file it is started with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

#: Another name: the setting that it means in a worker that has it.
OTHER_NAMES: Mapping[str, str] = {
    "algorithm": "algo",
    "method": "algo",
    "total_timesteps": "total_steps",
    "running_steps": "total_steps",
    "parallels": "num_envs",
    "num_envs_per_worker": "num_envs",
    "num_envs_per_env_runner": "num_envs",
    "num_workers": "num_env_runners",
    "use_cuda": "cuda",
    "gpu": "cuda",
    "track": "track_wandb",
    "wandb": "track_wandb",
    "wandb_project_name": "wandb_project",
    "wandb_name": "wandb_run_name",
    "checkpoint_path": "policy_path",
    "eval_capture_video": "capture_video",
    "keep_checkpoints_num": "keep_checkpoints",
}

#: The hyper-parameters that one name may mean, by library; the first that the algorithm has is meant.
_OTHER_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "learning_rate": ("learning_rate", "lr", "policy_lr"),
    "lr": ("lr", "learning_rate"),
    "train_batch_size": ("train_batch_size_per_learner",),
    "sgd_minibatch_size": ("minibatch_size",),
    "num_sgd_iter": ("num_epochs",),
}

#: Algorithms that have another name here.
_OTHER_ALGORITHMS: Mapping[str, str] = {"ppo_clip": "ppo", "mappo_clip": "mappo"}

_BY_LEASE = "the lease decides; ask for --cpus and --gpus"
_NO_FRAMES = "pictures are not streamed from this worker"
_NOT_BATCHED = "an evaluation is one batch of eval_episodes"
#: Names that change nothing here, and why. They stay with the run, and its log names them.
WITHOUT_EFFECT: Mapping[str, str] = {
    "agent_id": "is kept as a label of the run",
    "worker_id": "is kept as a label of the run",
    "wandb_email": "the key decides whose run it is; it is kept with the run",
    "schema_id": "the schema of the worker is published by the agent",
    "schema_version": "the schema of the worker is published by the agent",
    "schema_definition": "the schema of the worker is published by the agent",
    "supports_checkpoint": "the worker itself says whether it saves checkpoints",
    "supports_pause": "the worker itself says whether it can be paused",
    "env": "the family follows from env_id",
    "env_family": "the family follows from env_id",
    "api_type": "how agents take turns follows from env_id",
    "render_mode": "capture_video asks for films",
    "num_workers": "this library plays in one process; num_envs says how many environments",
    "num_cpus_per_worker": _BY_LEASE,
    "num_gpus_per_worker": _BY_LEASE,
    "num_gpus": _BY_LEASE,
    "total_frames": "no algorithm takes it; total_steps says how long to train",
    "tensorboard": "event files are always written",
    "output_dir": "files go into the run directory",
    "checkpoint_dir": "checkpoints go into the run directory",
    "config_path": "the library's own defaults are used; write what differs into algo_params",
    "checkpoint_freq": "it counts iterations; checkpoint_every counts steps",
    "checkpoint_at_end": "a checkpoint is always saved at the end",
    "export_policy": "a checkpoint holds the policy",
    "eval_batch_size": _NOT_BATCHED,
    "eval_repeat": _NOT_BATCHED,
    "eval_gamma": "returns of evaluations are not discounted",
    "eval_max_episode_steps": "the environment's own limit ends an episode",
    "eval_max_episode_seconds": "the environment's own limit ends an episode",
    "raw": "it repeats the config",
    "fastlane_enabled": _NO_FRAMES,
    "fastlane_only": _NO_FRAMES,
    "fastlane_slot": _NO_FRAMES,
    "fastlane_video_mode": _NO_FRAMES,
    "fastlane_grid_limit": _NO_FRAMES,
    "fastlane_throttle_ms": _NO_FRAMES,
}

#: What would be another training if it were passed over, and why it cannot be had.
REFUSED: Mapping[str, str] = {
    "curriculum_schedule": "a curriculum is not offered; submit one run per stage, with --continue",
    "procedural_generation": "new levels per episode are the environment's own choice here; name one that has them",
}

#: The names of what a network is computed with, and the values that say what is installed.
_BACKENDS = ("backend", "framework", "dl_toolbox")
_TORCH = ("torch", "pytorch")
#: Sections of upstream's RLlib config whose entries are settings here.
_SECTIONS = ("environment", "training", "resources", "checkpoint")
_POLICIES = {"parameter_sharing": "shared", "independent": "independent"}


def translate(
    data: Mapping[str, Any],
    settings: Collection[str],
    *,
    algorithms: Iterable[str] = (),
    parameters: Callable[[str], Collection[str]] = lambda algo: (),
    default_algo: str = "",
) -> dict[str, Any]:
    """Return *data* by a worker's own names: its *settings*, and the hyper-parameters that *parameters* tells.

    What is known and changes nothing is moved into ``extras``; what is not known stays where it is, to be refused.
    A worker without ``extras`` has only its own names translated. A setting that has both names keeps its own.
    """
    told = own_names(_without_sections(data, settings), settings)
    if not {"extras", "algo_params"} <= set(settings):
        return told
    told, kept = _without_effect(_renamed_values(_env_named(told, settings), settings, algorithms), settings)
    inner = told.pop("extras", {})
    if not isinstance(inner, Mapping):
        return {**told, "extras": inner}
    takes = set(parameters(str(told.get("algo", default_algo))))
    extras = _own_parameters(_renamed_values(own_names(inner, settings), settings, ()), takes)
    found = _parameters({name: told[name] for name in told if name not in settings}, takes)
    told = {name: value for name, value in told.items() if name not in found}
    for place in (told, extras):
        params = place.get("algo_params")
        if isinstance(params, Mapping):
            lifted = {name: params[name] for name in params if name not in takes and name in settings}
            own, unused = _without_effect({name: params[name] for name in params if name not in lifted}, takes)
            place["algo_params"] = _own_parameters(own, takes)
            kept = {**unused, **kept}
            told = {**lifted, **told}
    if found:
        told["algo_params"] = {**dict(found.values()), **_mapping(told.get("algo_params"))}
    if extras or kept or "extras" in data:
        told["extras"] = {**kept, **extras}
    return told


def _without_effect(told: Mapping[str, Any], known: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of *told* does something, or is not known; and what changes nothing."""
    unused = {name: told[name] for name in told if name in WITHOUT_EFFECT and name not in known}
    return {name: value for name, value in told.items() if name not in unused}, unused


def _env_named(told: Mapping[str, Any], settings: Collection[str]) -> dict[str, Any]:
    """Return *told*, where ``env`` alone names the environment, and beside ``env_id`` its family."""
    if "env" in told and "env_id" not in told and "env" not in settings:
        return {"env_id" if name == "env" else name: value for name, value in told.items()}
    return dict(told)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def own_names(data: Mapping[str, Any], settings: Collection[str]) -> dict[str, Any]:
    """Return *data* with the worker's own names of its *settings*; what has both names keeps that of the worker."""
    other = {
        name: own for name, own in OTHER_NAMES.items() if name in data and own in settings and name not in settings
    }
    return {own: data[name] for name, own in other.items()} | {
        name: value for name, value in data.items() if name not in other
    }


def remarks(extras: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each name in *extras* that is known and changes nothing."""
    return [f"{name}: {WITHOUT_EFFECT[name]}" for name in sorted(extras) if name in WITHOUT_EFFECT]


def reason(name: str, value: Any) -> str | None:
    """Return why *name*, which upstream knows, cannot be taken with that *value*; None of a name it does not know."""
    last = name.rpartition(".")[2]
    if last in _BACKENDS:
        return f"{value} is not installed; the libraries here learn with torch"
    return REFUSED.get(last)


def _without_sections(data: Mapping[str, Any], settings: Collection[str]) -> dict[str, Any]:
    """Return *data* with the sections of upstream's RLlib config laid flat."""
    flat: dict[str, Any] = {}
    for name in _SECTIONS:
        if name not in settings and isinstance(data.get(name), Mapping):
            flat |= data[name]
    if "family" in flat:
        flat["env_family"] = flat.pop("family")
    rest = {name: value for name, value in data.items() if name in settings or name not in _SECTIONS or name == "env"}
    kept = {name: data[name] for name in _SECTIONS if name in data and not isinstance(data[name], Mapping)}
    return {**flat, **rest, **kept}


def _renamed_values(told: Mapping[str, Any], settings: Collection[str], algorithms: Iterable[str]) -> dict[str, Any]:
    """Return *told* without what says nothing new, and with values that are written otherwise here."""
    out = dict(told)
    for name in _BACKENDS:
        if name not in settings and str(out.get(name)).lower() in (*_TORCH, "none"):
            out.pop(name, None)
    device = out.get("device")
    if "device" not in settings and isinstance(device, str) and (device == "cpu" or device.startswith("cuda")):
        del out["device"]
        out.setdefault("cuda", device != "cpu")
    if "policies" in settings:
        for name in ("policy_configuration", "paradigm"):
            if name in out:
                said = out.pop(name)
                out.setdefault("policies", _POLICIES.get(said, said))
    if "mode" in settings and out.get("test_mode") is not None:
        out.setdefault("mode", "policy_eval" if out.pop("test_mode") else "train")
    algo = out.get("algo")
    if isinstance(algo, str):
        names = set(algorithms)
        short = _OTHER_ALGORITHMS.get(algo.lower(), algo.lower())
        out["algo"] = short if algo not in names and short in names else algo
    return out


def _parameters(told: Mapping[str, Any], takes: Collection[str]) -> dict[str, tuple[str, Any]]:
    """Return those of *told* that are hyper-parameters: by the name they have there, their own name and value."""
    return {name: (own, value) for name, value in told.items() if (own := _own_parameter(name, takes))}


def _own_parameters(told: Mapping[str, Any], takes: Collection[str]) -> dict[str, Any]:
    own = {_own_parameter(name, takes) or name: value for name, value in told.items() if name not in takes}
    return {**own, **{name: value for name, value in told.items() if name in takes}}


def _own_parameter(name: str, takes: Collection[str]) -> str | None:
    if name in takes:
        return name
    return next((own for own in _OTHER_PARAMETERS.get(name, ()) if own in takes), None)

"""Every setting that ran, and where it came from: asked for, of a preset, or the default of worker and library."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from mosaic.worker.plain import plain

ASKED = "asked"
PRESET = "preset"
DEFAULT = "default"

#: A value and its origin, by name; what the event ``settings_resolved`` holds.
Resolved = dict[str, dict[str, Any]]

#: Told elsewhere: by the run itself, beside its settings.
_OF_THE_RUN = frozenset({"run_id", "worker_id", "agent_id", "seed"})
#: These say how long to go on, what to look at and where to write it, not what is learned and how.
_NOT_LEARNED_WITH = frozenset(
    {
        *("total_steps", "mode", "policy_path", "checkpoint_every", "keep_checkpoints", "replay_limit_mb"),
        *("eval_every", "eval_episodes", "eval_policy", "capture_video", "metrics_every", "emit_steps"),
        *("tensorboard_dir", "track_wandb", "notes", "extras", "cuda", "device", "step_delay_s"),
    }
)


def resolve(defaults: Mapping[str, Any], asked: Mapping[str, Any], preset: Mapping[str, Any] | None = None) -> Resolved:
    """Return the settings that count: *asked* before *preset* before *defaults*, each with its origin."""
    layers = ((DEFAULT, defaults), (PRESET, preset or {}), (ASKED, asked))
    resolved = {name: _entry(value, origin) for origin, layer in layers for name, value in layer.items()}
    return {name: entry for name, entry in sorted(resolved.items()) if name not in _OF_THE_RUN}


def resolve_config(config: Mapping[str, Any], asked: Collection[str]) -> Resolved:
    """Return the fields of *config*, those named in *asked* as asked for and the others as defaults."""
    return resolve(config, {name: value for name, value in config.items() if name in asked})


def settings_digest(settings: Resolved) -> str:
    """Return a digest of what is learned with; runs that differ only in length, seed or reporting share it."""
    kept = {
        name: entry["value"]
        for name, entry in settings.items()
        if name not in _NOT_LEARNED_WITH and not name.startswith("wandb_")
    }
    return "sha256:" + hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _entry(value: Any, origin: str) -> dict[str, Any]:
    return {"value": plain(value), "origin": origin}

"""The catalogue of log messages, resolved by name.

Workers import these by the dozen inside one ``try``: a single missing name would silence all their
telemetry. So every name that begins with ``LOG_`` exists here. Those that workers use have their
code; any other gets one made of its name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mosaic.compat.logcode import LogConstant

_SESSION = (
    "RUNTIME_STARTED RUNTIME_STOPPED RUNTIME_ERROR EPISODE_STARTED EPISODE_COMPLETED LLM_REQUEST "
    "LLM_RESPONSE LLM_ERROR ACTION_SELECTED STEP_TELEMETRY EPISODE_TELEMETRY CONFIG_LOADED ENV_CREATED "
    "AGENT_CREATED DEBUG"
)
_LANGUAGE_SESSION = _SESSION.replace("LLM_", "")

#: prefix -> suffixes: ``SUFFIX=number``, or after a bare number suffixes that count up from it.
_TABLE = {
    "LOG_WORKER_CLEANRL_": (
        "431 RUNTIME_STARTED RUNTIME_COMPLETED RUNTIME_FAILED MODULE_RESOLVED CONFIG_LOADED "
        "TENSORBOARD_ENABLED WANDB_ENABLED HEARTBEAT SUBPROCESS_STARTED SUBPROCESS_FAILED "
        "ANALYTICS_MANIFEST_CREATED=443 EPISODE_AUTO_RESET=1063"
    ),
    "LOG_WORKER_POLICY_EVAL_": "STARTED=918 COMPLETED=919 BATCH_STARTED=961 BATCH_COMPLETED=962",
    "LOG_WORKER_RAY_": (
        "446 RUNTIME_STARTED RUNTIME_COMPLETED RUNTIME_FAILED CLUSTER_STARTED RLLIB_TRAINING_STARTED=453 "
        "CHECKPOINT_SAVED=455 457 TENSORBOARD_ENABLED WANDB_ENABLED HEARTBEAT ANALYTICS_MANIFEST_CREATED "
        "LOG_FILE_CREATED ALGORITHM_BUILT RUNTIME_HEARTBEAT=459"
    ),
    "LOG_WORKER_XUANCE_": (
        "RUNTIME_STARTED=1016 RUNTIME_STOPPED=1017 RUNTIME_ERROR=1018 TRAINING_STARTED=1021 "
        "TRAINING_COMPLETED=1023 CONFIG_LOADED=1024 AGENT_CREATED=1026 DEBUG=1029"
    ),
    "LOG_OPERATOR_": "VIEW_SIZE_CONFIGURED=739",
    "LOG_WORKER_BALROG_": f"1001 {_SESSION} EPISODE_AUTO_RESET=1059 ACTION_DEFAULTED=1060",
    "LOG_WORKER_MOSAIC_": (
        "1038 PROMPT_GENERATED OBSERVATION_EGOCENTRIC OBSERVATION_TEAMMATES ACTION_PARSED "
        "ACTION_PARSE_FAILED RUNTIME_INTEGRATION"
    ),
    "LOG_MOSAIC_WORKER_LLM_": f"1044 {_LANGUAGE_SESSION} EPISODE_AUTO_RESET=1061 ACTION_DEFAULTED=1062",
    "LOG_MOSAIC_WORKER_VLM_": f"1071 {_LANGUAGE_SESSION} EPISODE_AUTO_RESET=1086 ACTION_DEFAULTED=1087",
}

#: The wrapped library, as it is written in a component's name.
_SPELLING = {"cleanrl": "CleanRL", "xuance": "XuanCe", "llm": "LLM", "vlm": "VLM"}


def _numbered(prefix: str, entries: str) -> Iterator[tuple[str, str]]:
    following = 0
    for entry in entries.split():
        suffix, _, number = entry.partition("=")
        if entry.isdigit():
            following = int(entry)
        elif number:
            yield f"{prefix}{suffix}", f"LOG{number}"
        else:
            yield f"{prefix}{suffix}", f"LOG{following}"
            following += 1


def _level(name: str) -> int:
    if name.endswith(("_FAILED", "_ERROR")):
        return logging.ERROR
    if name.endswith(("_DEBUG", "_HEARTBEAT", "_STEP_TELEMETRY", "_LLM_REQUEST", "_LLM_RESPONSE")):
        return logging.DEBUG
    return logging.INFO


def _subcomponent(words: list[str]) -> str:
    subject = next((word for word in words if word not in ("worker", "mosaic")), "worker")
    return f"{_SPELLING.get(subject, subject.capitalize())}Runtime"


def _tags(words: list[str]) -> tuple[str, ...]:
    subject = next((word for word in words if word not in ("worker", "mosaic")), "worker")
    milestones = {
        "started",
        "completed",
        "failed",
        "stopped",
        "error",
        "heartbeat",
        "created",
        "enabled",
        "saved",
    }
    return (subject, "worker", *(("lifecycle",) if milestones & set(words) else ()))


def _constant(name: str, code: str) -> LogConstant:
    words = name.lower().split("_")[1:]
    component = "Worker" if "worker" in words else words[0].capitalize() if words else "Mosaic"
    message = " ".join(words).capitalize()
    return LogConstant(code, _level(name), message, component, _subcomponent(words), _tags(words))


_CODES = {name: code for prefix, entries in _TABLE.items() for name, code in _numbered(prefix, entries)}


def __getattr__(name: str) -> LogConstant:
    if not name.startswith("LOG_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    constant = _constant(name, _CODES.get(name, name))
    globals()[name] = constant
    return constant


def _known() -> list[LogConstant]:
    return [__getattr__(name) for name in _CODES]


#: Every constant whose code is known.
ALL_LOG_CONSTANTS: tuple[LogConstant, ...] = tuple(_known())


def get_constant_by_code(code: str) -> LogConstant | None:
    """Return the constant with *code*, or None."""
    return next((constant for constant in ALL_LOG_CONSTANTS if constant.code == code), None)


def list_known_components() -> list[str]:
    """Return the components that have constants, sorted."""
    return sorted({constant.component for constant in ALL_LOG_CONSTANTS})


def get_component_snapshot() -> dict[str, set[str]]:
    """Return the subcomponents of each component."""
    snapshot: dict[str, set[str]] = {}
    for constant in ALL_LOG_CONSTANTS:
        snapshot.setdefault(constant.component, set()).add(constant.subcomponent)
    return snapshot


def validate_log_constants() -> list[str]:
    """Return what is wrong with the catalogue; nothing, as it is made from a table."""
    return []

"""Which environment variables a submission may set.

A worker runs code: that is the product. A submission does not: what an interpreter, a loader or a library reads to
find code is refused, whoever allows it; of the rest only what is known to be a setting is taken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

#: For whatever a worker wants to be told: nothing reads these names by itself.
OWN_PREFIX = "MOSAIC_ENV_"

#: Settings of libraries that load no code and name no place. Whole families are not here: OMP_TOOL_LIBRARIES,
#: CUDA_INJECTION64_PATH and NCCL_NET_PLUGIN, for example, load what they name.
ALLOWED = frozenset(
    {
        *("CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUBLAS_WORKSPACE_CONFIG"),
        *("HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE"),
        *("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT", "TRANSFORMERS_OFFLINE", "TRANSFORMERS_VERBOSITY"),
        *("JAX_DEBUG_NANS", "JAX_DISABLE_JIT", "JAX_ENABLE_X64", "JAX_PLATFORMS", "JAX_DEFAULT_MATMUL_PRECISION"),
        *("KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_DYNAMIC", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"),
        *("NCCL_DEBUG", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SOCKET_IFNAME", "NCCL_ASYNC_ERROR_HANDLING"),
        *("OMP_DYNAMIC", "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_WAIT_POLICY"),
        *("OPENBLAS_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ENABLE_MPS_FALLBACK", "TORCH_NUM_THREADS"),
        *("TORCH_LOGS", "TORCH_SHOW_CPP_STACKTRACES", "NVIDIA_TF32_OVERRIDE", "TOKENIZERS_PARALLELISM"),
        *("TF_CPP_MIN_LOG_LEVEL", "TF_DETERMINISTIC_OPS", "TF_ENABLE_ONEDNN_OPTS", "TF_FORCE_GPU_ALLOW_GROWTH"),
        *("XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE"),
        *("WANDB_BASE_URL", "WANDB_CONSOLE", "WANDB_DISABLED", "WANDB_ENTITY", "WANDB_INIT_TIMEOUT"),
        *("WANDB_JOB_TYPE", "WANDB_MODE", "WANDB_NAME", "WANDB_NOTES", "WANDB_PROJECT", "WANDB_RUN_GROUP"),
        *("WANDB_SILENT", "WANDB_TAGS", "TRACK_TENSORBOARD", "TRACK_WANDB"),
        *("MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_AUDIODRIVER", "SDL_VIDEODRIVER"),
        *("LANG", "LC_ALL", "NO_COLOR", "TQDM_DISABLE", "TQDM_MININTERVAL", "TZ"),
    }
)

MAX_VARIABLES = 64
#: Characters of a name and of a value.
MAX_SIZES = (128, 4096)

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What decides which code runs, or where it is looked for.
_CODE = re.compile(
    r"PYTHON.*|LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS"
    r"|PATH|HOME|USER|LOGNAME|SHELL|ENV|BASH_.*|IFS|CDPATH|PS4|PROMPT_COMMAND|TMPDIR|TEMP|TMP|VIRTUAL_ENV|CONDA_.*"
    r"|BROWSER|PAGER|EDITOR|VISUAL|DISPLAY|PERL.*|RUBY.*|NODE_.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|GIT_.*|SSH_.*|PIP_.*|UV_.*"
    r"|CC|CXX|NVCC_.*|CUDA_HOME|CUDA_PATH|CUDA_INJECTION.*|CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES"
    r"|OMP_TOOL.*|KMP_TOOL.*|NCCL_.*PLUGIN.*|NCCL_CONF_FILE|OPENSSL_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
    r"|WANDB_.*EXECUTABLE|_WANDB_.*|HF_MODULES_CACHE|MPLBACKEND|TRITON_.*|TORCHINDUCTOR_.*|RAY_.*HOOK.*|.*_PRELOAD",
    re.IGNORECASE,
)
#: What the platform tells every worker.
_PLATFORM = re.compile(
    r"MOSAIC_(RUN_ID|WORKER|TEAM|USER|ATTEMPT|RUN_DIR|CHECKPOINT_DIR|HEARTBEAT_S|RESUME_FROM|AGENT_.*|BROKER_.*|TOKEN.*)"
)
_KEYS = re.compile(
    r"(.*_)?(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|ACCESS_KEY_ID)", re.IGNORECASE
)
#: How keys begin that people paste: Hugging Face, OpenAI and Anthropic, GitHub, GitLab, Slack, AWS, Google, JWT, ours.
_KEY_VALUES = re.compile(
    r"hf_[A-Za-z0-9]{20}|sk-[A-Za-z0-9_-]{20}|gh[oprsu]_[A-Za-z0-9]{20}|github_pat_|glpat-[A-Za-z0-9_-]{16}"
    r"|xox[abprs]-|(AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30}|eyJ[A-Za-z0-9_-]{8,}\.eyJ|mosaic_pat_"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)


def submitted_faults(
    environment: Mapping[str, str], secrets: Collection[str], *, also: Collection[str] = ()
) -> list[str]:
    """Return what is wrong with the variables of a submission; *secrets* are the names that hold its secrets.

    *also* are names that its worker declares and the operator of the fleet adds; ``NAME_*`` means all that begin so.
    """
    faults = [*unsafe_faults(environment, secrets)]
    if len(environment) > MAX_VARIABLES:
        faults.append(f"environment has {len(environment)} variables, {MAX_VARIABLES} are allowed")
    for name, value in environment.items():
        if _unsafe(name):
            continue
        if is_key(name) or _KEY_VALUES.search(value):
            faults.append(
                f"environment.{name} looks like a key or token and would be stored with the run; "
                f"keep it as a secret and hand that over (--secret {name}=NAME)"
            )
        elif not _is_allowed(name, also):
            faults.append(
                f"environment.{name} is not a variable that a submission may set; use a setting of the worker, a name "
                f"that begins with {OWN_PREFIX}, or ask the operator to add it (MOSAIC_SCHEDULER_ENVIRONMENT_NAMES)"
            )
        if len(value) > MAX_SIZES[1]:
            faults.append(f"environment.{name} has {len(value)} characters, {MAX_SIZES[1]} are allowed")
    return faults


def unsafe_faults(environment: Iterable[str], secrets: Iterable[str]) -> Iterator[str]:
    """Yield which names nobody may set for a worker: illegal ones, the platform's, and those that lead to code."""
    for field, names in (("environment", environment), ("secrets", secrets)):
        for name in names:
            if why := _unsafe(name):
                yield f"{field}.{name[: MAX_SIZES[0]]}: {why}"


def is_key(name: str) -> bool:
    """Tell whether what has this name is a key, a token or a password."""
    return bool(_KEYS.fullmatch(name))


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of a setting that lists them: ``HF_HOME, MY_LIBRARY_*``."""
    return tuple(text.replace(",", " ").split())


def _unsafe(name: str) -> str:
    if not _LEGAL.fullmatch(name) or len(name) > MAX_SIZES[0]:
        return f"is not a name of a variable (letters, digits and _, not a digit first, at most {MAX_SIZES[0]})"
    if _PLATFORM.fullmatch(name):
        return "is set by the platform; leave it out"
    if _CODE.fullmatch(name):
        return "decides which code runs or where it is found; install that in the worker's environment instead"
    return ""


def _is_allowed(name: str, also: Collection[str]) -> bool:
    if name in ALLOWED or name.startswith(OWN_PREFIX):
        return True
    return any(name == one or (one.endswith("*") and len(one) > 1 and name.startswith(one[:-1])) for one in also)

"""What this machine has to give: CPUs, memory and GPUs, as far as this process may use them."""

from __future__ import annotations

import hashlib
import math
import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.ids import GpuId, NodeId
from mosaic.model.fleet import Gpu, Node

#: ``sim:N`` or ``sim:N:MEMORY_MB`` stands for N simulated GPUs; ``none`` for no GPU at all.
GPUS_VARIABLE = "MOSAIC_GPUS"

_SIMULATED_MEMORY_MB = 16_384
_MEBIBYTE = 1024 * 1024
_CGROUPS = Path("/sys/fs/cgroup")


def look_around(env: Mapping[str, str], *, node_id: str = "") -> Node:
    """Return what this process may use of the machine it is on.

    Raises:
        BadInput: ``MOSAIC_GPUS`` cannot be read.

    """
    node = node_id or default_node_id()
    return Node(NodeId(node), socket.gethostname(), count_cpus(), measure_memory_mb(), find_gpus(env, node))


def default_node_id() -> str:
    """Return a name for this machine that stays the same and differs from its neighbours'."""
    hostname = socket.gethostname()
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    digest = hashlib.sha256(f"{hostname}:{machine}".encode()).hexdigest()[:8]
    readable = "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in hostname)[:100]
    return f"{readable.strip('.-') or 'node'}-{digest}"


def count_cpus(cgroups: Path = _CGROUPS) -> int:
    """Return the whole CPUs this process may use: affinity and cgroup quota, at least one."""
    allowed = float(len(os.sched_getaffinity(0)))
    for folder in _own_cgroups("cpu", cgroups):
        quota = _cpu_quota(folder)
        if quota is not None:
            allowed = min(allowed, quota)
    return max(1, math.floor(allowed))


def measure_memory_mb(cgroups: Path = _CGROUPS) -> int:
    """Return the memory this process may use: the machine's, or less where a cgroup says so."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder in _own_cgroups("memory", cgroups):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _read_number(folder / name)
            if limit is not None and limit > 0:
                limits.append(limit)
    return min(limits) // _MEBIBYTE


def memory_left(cgroups: Path = _CGROUPS) -> float:
    """Return the part of the machine's memory, or of that of a cgroup around us, that could be had at once."""
    machine = _read_fields(Path("/proc/meminfo"))
    parts = [machine.get("MemAvailable:", 1) / (machine.get("MemTotal:") or 1)]
    for folder in _own_cgroups("memory", cgroups):
        limit, used = _read_number(folder / "memory.max"), _read_number(folder / "memory.current")
        if limit and used is not None:
            used -= _read_fields(folder / "memory.stat").get("inactive_file", 0)
            parts.append(max(0.0, 1 - used / limit))
    return min(parts)


def count_oom_kills(cgroups: Path = _CGROUPS) -> int:
    """Return how often the kernel killed something in our cgroup for memory; 0 where it does not say."""
    return max((_read_field(path, "oom_kill") for path in _oom_counters(cgroups)), default=0)


def find_gpus(env: Mapping[str, str], node_id: str) -> tuple[Gpu, ...]:
    """Return the GPUs: those of NVML, or what ``MOSAIC_GPUS`` asks to simulate.

    Raises:
        BadInput: the variable cannot be read.

    """
    wanted = env.get(GPUS_VARIABLE, "")
    if wanted == "none":
        return ()
    return _simulated_gpus(wanted, node_id) if wanted else _nvml_gpus()


def _simulated_gpus(wanted: str, node_id: str) -> tuple[Gpu, ...]:
    word, _, numbers = wanted.partition(":")
    count, _, memory = numbers.partition(":")
    if word != "sim" or not count.isdigit() or (memory and not memory.isdigit()):
        raise BadInput(GPUS_VARIABLE, [f"{wanted!r} is neither sim:N nor sim:N:MEMORY_MB nor none"])
    size = int(memory or _SIMULATED_MEMORY_MB)
    cards = ((GpuId(f"GPU-sim-{node_id}-{index}"), index) for index in range(int(count)))
    return tuple(Gpu(gpu_id, "simulated", size, index=index) for gpu_id, index in cards)


def _nvml_gpus() -> tuple[Gpu, ...]:
    try:
        import pynvml
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()  # no driver here: an ordinary machine without GPUs
    try:
        return tuple(_nvml_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    finally:
        pynvml.nvmlShutdown()


def _nvml_gpu(pynvml: object, index: int) -> Gpu:
    nvml: Any = pynvml
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
        return Gpu(
            GpuId(_text(nvml.nvmlDeviceGetUUID(handle))),
            _text(nvml.nvmlDeviceGetName(handle)),
            memory // _MEBIBYTE,
            index=index,
        )
    except nvml.NVMLError:
        # A card that fell off the bus is still counted, so that the operator sees it.
        return Gpu(GpuId(f"GPU-lost-{index}"), "unknown", 0, healthy=False, index=index)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _own_cgroups(controller: str, root: Path) -> list[Path]:
    """Return the folders, from ours up to the root, that may limit *controller*."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    folders: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            folders += _upwards(root, path)
        elif controller in controllers.split(","):
            folders += _upwards(root / controller, path)
    return folders


def _upwards(mount: Path, path: str) -> list[Path]:
    # Inside a container our path may not be visible below the mount; the mount itself then is ours.
    folder = mount / path.lstrip("/")
    return [part for part in (folder, *folder.parents) if part == mount or mount in part.parents]


def _cpu_quota(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    microseconds = _read_number(folder / "cpu.cfs_quota_us")
    period_us = _read_number(folder / "cpu.cfs_period_us")
    return microseconds / period_us if microseconds and microseconds > 0 and period_us else None


@lru_cache
def _oom_counters(cgroups: Path) -> tuple[Path, ...]:
    # Looked up once: a process stays in its cgroup, and every attempt asks twice.
    names = ("memory.events", "memory.oom_control")
    candidates = [folder / name for folder in _own_cgroups("memory", cgroups) for name in names]
    return tuple(path for path in candidates if path.exists())


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _read_field(path: Path, name: str) -> int:
    return _read_fields(path).get(name, 0)


def _read_fields(path: Path) -> dict[str, int]:
    try:
        return {words[0]: int(words[1]) for line in path.read_text().splitlines() if len(words := line.split()) > 1}
    except (OSError, ValueError):
        return {}

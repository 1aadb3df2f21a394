"""Install the library of a worker image into its environment, exactly as its lock says.

    python library.py ENVIRONMENT LOCK [--torch cpu|cuda] [--wheels DIRECTORY] [--torch-index URL]

torch is published twice under one version: built for CUDA on PyPI, and smaller, for CPUs only, on an index
of its own. The lock accepts both files; this chooses where to look.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
#: What torch needs for CUDA; the CPU build needs none of it.
CUDA_LOCK = Path(__file__).with_name("cuda.lock")

#: Where an agent looks for what its worker's environment was made from.
RECORD = "mosaic-environment.json"

_TORCH = re.compile(r"^torch==[^\s;+]+", re.MULTILINE)


def pip_arguments(lock: Path, *, torch: str, wheels: Path, torch_index: str = TORCH_CPU_INDEX) -> list[str]:
    """Return what ``pip install`` is told: everything in *lock*, and nothing that is not in it."""
    # A lock is whole and tested: what a library says of itself, also of Python, is not asked again.
    arguments = ["--no-deps", "--ignore-requires-python", "--require-hashes", "--requirement", str(lock)]
    if not _TORCH.search(lock.read_text(encoding="utf-8")):
        return arguments
    if torch == "cuda":
        return [*arguments, "--requirement", str(CUDA_LOCK)]
    # A build on the spot comes first: the index need not be within reach then.
    if any(wheels.glob("torch-*.whl")):
        return [*arguments, "--find-links", str(wheels)]
    return [*arguments, "--extra-index-url", torch_index]


def choose_torch(lock: Path, torch: str) -> None:
    """Let *lock* name the build of *torch* that is wanted; its hashes are those of both."""
    if torch == "cpu":
        # By version alone pip would prefer the file whose hash the index tells, which is the one for CUDA.
        lock.write_text(_TORCH.sub(r"\g<0>+cpu", lock.read_text(encoding="utf-8")), encoding="utf-8")


def write_record(environment: Path, lock: bytes) -> None:
    """Write down in *environment* from which *lock* it was made."""
    record = {"lock_digest": f"sha256:{hashlib.sha256(lock).hexdigest()}"}
    (environment / RECORD).write_text(json.dumps(record), encoding="utf-8")


def main() -> int:
    """Make the environment and fill it."""
    parser = argparse.ArgumentParser(description="Install the library of a worker image.")
    parser.add_argument("environment", type=Path)
    parser.add_argument("lock", type=Path)
    parser.add_argument("--torch", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--torch-index", default=TORCH_CPU_INDEX)
    parser.add_argument("--wheels", type=Path, default=Path("/wheels"))
    asked = parser.parse_args()
    arguments = pip_arguments(asked.lock, torch=asked.torch, wheels=asked.wheels, torch_index=asked.torch_index)
    lock = asked.lock.read_bytes()
    choose_torch(asked.lock, asked.torch)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(asked.environment)], check=True)
    write_record(asked.environment, lock)
    pip = [sys.executable, "-m", "pip", "--python", str(asked.environment / "bin" / "python"), "install", "--quiet"]
    return subprocess.run([*pip, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

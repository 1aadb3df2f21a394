"""Write the lock of every image: exact versions with the hashes of their files. Run by ``make image-locks``.

Services and the agent take the versions of the workspace's own lock. A worker keeps the versions it was
tested with; only hashes are looked up. A hash that a lock already has for the same version is kept: the
CPU and the CUDA build of torch are different files of one version, and the index knows one of them.

    python worker-images/base/lock.py [--wheel FILE ...]   # also accept these files, e.g. torch's CPU build
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomllib
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "worker-images" / "base"
SERVICES = ("registry", "scheduler", "telemetry", "console")
WORKERS = ("reference", "cleanrl", "xuance", "rllib", "sb3")

#: The versions everything of ours was tested with.
_CONSTRAINED = ("--constraint", str(ROOT / "requirements.lock"))
_IMAGE_PYTHON = "3.11"
_PIN = re.compile(r"^(?P<pin>[A-Za-z0-9._-]+==[^\s;\\]+)(?P<rest>[^\\]*)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def main() -> None:
    """Write all locks."""
    parser = argparse.ArgumentParser(description="Write the lock of every image.")
    parser.add_argument("--wheel", type=Path, action="append", default=[], help="a file that is accepted as well")
    wheels = parser.parse_args().wheel
    lock_tools()
    lock_project("mosaic-agent", BASE / "requirements.lock")
    for service in SERVICES:
        lock_project(f"mosaic-{service}", ROOT / "services" / service / "requirements.lock")
    for worker in WORKERS:
        refresh_hashes(ROOT / "worker-images" / worker / "requirements.lock", wheels)
    refresh_hashes(BASE / "cuda.lock", ())


def lock_tools() -> None:
    """Lock what builds wheels in the images, at the versions that are installed beside this script."""
    pins = [f"{name}=={_installed_version(name)}\n" for name in ("pip", "setuptools")]
    (BASE / "tools.lock").write_text(_compile(["--no-deps", "--allow-unsafe"], pins), encoding="utf-8")


def lock_project(name: str, lock: Path) -> None:
    """Lock what the project *name* needs at run time, without what is ours."""
    lock.write_text(_compile(_CONSTRAINED, [f"{line}\n" for line in sorted(needs_of(name))]), encoding="utf-8")


def needs_of(name: str, extras: Iterable[str] = ()) -> set[str]:
    """Return what the project *name* of this repository asks of the package index, and those of ours that it needs."""
    described = projects()[name]
    asked = [*described.get("dependencies", ())]
    asked += [line for extra in extras for line in described["optional-dependencies"][extra]]
    found: set[str] = set()
    for line in asked:
        wanted = Requirement(line)
        found |= needs_of(wanted.name, wanted.extras) if wanted.name in projects() else {line}
    return found


@cache
def projects() -> dict[str, dict[str, Any]]:
    """Return how each project of this repository describes itself, by its name."""
    files = [path for depth in ("*", "*/*") for path in ROOT.glob(f"{depth}/pyproject.toml")]
    described = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in files]
    return {one["name"]: one for one in described}


def refresh_hashes(lock: Path, wheels: Sequence[Path]) -> None:
    """Look up the hashes of every version in *lock*; add those of *wheels* and keep the ones it had."""
    pins, kept = read_lock(lock.read_text(encoding="utf-8"))
    fresh, found = read_lock(
        _compile(["--no-deps", "--universal"], [f"{pin}\n" for pin in pins], _oldest_python(lock.parent))
    )
    for pin in fresh:
        name_and_version = pin.split(";")[0].strip()
        own = [_digest(wheel) for wheel in wheels if _is_build_of(wheel, name_and_version)]
        found[pin] = sorted({*found[pin], *kept.get(pin, ()), *own})
    lock.write_text("".join(_entry(pin, found[pin]) for pin in fresh), encoding="utf-8")


def read_lock(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the pins of a lock in their order, each with its marker, and the hashes of each."""
    pins: list[str] = []
    hashes: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _PIN.match(line):
            pins.append((match["pin"] + match["rest"]).strip().replace(" ;", ";").replace(";", " ;"))
            hashes[pins[-1]] = []
        if pins:
            hashes[pins[-1]] += _HASH.findall(line)
    return pins, hashes


def _oldest_python(project: Path) -> str:
    described = project / "pyproject.toml"
    text = described.read_text(encoding="utf-8") if described.is_file() else ""
    bound = re.search(r'requires-python = ">=(3\.\d+)', text)
    return bound[1] if bound else _IMAGE_PYTHON


def _compile(options: Sequence[str], requirements: Iterable[str], python: str = _IMAGE_PYTHON) -> str:
    platform = [] if "--universal" in options else ["--python-platform", "linux"]
    with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
        wanted.writelines(requirements)
        wanted.flush()
        uv = Path(sys.executable).with_name("uv")
        fixed = ["--no-config", "--quiet", "--no-header", "--no-annotate", "--python-version", python]
        command = [str(uv), "pip", "compile", "--generate-hashes", *fixed, *platform, *options, wanted.name]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _entry(pin: str, hashes: Iterable[str]) -> str:
    return " \\\n".join([pin, *(f"    --hash={one}" for one in hashes)]) + "\n"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _is_build_of(wheel: Path, pin: str) -> bool:
    name, version, *_ = wheel.name.split("-")
    return f"{name}=={version.partition('+')[0]}".lower() == pin.lower().replace("-", "_")


def _installed_version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


if __name__ == "__main__":
    main()

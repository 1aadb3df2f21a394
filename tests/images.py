"""The files of which images are made, for tests that read them without an engine."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("registry", "scheduler", "telemetry", "console")
WORKERS = ("cleanrl", "reference", "rllib", "sb3", "xuance")
DOCKERFILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("services/*/Dockerfile", "worker-images/**/Dockerfile", "compose/Dockerfile")
    for path in ROOT.glob(pattern)
)


def image_tool(name: str) -> ModuleType:
    """Import a script of worker-images/base, which is no package."""
    spec = importlib.util.spec_from_file_location(f"image_{name}", ROOT / "worker-images" / "base" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of *dockerfile* in their order, each with its arguments on one line."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / dockerfile).read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def compose_file(name: str = "docker-compose.yml") -> dict[str, Any]:
    """Return a compose file with its anchors resolved."""
    document: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return document

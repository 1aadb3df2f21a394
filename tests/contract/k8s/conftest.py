"""The overlays, rendered once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.k8s.kubectl import render
from tests.contract.k8s.manifests import Manifests, copy_with_secrets


@pytest.fixture(scope="session")
def k8s_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of k8s/ in which the secrets of the dev overlay have been made."""
    return copy_with_secrets(tmp_path_factory.mktemp("k8s") / "k8s")


@pytest.fixture(scope="session")
def base(k8s_folder: Path) -> Manifests:
    return Manifests.parse(render(k8s_folder / "base"))


@pytest.fixture(scope="session")
def dev(k8s_folder: Path) -> Manifests:
    return Manifests.parse(render(k8s_folder / "overlays" / "dev"))


@pytest.fixture(scope="session")
def gpu(k8s_folder: Path) -> Manifests:
    return Manifests.parse(render(k8s_folder / "overlays" / "gpu"))


@pytest.fixture(params=["base", "dev", "gpu"])
def manifests(request: pytest.FixtureRequest) -> Manifests:
    """Each of them in turn."""
    rendered = request.getfixturevalue(request.param)
    assert isinstance(rendered, Manifests)
    return rendered

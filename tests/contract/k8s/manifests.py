"""What an overlay puts on a cluster, and the parts of it that tests ask about."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("reference", "cleanrl", "xuance", "rllib", "sb3")
SERVICES = ("registry", "scheduler", "telemetry", "console")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Pod:
    """A pod template and what owns it."""

    kind: str
    name: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def container(self) -> Mapping[str, Any]:
        """Its only container."""
        (container,) = self.spec["containers"]
        return container  # type: ignore[no-any-return]

    @property
    def is_ours(self) -> bool:
        """Tell whether it runs our code, not a store's."""
        return self.labels["app.kubernetes.io/component"] != "store"

    @property
    def process(self) -> str:
        """The kind of process in it: registry, scheduler, telemetry, agent, or the name of a store."""
        is_agent = self.labels["app.kubernetes.io/component"] == "agent"
        return "agent" if is_agent else self.labels["app.kubernetes.io/name"]


@dataclass(frozen=True)
class Manifests:
    """Every document of an overlay."""

    documents: tuple[Document, ...]

    @classmethod
    def parse(cls, text: str) -> Manifests:
        """Read what kubectl rendered."""
        return cls(tuple(yaml.load_all(text, Loader=yaml.CSafeLoader)))

    def of(self, kind: str) -> dict[str, Document]:
        """Return the documents of a kind by name."""
        return {document["metadata"]["name"]: document for document in self.documents if document["kind"] == kind}

    def pods(self) -> Iterator[Pod]:
        """Yield every pod template."""
        for document in self.documents:
            spec = document.get("spec", {})
            template = spec.get("jobTargetRef", spec).get("template")
            if template is not None:
                metadata = template["metadata"]
                yield Pod(document["kind"], document["metadata"]["name"], metadata["labels"], template["spec"])

    def environment(self, pod: Pod) -> dict[str, str | None]:
        """Return the variables of the pod's container; None stands for a value that the cluster fills in."""
        maps = self.of("ConfigMap")
        variables: dict[str, str | None] = {}
        for source in pod.container.get("envFrom", ()):
            variables |= maps[source["configMapRef"]["name"]]["data"]
        return variables | {entry["name"]: entry.get("value") for entry in pod.container.get("env", ())}


def copy_with_secrets(folder: Path) -> Path:
    """Copy k8s/ to *folder*, make the secrets of the dev overlay there as its page says, and return it."""
    shutil.copytree(ROOT / "k8s", folder, ignore=shutil.ignore_patterns("secrets"))
    made = [sys.executable, ROOT / "compose" / "make_secrets.py", folder / "overlays" / "dev" / "secrets"]
    subprocess.run(made, check=True)
    return folder

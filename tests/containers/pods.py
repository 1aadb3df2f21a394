"""Pods of the manifests as containers, as near to a kubelet as one function comes.

Image, arguments, variables, user, secrets and writable places are taken from the manifest. What differs: claims and
empty directories are in memory, and probes are asked from outside.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.hosting.pki import AGENT_URI, Authority, key_pem, new_key, request_pem, utc_now
from mosaic.testing.containers.answers import (
    Answers,
    postgres_answers,
    rabbitmq_answers,
    redis_answers,
    service_is_ready,
)
from mosaic.testing.containers.recipe import Recipe
from tests.contract.k8s.manifests import Manifests, Pod

_STORES: dict[str, Answers] = {
    "postgres": postgres_answers,
    "rabbitmq": rabbitmq_answers,
    "redis": redis_answers,
}


def recipe_of(manifests: Manifests, pod: Pod, folder: Path) -> tuple[Recipe, dict[str, str]]:
    """Return how to run *pod*, and the directories below *folder* that hold its secrets and settings."""
    ports = {port["name"]: port["containerPort"] for port in pod.container["ports"]}
    given = dict(_given_files(manifests, pod, folder))
    environment = manifests.environment(pod)
    recipe = Recipe(
        name=pod.name,
        image=pod.container["image"],
        answers_on=ports["health"] if pod.is_ours else ports[pod.name],
        answers=service_is_ready if pod.is_ours else _STORES[pod.name],
        ports=tuple(ports.values()),
        # The only value that the cluster fills in is the name of the pod.
        environment={name: pod.name if value is None else value for name, value in environment.items()},
        command=tuple(pod.container.get("args", ())),
        user=f"{pod.spec['securityContext']['runAsUser']}:{pod.spec['securityContext']['runAsGroup']}",
        tmpfs=_writable(pod),
        volumes={name: path for name, (path, _) in given.items()},
    )
    return recipe, {name: str(files) for name, (_, files) in given.items()}


def _writable(pod: Pod) -> dict[str, str]:
    security, volumes = pod.spec["securityContext"], {volume["name"]: volume for volume in pod.spec["volumes"]}
    options = f"uid={security['runAsUser']},gid={security['runAsGroup']},mode=1777"
    mounts = [mount for mount in pod.container["volumeMounts"] if not mount.get("readOnly")]
    in_memory = [mount for mount in mounts if not {"secret", "configMap"} & volumes.get(mount["name"], {}).keys()]
    return {mount["mountPath"]: options for mount in in_memory if mount["mountPath"] != "/dev/shm"}


def _given_files(manifests: Manifests, pod: Pod, folder: Path) -> Iterator[tuple[str, tuple[str, Path]]]:
    volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
    for mount in pod.container["volumeMounts"]:
        volume = volumes.get(mount["name"], {})
        files = _issued(manifests, volume["csi"], pod, folder) if "csi" in volume else _files(manifests, volume)
        if files is not None:
            name = f"{pod.name}-{next(_numbers)}"
            yield name, (mount["mountPath"], _write(folder / name, files))


def _files(manifests: Manifests, volume: Mapping[str, Any]) -> dict[str, bytes] | None:
    if "configMap" in volume:
        data = manifests.of("ConfigMap")[volume["configMap"]["name"]]["data"]
        return {name: text.encode() for name, text in data.items()}
    if "secret" in volume:
        secret = manifests.of("Secret").get(volume["secret"]["secretName"], {"data": {}})
        return {name: base64.b64decode(text) for name, text in secret["data"].items()}
    return None


def _issued(manifests: Manifests, csi: Mapping[str, Any], pod: Pod, folder: Path) -> dict[str, bytes]:
    """Return what cert-manager puts into a pod that asks for a certificate."""
    asked = csi["volumeAttributes"]
    issuer = manifests.of("Issuer")[asked["csi.cert-manager.io/issuer-name"]]
    secret = manifests.of("Secret")[issuer["spec"]["ca"]["secretName"]]["data"]
    authority = _write(folder / f"issuer-{next(_numbers)}", {"ca": base64.b64decode(secret["tls.key"])}) / "ca"
    named = asked["csi.cert-manager.io/uri-sans"].replace("${POD_NAME}", pod.name).removeprefix(AGENT_URI)
    key = new_key()
    issued = Authority.load(authority).issue_agent(named, request_pem(key), now=utc_now())
    return {"ca.crt": base64.b64decode(secret["tls.crt"]), "tls.crt": issued.pem, "tls.key": key_pem(key)}


def _write(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o444)
    folder.chmod(0o755)
    return folder


_numbers = itertools.count(1)

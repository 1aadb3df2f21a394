"""The manifests are what Kubernetes accepts, and keep the rules of the house."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from mosaic.agent.settings import Settings as AgentSettings
from mosaic.testing.containers.images import BROKERS, image_of
from mosaic_scheduler.settings import Settings as SchedulerSettings
from tests.contract.k8s.manifests import LIBRARIES, ROOT, SERVICES, Document, Manifests, Pod
from tests.contract.k8s.schemas import CUSTOM
from tests.images import image_tool

#: The oldest release we promise to run on: it sleeps before a stop without a shell.
KUBERNETES = "1.30"
#: Who gives each pod of an agent its certificate.
_CSI = "csi.cert-manager.io"


def validate(documents: Iterable[Document]) -> None:
    """Check documents strictly: no unknown field, no wrong type. Those of a kind go together, which is faster."""
    kinds: dict[tuple[str, str], list[Document]] = {}
    for document in documents:
        kinds.setdefault((document["apiVersion"], document["kind"]), []).append(document)
    for (version, kind), alike in kinds.items():
        if (version, kind) not in CUSTOM:
            whole = {"apiVersion": version, "kind": f"{kind}List", "items": alike}
            kubernetes_validate.validate(whole, KUBERNETES, strict=True)
            continue
        for document in alike:
            jsonschema.validate(document, CUSTOM[version, kind])
        if kind == "ScaledJob":
            validate(map(_job_of, alike))


def _job_of(scaled: Document) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "any"},
        "spec": scaled["spec"]["jobTargetRef"],
    }


def refused(document: Document) -> bool:
    try:
        validate([document])
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError):
        return True
    return False


def test_every_document_is_valid(base: Manifests, dev: Manifests, gpu: Manifests) -> None:
    documents = (*base.documents, *dev.documents, *gpu.documents)

    validate({json.dumps(document, sort_keys=True): document for document in documents}.values())


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Deployment", ("spec", "template", "spec", "containers", 0)),
        ("NetworkPolicy", ("spec",)),
        ("ScaledJob", ("spec",)),
        ("ScaledJob", ("spec", "triggers", 0, "metadata")),
        ("ScaledJob", ("spec", "jobTargetRef", "template", "spec", "containers", 0)),
    ],
)
def test_a_field_that_does_not_exist_is_refused(base: Manifests, kind: str, path: tuple[Any, ...]) -> None:
    document: Any = copy.deepcopy(next(iter(base.of(kind).values())))
    place = document
    for step in path:
        place = place[step]
    place["misspelt"] = "x"

    assert refused(document)


def test_no_secret_is_in_the_repository(base: Manifests, gpu: Manifests) -> None:
    assert {} == base.of("Secret") | gpu.of("Secret")


def test_every_secret_and_claim_that_a_pod_mounts_exists(dev: Manifests) -> None:
    wanted = {("Secret", volume["secret"]["secretName"]) for volume in _volumes(dev, "secret")}
    wanted |= {("Secret", issuer["spec"]["ca"]["secretName"]) for issuer in dev.of("Issuer").values()}
    wanted |= {("Issuer", volume["csi"]["volumeAttributes"][f"{_CSI}/issuer-name"]) for volume in _volumes(dev, "csi")}
    wanted |= {("PersistentVolumeClaim", v["persistentVolumeClaim"]["claimName"]) for v in _claims(dev)}
    wanted |= {("ConfigMap", volume["configMap"]["name"]) for volume in _volumes(dev, "configMap")}
    there = {(document["kind"], document["metadata"]["name"]) for document in dev.documents}

    assert set() == wanted - there


def _volumes(manifests: Manifests, kind: str) -> list[Any]:
    volumes = [volume for pod in manifests.pods() for volume in pod.spec["volumes"] if kind in volume]
    return [volume for volume in volumes if not volume[kind].get("optional")]


def _claims(manifests: Manifests) -> list[Any]:
    return _volumes(manifests, "persistentVolumeClaim")


def secret_files(manifests: Manifests, pod: Pod) -> set[str]:
    """Return the paths of the secrets in a pod."""
    mounts = {mount["name"]: mount["mountPath"] for mount in reversed(pod.container["volumeMounts"])}
    volumes = [volume for volume in pod.spec["volumes"] if volume["name"] == "secrets"]
    secrets = manifests.of("Secret")
    keys = [key for volume in volumes for key in secrets[volume["secret"]["secretName"]]["data"]]
    return {f"{mounts['secrets']}/{key}" for key in keys}


def test_a_process_of_ours_reads_every_secret_it_is_given_and_no_other(dev: Manifests) -> None:
    for pod in (pod for pod in dev.pods() if pod.is_ours):
        files = {value for name, value in dev.environment(pod).items() if name.endswith("_FILE")}
        issued = (
            {f"/run/identity/{name}" for name in ("ca.crt", "tls.crt", "tls.key")} if pod.process == "agent" else set()
        )

        assert secret_files(dev, pod) | issued == files


def test_the_key_of_the_ca_is_in_no_pod(manifests: Manifests) -> None:
    authorities = {issuer["spec"]["ca"]["secretName"] for issuer in manifests.of("Issuer").values()}

    assert {"ca"} == authorities
    assert set() == authorities & {volume["secret"]["secretName"] for volume in _volumes(manifests, "secret")}


def test_an_agent_is_given_a_certificate_that_names_its_pod_and_calls_itself_so(manifests: Manifests) -> None:
    for pod in (pod for pod in manifests.pods() if pod.process == "agent"):
        (identity,) = [volume["csi"] for volume in pod.spec["volumes"] if "csi" in volume]
        (called,) = [one["valueFrom"] for one in pod.container["env"] if one["name"] == "MOSAIC_AGENT_AGENT_ID"]

        assert _CSI == identity["driver"]
        assert "mosaic://agent/${POD_NAME}" == identity["volumeAttributes"][f"{_CSI}/uri-sans"]
        assert "metadata.name" == called["fieldRef"]["fieldPath"]


def test_a_store_finds_the_secrets_it_is_told_of(dev: Manifests) -> None:
    for pod in (pod for pod in dev.pods() if not pod.is_ours):
        words = [*pod.container.get("args", ()), *dev.environment(pod).values()]
        named = {word for word in words if word.startswith("/run/secrets/")}

        assert named <= secret_files(dev, pod), pod.name


def test_pods_are_restricted(manifests: Manifests) -> None:
    (namespace,) = manifests.of("Namespace").values()
    assert "restricted" == namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    for pod in manifests.pods():
        inside, around = pod.container["securityContext"], pod.spec["securityContext"]
        assert {"drop": ["ALL"]} == inside["capabilities"]
        assert (True, False) == (inside["readOnlyRootFilesystem"], inside["allowPrivilegeEscalation"])
        assert (True, "RuntimeDefault") == (around["runAsNonRoot"], around["seccompProfile"]["type"])
        assert 0 < around["runAsUser"]
        assert pod.spec["automountServiceAccountToken"] is False
        assert not any("hostPath" in volume for volume in pod.spec["volumes"])
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys()


def test_kubernetes_adds_no_variables_of_its_own(manifests: Manifests) -> None:
    """A Service called registry would otherwise put REGISTRY_PORT into every pod."""
    assert all(pod.spec["enableServiceLinks"] is False for pod in manifests.pods())


def test_every_container_says_what_it_needs_and_may_use(manifests: Manifests) -> None:
    for pod in manifests.pods():
        resources = pod.container["resources"]
        assert {"cpu", "memory"} <= resources["requests"].keys()
        assert {"cpu", "memory"} <= resources["limits"].keys()


def test_every_container_is_probed(manifests: Manifests) -> None:
    for pod in manifests.pods():
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= pod.container.keys()
        if pod.is_ours:
            # A kubelet has no certificate, and the ports of gRPC answer nobody without one.
            assert [] == [probe for probe in pod.container.values() if isinstance(probe, dict) and "grpc" in probe]
            assert {"path": "/readyz", "port": "health"} == pod.container["readinessProbe"]["httpGet"]


def test_services_point_at_ports_that_exist(manifests: Manifests) -> None:
    pods = list(manifests.pods())
    for service in manifests.of("Service").values():
        selector = service["spec"]["selector"].items()
        (pod,) = [pod for pod in pods if selector <= pod.labels.items()]
        ports = {port["name"]: port["containerPort"] for port in pod.container["ports"]}
        assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])


def test_ports_are_those_of_the_settings(base: Manifests) -> None:
    for pod in base.pods():
        environment, prefix = base.environment(pod), f"MOSAIC_{pod.process.upper()}"
        for port in pod.container["ports"]:
            assert f"0.0.0.0:{port['containerPort']}" == environment[f"{prefix}_{port['name'].upper()}_ADDRESS"]


def test_a_pod_is_given_longer_to_end_than_its_agent_takes(manifests: Manifests) -> None:
    scheduler = next(pod for pod in manifests.pods() if pod.process == "scheduler")
    grace_s = _number(manifests, scheduler, "MOSAIC_SCHEDULER_GRACE_S", SchedulerSettings.grace_s)
    for pod in (pod for pod in manifests.pods() if pod.process == "agent"):
        stop_s = _number(manifests, pod, "MOSAIC_AGENT_STOP_TIMEOUT_S", AgentSettings.stop_timeout_s)
        assert grace_s < stop_s < pod.spec["terminationGracePeriodSeconds"] - 10


def _number(manifests: Manifests, pod: Pod, variable: str, default: float) -> float:
    return float(manifests.environment(pod).get(variable) or default)


def test_no_deadline_ends_a_run(manifests: Manifests) -> None:
    for job in manifests.of("ScaledJob").values():
        assert "activeDeadlineSeconds" not in job["spec"]["jobTargetRef"]
        assert "activeDeadlineSeconds" not in job["spec"]["jobTargetRef"]["template"]["spec"]


def test_a_change_leaves_busy_pods_alone(manifests: Manifests) -> None:
    for job in manifests.of("ScaledJob").values():
        assert {"strategy": "gradual"} == job["spec"]["rollout"]


def test_no_pod_that_trains_is_evicted(manifests: Manifests) -> None:
    budget = manifests.of("PodDisruptionBudget")["agent"]["spec"]
    most = sum(job["spec"]["maxReplicaCount"] for job in manifests.of("ScaledJob").values())

    assert {"app.kubernetes.io/component": "agent"} == budget["selector"]["matchLabels"]
    assert most < budget["minAvailable"]


def test_an_agent_takes_one_run(manifests: Manifests) -> None:
    for pod in (pod for pod in manifests.pods() if pod.process == "agent"):
        environment = manifests.environment(pod)
        assert ("1", "1") == (environment["MOSAIC_AGENT_SLOTS"], environment["MOSAIC_AGENT_RUNS"])
        assert 0 < float(environment["MOSAIC_AGENT_IDLE_LIMIT_S"] or 0)


def test_the_agents_disk_holds_its_spool(manifests: Manifests) -> None:
    for pod in (pod for pod in manifests.pods() if pod.process == "agent"):
        (home,) = [volume for volume in pod.spec["volumes"] if volume["name"] == "home"]
        limit_mb = int(manifests.environment(pod)["MOSAIC_AGENT_SPOOL_LIMIT_MB"] or 0)
        assert limit_mb < int(home["emptyDir"]["sizeLimit"].removesuffix("Gi")) * 1024


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_scales_on_its_own_runs(manifests: Manifests, library: str) -> None:
    job = manifests.of("ScaledJob")[f"agent-{library}"]
    (trigger,) = job["spec"]["triggers"]
    (pod,) = [pod for pod in manifests.pods() if pod.kind == "ScaledJob" and pod.name == f"agent-{library}"]

    wanted = f'mosaic_scheduler_runs_that_would_fit{{worker="{library}"}}'
    assert wanted == trigger["metadata"]["valueLocation"]
    assert library == manifests.environment(pod)["MOSAIC_AGENT_WORKER"] == pod.labels["app.kubernetes.io/name"]


def test_the_trigger_asks_the_scheduler(manifests: Manifests) -> None:
    service = manifests.of("Service")["scheduler"]
    port = next(port["port"] for port in service["spec"]["ports"] if port["name"] == "health")
    host = f"scheduler.{service['metadata']['namespace']}.svc.cluster.local"
    for job in manifests.of("ScaledJob").values():
        assert f"http://{host}:{port}/metrics" == job["spec"]["triggers"][0]["metadata"]["url"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_announces_itself_with_the_pod_it_trains_in(manifests: Manifests, library: str) -> None:
    trains = manifests.of("ScaledJob")[f"agent-{library}"]["spec"]["jobTargetRef"]["template"]

    assert trains == manifests.of("Job")[f"announce-{library}"]["spec"]["template"]


def test_an_agent_says_which_image_it_is(manifests: Manifests) -> None:
    for pod in (pod for pod in manifests.pods() if pod.process == "agent"):
        assert pod.container["image"] == manifests.environment(pod)["MOSAIC_AGENT_IMAGE"]


def test_images_are_called_as_everywhere(dev: Manifests) -> None:
    ours = {image_of(name) for name in (*SERVICES, *LIBRARIES)}

    assert ours | set(BROKERS.values()) == {pod.container["image"] for pod in dev.pods()}


def test_gpu_pods_hold_a_gpu_and_look_for_it(gpu: Manifests) -> None:
    for pod in (pod for pod in gpu.pods() if pod.process == "agent"):
        has_gpu = pod.labels["app.kubernetes.io/name"] != "reference"
        assert has_gpu == ("nvidia.com/gpu" in pod.container["resources"]["limits"])
        assert has_gpu == pod.container["image"].endswith("-cuda")
        assert has_gpu == ("MOSAIC_GPUS" not in gpu.environment(pod))


def test_without_gpus_none_is_looked_for(base: Manifests) -> None:
    for pod in (pod for pod in base.pods() if pod.process == "agent"):
        assert "none" == base.environment(pod)["MOSAIC_GPUS"]


def test_what_an_agent_announces_is_its_own(base: Manifests, gpu: Manifests) -> None:
    """An agent reads its limits and offers as much: they must be set aside for it."""
    for pod in (*base.pods(), *gpu.pods()):
        if pod.process == "agent":
            resources = pod.container["resources"]
            assert resources["requests"] == resources["limits"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_pod_has_what_its_library_says_it_needs(base: Manifests, library: str) -> None:
    needs = json.loads(image_tool("labels").current_label(library))["capabilities"]
    limits = next(pod for pod in base.pods() if pod.name == f"agent-{library}").container["resources"]["limits"]

    assert needs["cpu_cores"] <= int(limits["cpu"])
    assert needs["estimated_memory_mb"] < int(limits["memory"].removesuffix("Gi")) * 1024


def test_services_come_before_runs(manifests: Manifests) -> None:
    classes = manifests.of("PriorityClass")
    for pod in manifests.pods():
        assert ("mosaic-runs" if pod.process == "agent" else "mosaic-services") == pod.spec["priorityClassName"]

    assert classes["mosaic-runs"]["value"] < classes["mosaic-services"]["value"]
    assert "Never" == classes["mosaic-runs"]["preemptionPolicy"]


def test_the_broker_is_set_up_as_in_compose() -> None:
    compose = (ROOT / "compose" / "rabbitmq.conf").read_text()

    assert compose == (ROOT / "k8s" / "overlays" / "dev" / "stores" / "rabbitmq.conf").read_text()

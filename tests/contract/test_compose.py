from __future__ import annotations

import re
import subprocess

import pytest

from mosaic.testing.containers.images import image_of
from tests.images import ROOT, SERVICES, WORKERS, compose_file

COMPOSE = compose_file()
PARTS = COMPOSE["services"]
AGENTS = [f"agent-{worker}" for worker in WORKERS]
STORES = ("postgres", "rabbitmq", "redis")
OURS = {name: part for name, part in PARTS.items() if "build" in part}


@pytest.mark.parametrize("name", PARTS)
def test_everything_runs_as_non_root_on_a_read_only_root_without_rights(name):
    part = PARTS[name]

    assert part["read_only"] is True
    assert part["user"] in {"10001:10001", "999:999"}
    assert ["ALL"] == part["cap_drop"]
    assert ["no-new-privileges:true"] == part["security_opt"]


@pytest.mark.parametrize("name", PARTS)
def test_nothing_mounts_the_docker_socket_or_shares_a_namespace_of_the_host(name):
    part = PARTS[name]

    assert "docker.sock" not in str(part.get("volumes", ()))
    assert not {"privileged", "pid", "ipc", "devices", "cap_add"} & part.keys()
    assert "host" != part.get("network_mode")


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_a_limit_of_cpus_and_memory(name):
    assert {"cpus", "memory"} == PARTS[name]["deploy"]["resources"]["limits"].keys()


def test_agents_of_one_host_have_the_same_limits_and_the_same_node():
    limits = [PARTS[agent]["deploy"]["resources"]["limits"] for agent in AGENTS]
    nodes = [PARTS[agent]["environment"]["MOSAIC_AGENT_NODE_ID"] for agent in AGENTS]

    assert [limits[0]] * len(AGENTS) == limits
    assert [nodes[0]] * len(AGENTS) == nodes


def test_no_agent_reaches_a_store_but_the_broker():
    assert [["fleet"]] * len(AGENTS) == [PARTS[agent]["networks"] for agent in AGENTS]
    assert ["stores"] == PARTS["postgres"]["networks"] == PARTS["redis"]["networks"]
    assert COMPOSE["networks"]["stores"]["internal"] is True


def test_the_console_alone_is_published_and_on_the_loopback_address():
    published = {name: part["ports"] for name, part in PARTS.items() if "ports" in part}

    assert {"console": ["${MOSAIC_BIND:-127.0.0.1}:${MOSAIC_CONSOLE_PORT:-7420}:7420"]} == published


@pytest.mark.parametrize("name", [*SERVICES, *AGENTS])
def test_a_part_starts_when_what_it_needs_is_healthy(name):
    conditions = {one["condition"] for one in PARTS[name]["depends_on"].values()}

    assert {"service_healthy"} == conditions


@pytest.mark.parametrize("name", STORES)
def test_a_store_has_a_health_check_and_waits_for_its_password(name):
    assert PARTS[name]["healthcheck"]["test"][0] == "CMD"
    assert "service_completed_successfully" == PARTS[name]["depends_on"]["secrets"]["condition"]


def test_libraries_start_by_profile_and_the_reference_worker_always():
    profiles = {agent: PARTS[agent].get("profiles", []) for agent in AGENTS}

    assert {f"agent-{worker}": [worker] if worker != "reference" else [] for worker in WORKERS} == profiles
    assert [] == [name for name, part in PARTS.items() if "profiles" in part and name not in AGENTS]


def test_no_password_stands_in_any_compose_file():
    files = sorted(ROOT.glob("docker-compose*.yml"))
    literal = re.compile(r"(PASS(WORD)?|TOKEN|SECRET)\s*:\s*\S|://[^/\s:]+:[^@\s$]+@", re.IGNORECASE)

    assert 3 == len(files)
    assert [] == [
        line for path in files for line in path.read_text(encoding="utf-8").splitlines() if literal.search(line)
    ]


def test_a_part_sees_only_its_own_secrets():
    seen = {name: _secret_volumes(part) for name, part in PARTS.items() if name != "secrets"}
    own = {name: {f"secrets-{name}"} for name in seen}

    assert own == seen


def test_production_takes_every_secret_from_a_folder_that_must_be_named():
    production = compose_file("docker-compose.production.yml")
    made = {name for name in COMPOSE["volumes"] if name.startswith("secrets-")}
    devices = [volume["driver_opts"]["device"] for volume in production["volumes"].values()]

    assert made == production["volumes"].keys()
    assert [] == [device for device in devices if not device.startswith("${MOSAIC_SECRETS_DIR:?")]
    assert ["--given"] == production["services"]["secrets"]["command"]


def test_every_agent_gets_the_gpus_because_agents_of_a_host_must_see_the_same():
    gpu = compose_file("docker-compose.gpu.yml")["services"]
    devices = [part["deploy"]["resources"]["reservations"]["devices"] for part in gpu.values()]

    assert sorted(AGENTS) == sorted(gpu)
    assert [[{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]] * len(AGENTS) == devices


def test_images_for_gpus_are_built_under_the_names_that_kubernetes_looks_for():
    gpu = compose_file("docker-compose.gpu.yml")["services"]
    built = {_default(part["image"]) for part in gpu.values() if "build" in part}
    wanted = compose_file("k8s/overlays/gpu/cuda/kustomization.yaml")["images"]

    assert {f"{image['name']}:{image['newTag']}" for image in wanted} == built


def test_make_builds_images_for_gpus_with_the_file_that_names_them():
    asked = ["make", "--dry-run", "images", "TORCH_VARIANT=cuda"]
    printed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "docker compose -f docker-compose.yml -f docker-compose.gpu.yml --profile" in " ".join(printed.split())


@pytest.mark.parametrize("name", OURS)
def test_an_image_of_ours_is_built_and_never_looked_for_on_a_public_registry(name):
    assert "never" == PARTS[name]["pull_policy"]


def test_what_is_taken_down_does_not_depend_on_the_name_of_the_folder():
    assert "mosaic-fleet" == COMPOSE["name"]


@pytest.mark.parametrize("name", OURS)
def test_an_image_has_the_name_that_tests_of_users_look_for(name):
    assert image_of(name.removeprefix("agent-")) == _default(PARTS[name]["image"])


def test_every_named_volume_is_declared_and_every_declared_one_is_used():
    used = {_source(mount) for part in PARTS.values() for mount in part.get("volumes", ())}
    named = {source for source in used if not source.startswith(".")}

    assert COMPOSE["volumes"].keys() == named


def _secret_volumes(part):
    return {_source(mount) for mount in part.get("volumes", ()) if _source(mount).startswith("secrets-")}


def _source(mount):
    if isinstance(mount, dict):
        return mount["source"]
    return _default(mount).split(":")[0]


def _default(text):
    """Return *text* as it reads where no variable is set."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)

"""What an agent reads from its environment, and what it finds out by itself."""

from __future__ import annotations

import pytest

from mosaic.agent.bootstrap import agent_options
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.profile import choose_worker
from mosaic.agent.settings import Settings
from mosaic.errors import BadInput, WorkerBroken, WorkerNotFound
from mosaic.worker.probe import ProbedWorker, ProbeReport

REQUIRED = {
    "MOSAIC_AGENT_REGISTRY_ADDRESS": "registry:1",
    "MOSAIC_AGENT_SCHEDULER_ADDRESS": "scheduler:1",
    "MOSAIC_AGENT_BROKER_URL": "amqp://broker",
    "MOSAIC_AGENT_HOME": "/state",
    "MOSAIC_AGENT_RUNS_ROOT": "/runs",
}


def test_the_required_settings_are_enough() -> None:
    settings = Settings.from_env({**REQUIRED, "PATH": "/bin"})

    assert "registry:1" == settings.registry_address
    assert 4 == settings.shards


def test_every_fault_is_named_at_once() -> None:
    env = {"MOSAIC_AGENT_SLOTS": "many", "MOSAIC_AGENT_BROKER_ULR": "x", "MOSAIC_AGENT_NODE_ID": "a b"}

    with pytest.raises(BadInput) as caught:
        Settings.from_env(env)

    faults = "\n".join(caught.value.faults)
    assert "MOSAIC_AGENT_SLOTS='many' is not a whole number" in faults
    assert "MOSAIC_AGENT_BROKER_ULR is not a setting, did you mean 'MOSAIC_AGENT_BROKER_URL'?" in faults
    assert "MOSAIC_AGENT_HOME is not set" in faults
    assert "MOSAIC_AGENT_NODE_ID='a b' is not an id" in faults


def test_what_is_not_set_is_filled_in_from_the_machine() -> None:
    settings = Settings.from_env({**REQUIRED, "MOSAIC_AGENT_NODE_ID": "node-7"})
    worker = WorkerProfile("tabular", ("-m", "x"), "/usr/bin/python3")

    options = agent_options(settings, worker, {"MOSAIC_GPUS": "sim:2"})

    assert "node-7-tabular" == options.agent_id
    assert "runs.tabular.node-7-tabular" == options.queue
    assert options.slots == options.machine.cpus
    assert 2 == len(options.machine.gpus)


def test_an_agent_offers_no_place_that_it_would_never_fill() -> None:
    settings = Settings.from_env({**REQUIRED, "MOSAIC_AGENT_SLOTS": "4", "MOSAIC_AGENT_RUNS": "1"})

    options = agent_options(settings, WorkerProfile("tabular", ("-m", "x"), "/usr/bin/python3"), {})

    assert (1, 1) == (options.slots, options.runs)


def a_probed_worker(name: str, **facts: object) -> ProbedWorker:
    values: dict[str, object] = {"launch": ("-m", name), "capabilities": {"worker_type": "x"}, **facts}
    return ProbedWorker(name, name, **values)  # type: ignore[arg-type]


def test_the_only_worker_of_an_environment_need_not_be_named() -> None:
    worker = a_probed_worker("tabular", metadata={"version": "1.2"}, versions={"tabular": "1.2"})
    report = ProbeReport("/opt/worker/bin/python", (worker,), {"python": "3.11"})

    profile = choose_worker(report, image="tabular@sha256:1")

    assert ("tabular", "1.2") == (profile.name, profile.version)
    assert {"python": "3.11", "tabular": "1.2", "image": "tabular@sha256:1"} == profile.versions


def test_an_unknown_worker_is_refused_with_the_nearest_name() -> None:
    report = ProbeReport("python", (a_probed_worker("tabular"), a_probed_worker("linear")))

    with pytest.raises(WorkerNotFound, match="did you mean 'tabular'"):
        choose_worker(report, "tabluar")


def test_a_broken_worker_is_refused_with_its_faults() -> None:
    report = ProbeReport("python", (ProbedWorker("tabular", "tabular", faults=("no numpy",)),))

    with pytest.raises(WorkerBroken, match="no numpy"):
        choose_worker(report)


def test_a_broken_environment_is_refused_with_its_faults() -> None:
    with pytest.raises(WorkerBroken, match="cannot be started"):
        choose_worker(ProbeReport("python", faults=("cannot be started",)))

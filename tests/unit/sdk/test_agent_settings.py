"""What an agent reads from its environment, and what it finds out by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.agent.bootstrap import agent_options, hold_home
from mosaic.agent.control.profile import choose_worker
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.settings import Settings
from mosaic.errors import BadInput, Refused, WorkerBroken, WorkerNotFound
from mosaic.hosting.settings import RENAMED
from mosaic.ids import WorkerName
from mosaic.model.fleet import Worker
from mosaic.worker.probe import ProbedWorker, ProbeReport

REQUIRED = {
    "MOSAIC_ENDPOINT_REGISTRY": "registry:1",
    "MOSAIC_ENDPOINT_SCHEDULER": "scheduler:1",
    "MOSAIC_BROKER_URL": "amqp://broker",
    "MOSAIC_AGENT_HOME": "/state",
    "MOSAIC_AGENT_RUNS_ROOT": "/runs",
}


def test_the_required_settings_are_enough() -> None:
    settings = Settings.from_env({**REQUIRED, "PATH": "/bin"})

    assert "registry:1" == settings.registry_address
    assert 4 == settings.event_shards


def test_every_fault_is_named_at_once() -> None:
    env = {"MOSAIC_AGENT_SLOTS": "many", "MOSAIC_BROKER_ULR": "x", "MOSAIC_AGENT_NODE_ID": "a b"}

    with pytest.raises(BadInput) as caught:
        Settings.from_env(env)

    faults = "\n".join(caught.value.faults)
    assert "MOSAIC_AGENT_SLOTS='many' is not a whole number" in faults
    assert "MOSAIC_BROKER_ULR is not a setting, did you mean 'MOSAIC_BROKER_URL'?" in faults
    assert "MOSAIC_AGENT_HOME is not set" in faults
    assert "MOSAIC_AGENT_NODE_ID='a b' is not an id" in faults


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
@pytest.mark.parametrize("suffix", ["", "_FILE"])
def test_an_old_name_that_is_still_set_is_refused_with_the_new_one(old: str, new: str, suffix: str) -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_env({**REQUIRED, old + suffix: "1"})

    assert [f"{old}{suffix} is now called {new}"] == list(caught.value.faults)


@pytest.mark.parametrize("misspelt", ["MOSAIC_EVENT_SHARD", "MOSAIC_EVENTS_BROKER", "MOSAIC_HEARTBEAT_SECONDS"])
def test_a_misspelt_shared_variable_is_refused(misspelt: str) -> None:
    with pytest.raises(BadInput, match=f"{misspelt} is not a setting"):
        Settings.from_env({**REQUIRED, misspelt: "1"})


def test_what_others_read_too_may_stand_beside_it() -> None:
    Settings.from_env({**REQUIRED, "MOSAIC_ENDPOINT_TELEMETRY": "telemetry:1"})


def test_what_is_not_set_is_filled_in_from_the_machine() -> None:
    settings = Settings.from_env({**REQUIRED, "MOSAIC_AGENT_NODE_ID": "node-7"})
    worker = WorkerProfile(Worker(WorkerName("tabular"), "1.0"), "/usr/bin/python3")

    options = agent_options(settings, worker, {"MOSAIC_GPUS": "sim:2"})

    assert "node-7-tabular" == options.agent_id
    assert "dispatch.tabular.node-7-tabular" == options.queue
    assert options.slots == options.machine.cpus
    assert 2 == len(options.machine.gpus)


def test_an_agent_offers_no_place_that_it_would_never_fill() -> None:
    settings = Settings.from_env({**REQUIRED, "MOSAIC_AGENT_SLOTS": "4", "MOSAIC_AGENT_RUNS": "1"})

    options = agent_options(settings, WorkerProfile(Worker(WorkerName("tabular"), "1.0"), "/usr/bin/python3"), {})

    assert (1, 1) == (options.slots, options.runs)


def a_probed_worker(name: str, **facts: object) -> ProbedWorker:
    values: dict[str, object] = {"launch": ("-m", name), "capabilities": {"worker_type": "x"}, **facts}
    return ProbedWorker(name, name, **values)  # type: ignore[arg-type]


def test_the_only_worker_of_an_environment_need_not_be_named() -> None:
    worker = a_probed_worker("tabular", metadata={"version": "1.2"}, versions={"tabular": "1.2"})
    report = ProbeReport("/opt/worker/bin/python", (worker,), {"python": "3.11"})

    profile = choose_worker(report, image="tabular@sha256:1")

    assert ("tabular", "1.2") == (profile.name, profile.worker.version)
    assert {"python": "3.11", "tabular": "1.2", "image": "tabular@sha256:1"} == profile.worker.versions


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


def test_two_agents_cannot_work_in_one_home(tmp_path: Path) -> None:
    """As `docker compose up --scale` starts them: each would end the attempts of the other."""
    release = hold_home(tmp_path / "home")

    with pytest.raises(Refused, match="MOSAIC_AGENT_HOME"):
        hold_home(tmp_path / "home")

    release()
    hold_home(tmp_path / "home")()

"""What is remembered of a submit: its seed, its name, its digests, and the run that it continues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput, Refused, RunNotFound
from mosaic.ids import WorkerName
from mosaic.lifecycle import RunState
from mosaic.model.codec import from_json, to_json
from mosaic.model.resources import Resources
from mosaic.model.run import Run, RunSpec
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.handlers.lookup import find
from mosaic_scheduler.handlers.submit import SEED_BITS
from mosaic_scheduler.ports import WorkerFacts
from tests.fakes.calls import admin
from tests.fakes.scheduler import SCHEMA, Desk, a_fleet

#: A worker with algorithms, one of which has hyper-parameters of its own.
_LIBRARY: dict[str, Any] = SCHEMA | {
    "properties": SCHEMA["properties"]
    | {
        "algo": {"type": "string", "enum": ["ppo", "ppo_continuous"], "default": "ppo"},
        "seed": {"type": ["integer", "null"], "minimum": 0},
        "total_steps": {"type": "integer", "minimum": 1, "default": 60},
        "algo_params": {"type": "object"},
    },
    "$defs": {
        "ppo": {
            "type": "object",
            "properties": {"gamma": {"type": "number"}, "num_envs": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
    "anyOf": [
        {"properties": {"algo": {"allOf": [{"const": "ppo"}]}, "algo_params": {"$ref": "#/$defs/ppo"}}},
        {"properties": {"algo": {"allOf": [{"const": "ppo_continuous"}]}}, "required": ["algo"]},
    ],
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, a_library())
    yield desk
    desk.engine.dispose()


def a_library(grade: ResumeGrade | None = ResumeGrade.EXACT, **schema: Any) -> Any:
    name = WorkerName("toy")
    return replace(a_fleet(), workers={name: WorkerFacts(name, "1.0", _LIBRARY | schema, {"cpu_cores": 1}, grade)})


def ended(desk: Desk, outcome: str = "succeeded", *, checkpoint: str = "checkpoints/9", **spec: Any) -> Run:
    """Return a run that was executed and has ended."""
    run = desk.submit(spec.pop("config", {"total_steps": 10}), **spec)
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")
    if checkpoint:
        desk.report(claimed, "checkpoint", checkpoint=checkpoint)
    desk.report(claimed, outcome, failure_kind="config_error" if outcome == "failed" else "")
    return desk.run(run)


def found(desk: Desk, text: str) -> Run:
    with desk.store.read() as work:
        return find(work, text, admin())


def test_a_run_without_a_seed_gets_one_that_is_written_down(desk: Desk) -> None:
    seeds = {desk.submit().spec.seed for _ in range(5)}

    assert len(seeds) == 5
    assert all(seed is not None and 0 <= seed < 2**SEED_BITS for seed in seeds)


def test_a_repeated_submit_returns_the_run_with_the_seed_that_was_drawn(desk: Desk) -> None:
    first, again = (desk.submit({"total_steps": 5}, key="nightly") for _ in range(2))

    assert (first.run_id, first.spec.seed) == (again.run_id, again.spec.seed)


def test_a_retry_has_the_seed_of_the_run_it_retries(desk: Desk) -> None:
    run = ended(desk, "failed")

    again = desk.retry(run)

    assert run.spec.seed == again.spec.seed


def test_a_dry_run_says_that_a_seed_will_be_drawn(desk: Desk) -> None:
    spec = desk.submit().spec

    assert "one is drawn" in " ".join(desk.predict(replace(spec, seed=None)))
    assert "one is drawn" not in " ".join(desk.predict(spec))


def test_each_of_several_seeds_must_be_one_that_the_worker_takes(desk: Desk) -> None:
    with pytest.raises(BadInput, match="seed: must be at least 0, is -1"):
        desk.submit(seeds=(-1, 0, 1))


def test_runs_that_differ_by_their_seed_alone_have_the_same_settings(desk: Desk) -> None:
    one, two = desk.submit({"total_steps": 5}, seed=1), desk.submit({"total_steps": 5}, seed=2)
    other = desk.submit({"total_steps": 6}, seed=1)

    assert one.spec.config_digest == two.spec.config_digest != other.spec.config_digest
    assert 3 == len({run.spec.run_digest for run in (one, two, other)})
    assert one.spec.run_digest == desk.submit({"total_steps": 5}, seed=1).spec.run_digest


def test_the_end_of_a_run_tells_no_secret_and_no_environment(desk: Desk) -> None:
    desk.secrets.values["hub"] = "s3cret"
    run = desk.submit(secrets={"KEY": "hub"}, environment={"TZ": "1"})
    desk.cancel(run)
    desk.rounds.plan()

    (finished,) = desk.finished.published
    assert ({}, {}) == (finished.run.spec.secrets, finished.run.spec.environment)
    assert run.spec.run_digest == finished.run.spec.run_digest


def test_a_spec_that_was_stored_before_runs_could_be_continued_is_read(desk: Desk) -> None:
    stored = to_json(desk.submit().spec)
    del stored["continues"]

    assert "" == from_json(RunSpec, stored).continues


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"algo": "PPO"}, {"algo": "ppo"}),
        ({"algo": "PPO-Continuous"}, {"algo": "ppo_continuous"}),
        ({"total_steps": 1e5}, {"total_steps": 100_000}),
        ({"algo_params": {"num_envs": 8.0, "gamma": 1.0}}, {"algo_params": {"num_envs": 8, "gamma": 1.0}}),
    ],
)
def test_a_config_is_kept_as_its_worker_writes_it(desk: Desk, config: dict[str, Any], kept: dict[str, Any]) -> None:
    assert str(kept) == str(desk.submit(config).spec.config)


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"gamma": 0.9}, "config: gamma: is a hyper-parameter of ppo; write algo_params.gamma"),
        ({"algo_params": {"gama": 0.9}}, "config: algo_params.gama: is not a known field, did you mean 'gamma'?"),
        ({"algo": "PPOO"}, "did you mean 'ppo'?"),
        ({"seed": 3}, "ask for a seed beside it (--seed)"),
    ],
)
def test_a_setting_that_is_wrong_is_answered_with_what_is_right(desk: Desk, config: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInput) as caught:
        desk.submit(config)

    assert fault in str(caught.value)


def test_an_environment_that_the_worker_does_not_list_is_refused_with_the_nearest(desk: Desk) -> None:
    desk.fleet.current = a_library(**{"x-environments": ["CartPole-v1", "Acrobot-v1"]})

    with pytest.raises(BadInput, match="do not have CartPol-v1, did you mean 'CartPole-v1'"):
        desk.submit({"env_id": "CartPol-v1"})

    assert desk.submit({"env_id": "CartPole-v1"})
    assert desk.submit({"env_id": "my_module:CartPol-v1"}), "only the worker knows what a module registers"


def test_a_dry_run_wonders_at_an_environment_that_nobody_lists(desk: Desk) -> None:
    spec = desk.submit({"env_id": "CartPol-v1"}).spec

    assert "'CartPol-v1' is not in the catalog, did you mean 'CartPole-v1'?" in " ".join(desk.predict(spec))


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"name": "\x1b[31mred"}, r"name holds control characters \('\\x1b'\)"),
        ({"name": "two\nlines"}, "name holds control characters"),
        ({"name": "abc\u202exyz"}, "name holds control characters"),
        ({"name": "x" * 129}, "name has 129 characters, 128 are allowed"),
        ({"name": "  "}, "name is blank"),
        ({"labels": {"a\x1b": "b"}}, "holds control characters"),
        ({"labels": {"a": "b" * 257}}, "the value of label 'a' has 257 characters, 256 are allowed"),
        ({"labels": {"": "b"}}, "a label has no key"),
        ({"labels": {str(n): "" for n in range(65)}}, "65 labels, 64 are allowed"),
    ],
)
def test_names_and_labels_are_short_and_can_be_read(desk: Desk, spec: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        desk.submit(**spec)


def test_a_name_in_any_script_is_kept(desk: Desk) -> None:
    assert "läuft 🚀 — 走る" == desk.submit(name="läuft 🚀 — 走る").spec.name


def test_a_run_is_found_by_its_name(desk: Desk) -> None:
    run = desk.submit(name="baseline")
    desk.submit(name="another")

    assert run.run_id == found(desk, "baseline").run_id
    with pytest.raises(RunNotFound):
        found(desk, "base")


def test_a_name_that_several_runs_bear_is_answered_with_their_ids(desk: Desk) -> None:
    first = desk.submit(name="sweep", seeds=(1, 2))

    with pytest.raises(BadInput) as caught:
        found(desk, "sweep")

    assert f"{first.run_id} (seed 1, queued)" in str(caught.value)
    assert "(seed 2, queued)" in str(caught.value)


def test_a_name_means_the_newest_run_of_those_that_follow_one_another(desk: Desk) -> None:
    run = ended(desk, "failed", name="baseline")
    desk.retry(run)

    assert run.run_id == found(desk, "baseline").spec.labels["retry_of"]


def test_a_name_that_is_also_a_part_of_an_id_is_not_guessed_at(desk: Desk) -> None:
    run = desk.submit()
    desk.submit(name=run.run_id[-8:])

    with pytest.raises(BadInput, match="could be"):
        found(desk, run.run_id[-8:])


def test_a_run_begins_from_the_last_checkpoint_of_the_one_that_it_continues(desk: Desk) -> None:
    old = ended(
        desk,
        config={"total_steps": 10, "algo_params": {"gamma": 0.9}},
        seed=3,
        name="long",
        labels={"sweep": "7"},
        resources=Resources(2, 1024),
        environment={"TZ": "1"},
    )

    run = desk.submit({"total_steps": 20}, worker="", continues=old.run_id, resources=Resources(0))
    desk.rounds.plan()
    claimed = desk.claim(run)

    assert f"../{old.run_id}/checkpoints/9" == claimed.resume_from
    spec = run.spec
    assert ("toy", 3, "long", {"sweep": "7"}) == (spec.worker, spec.seed, spec.name, spec.labels)
    assert {"total_steps": 20, "algo_params": {"gamma": 0.9}} == spec.config
    assert (2, 1024, {"TZ": "1"}) == (spec.resources.cpus, spec.resources.memory_mb, spec.environment)
    assert old.run_id == spec.continues
    with desk.store.read() as work:
        assert old.run_id in work.history(run.run_id)[0].detail


def test_a_run_that_continues_goes_on_from_its_own_checkpoint_once_it_has_one(desk: Desk) -> None:
    old = ended(desk)
    run = desk.submit({"total_steps": 20}, continues=old.run_id)
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")
    desk.report(claimed, "checkpoint", checkpoint="checkpoints/15")
    desk.report(claimed, "failed", failure_kind="crash")
    desk.later(600)
    desk.rounds.plan()

    assert "checkpoints/15" == desk.claim(run, attempt=2).resume_from


def test_the_work_of_a_run_that_continues_is_another_than_that_of_one_that_begins_anew(desk: Desk) -> None:
    old = ended(desk, "cancelled", seed=3)
    run = desk.submit({}, continues=old.run_id)

    assert old.spec.config_digest == run.spec.config_digest
    assert old.spec.run_digest != run.spec.run_digest


def test_a_run_can_be_continued_by_one_that_never_saved_anything_itself(desk: Desk) -> None:
    first = ended(desk, "cancelled")
    second = ended(desk, "cancelled", config={}, checkpoint="", continues=first.run_id)

    third = desk.submit({}, continues=second.run_id)

    assert f"../{first.run_id}/checkpoints/9" == desk.run(third).checkpoint


def test_a_run_that_waits_or_runs_is_not_continued(desk: Desk) -> None:
    run = desk.submit()

    with pytest.raises(Refused, match="is queued; only an ended run can be continued"):
        desk.submit(continues=run.run_id)


def test_a_run_without_a_checkpoint_is_not_continued_and_the_reason_is_said(desk: Desk) -> None:
    silent, waiting = ended(desk, checkpoint=""), desk.submit()
    desk.cancel(waiting)

    with pytest.raises(Refused, match="its worker toy saved no checkpoint; `mosaic retry` begins it anew"):
        desk.submit(continues=silent.run_id)
    with pytest.raises(Refused, match="it ended before it started"):
        desk.submit(continues=waiting.run_id)


@pytest.mark.parametrize("config", [{}, {"total_steps": 10}, {"total_steps": 5}, {"env_id": "x"}])
def test_a_run_that_has_trained_all_its_steps_needs_more_of_them(desk: Desk, config: dict[str, Any]) -> None:
    old = ended(desk)

    with pytest.raises(BadInput, match="has trained all of its 10 steps; ask for more with --steps"):
        desk.submit(config, continues=old.run_id)


def test_another_worker_or_seed_cannot_continue_a_run(desk: Desk) -> None:
    old = ended(desk, seed=3)

    with pytest.raises(BadInput) as caught:
        desk.submit({"total_steps": 20}, continues=old.run_id, worker=WorkerName("other"), seed=4)

    assert ["other cannot continue it", "which is 3"] == [
        word for word in ("other cannot continue it", "which is 3") if word in str(caught.value)
    ]


def test_a_worker_that_starts_over_cannot_continue_a_run(desk: Desk) -> None:
    old = ended(desk)
    desk.fleet.current = a_library(ResumeGrade.RESTARTS)

    with pytest.raises(BadInput, match="starts over from its checkpoints"):
        desk.submit({"total_steps": 20}, continues=old.run_id)


def test_a_dry_run_says_which_run_would_be_continued(desk: Desk) -> None:
    old = ended(desk, seed=3)
    spec = RunSpec(config={"total_steps": 20}, team=old.spec.team, user=old.spec.user, continues=old.run_id)

    assert f"it would continue run {old.run_id} from its last checkpoint, with seed 3" in desk.predict(spec)
    assert RunState.SUCCEEDED is desk.run(old).state


@pytest.mark.parametrize(
    "config", [{"agent_id": "a", "worker_id": "w"}, {"extras": {"agent_id": "a", "worker_id": "w"}}]
)
def test_the_ids_of_upstreams_forms_become_labels(config: dict[str, Any], tmp_path: Path) -> None:
    properties = _LIBRARY["properties"] | {"extras": {"type": "object"}}
    desk = Desk(tmp_path, a_library(properties=properties))
    run = desk.submit(config=config, labels={"worker_id": "mine"})

    assert {"agent_id": "a", "worker_id": "mine"} == run.spec.labels
    assert {"agent_id": "a", "worker_id": "w"} == run.spec.config["extras"]
    desk.engine.dispose()


def test_a_worker_without_extras_is_not_handed_ids(desk: Desk) -> None:
    run = desk.submit(config={"agent_id": "a"})

    assert ({"agent_id": "a"}, {}) == (run.spec.labels, dict(run.spec.config))


def test_the_gpu_memory_that_a_worker_declares_is_asked_for_with_a_gpu(tmp_path: Path) -> None:
    fleet = a_library()
    (facts,) = fleet.workers.values()
    declared = replace(facts, capabilities={"cpu_cores": 1, "gpu_memory_mb": 7})
    desk = Desk(tmp_path, replace(fleet, nodes={}, agents={}, workers={facts.name: declared}))

    assert 0 == desk.submit().spec.resources.gpu_memory_mb
    assert 7 == desk.submit(resources=Resources(gpus=1)).spec.resources.gpu_memory_mb
    assert 9 == desk.submit(resources=Resources(gpus=1, gpu_memory_mb=9)).spec.resources.gpu_memory_mb
    desk.engine.dispose()


@pytest.mark.parametrize("where", ["config", "environment"])
def test_a_spec_that_would_not_fit_into_a_page_of_runs_is_refused_with_its_size(desk: Desk, where: str) -> None:
    asked = {where: {"env_id": "x" * 60_001}}

    with pytest.raises(BadInput, match="60000 are allowed"):
        desk.submit(**asked)

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from mosaic.model.attempt import RunFinished
from mosaic_telemetry.domain.facts import Fact
from mosaic_telemetry.domain.manifest import Record, build_manifest, digest_of, is_complete, is_genuine
from mosaic_telemetry.domain.ranges import SeqRanges
from mosaic_telemetry.domain.series import Series, SeriesKey
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from tests.fakes.telemetry import RUN, a_finished_run


def a_timeline(attempt: int, *ranges: tuple[int, int], **counts: int) -> Timeline:
    return Timeline(StreamId(RUN, attempt), SeqRanges(ranges), counts)


def a_fact(kind: str, /, *, attempt: int = 1, seq: int = 0, **payload: Any) -> Fact:
    return Fact(StreamId(RUN, attempt), seq, 0.0, kind, payload)


def a_series(name: str, *values: float, attempt: int = 1, first_step: int = 0) -> Series:
    series = Series(StreamId(RUN, attempt), SeriesKey(name))
    return series.extend([float(first_step + place) for place in range(len(values))], values)[0]


def a_record(finished: RunFinished | None = None, *timelines: Timeline, facts: tuple[Fact, ...] = ()) -> Record:
    return Record(finished or a_finished_run(9), timelines or (a_timeline(1, (0, 9)),), facts)


def test_a_run_is_complete_when_every_stamped_line_is_here() -> None:
    assert is_complete(a_record(a_finished_run(9), a_timeline(1, (0, 9))))
    assert not is_complete(a_record(a_finished_run(9), a_timeline(1, (0, 8))))
    assert not is_complete(a_record(a_finished_run(9), a_timeline(1, (0, 3), (5, 9))))
    assert not is_complete(a_record(a_finished_run(9, 4), a_timeline(1, (0, 9))))


def test_of_a_lost_attempt_the_agents_last_line_tells_that_it_is_complete() -> None:
    lost = a_finished_run(-1)

    assert not is_complete(a_record(lost, a_timeline(1, (0, 9))))
    assert is_complete(a_record(lost, a_timeline(1, (0, 9)), facts=(a_fact("attempt_ended"),)))


def test_an_attempt_that_never_started_has_nothing_to_wait_for() -> None:
    finished = a_finished_run(-1)
    never_started = replace(finished, attempts=(replace(finished.attempts[0], started_at=None),))

    assert is_complete(Record(never_started, (), ()))


def test_gaps_are_named_per_attempt() -> None:
    manifest = build_manifest(a_record(a_finished_run(9, 4), a_timeline(1, (0, 3), (6, 9)), a_timeline(2, (0, 2))))

    assert [[4, 5]] == manifest["attempts"][0]["gaps"]
    assert [[3, 4]] == manifest["attempts"][1]["gaps"]
    assert manifest["events"]["missing"] == 4
    assert manifest["is_complete"] is False


def test_events_are_counted_per_kind_and_per_attempt() -> None:
    first, second = a_timeline(1, (0, 9), metric=8, text=2), a_timeline(2, (0, 4), metric=5)

    manifest = build_manifest(a_record(a_finished_run(9, 4), first, second))

    assert {"metric": 8, "text": 2} == manifest["attempts"][0]["counts"]
    assert {"total": 15, "by_kind": {"metric": 13, "text": 2}, "missing": 0} == manifest["events"]


def test_metrics_have_their_final_and_best_values() -> None:
    series = (a_series("charts/return", 1.0, 9.0, 4.0), a_series("loss", 3.0, 0.5, 2.0))

    manifest = build_manifest(replace(a_record(), series=series))

    returns, loss = manifest["metrics"]
    assert {"value": 4.0, "step": 2.0} == returns["final"]
    assert {"value": 9.0, "step": 1.0} == returns["best"]
    assert {"value": 0.5, "step": 1.0} == loss["best"]


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("charts/episodic_return", 3.0), ("episode_return_mean", 3.0), ("success_rate", 3.0), ("eval/mean_return", 3.0),
        ("losses/value_loss", 1.0), ("loss/q", 1.0), ("td_error", 1.0),
        ("train/epsilon", None), ("charts/learning_rate", None), ("losses/entropy", None), ("loss_coef", None),
        ("charts/episodic_length", None), ("return_std", None), ("steps_per_s", None),
    ],
)  # fmt: skip
def test_only_where_it_is_known_which_way_is_better_there_is_a_best(name: str, best: float | None) -> None:
    (metric,) = build_manifest(replace(a_record(), series=(a_series(name, 2.0, 3.0, 1.0),)))["metrics"]

    assert best == (metric["best"] and metric["best"]["value"])


def test_the_settings_that_ran_are_those_of_the_newest_attempt_that_told_them() -> None:
    asked = {"lr": {"value": 1, "origin": "asked"}}
    ran = {"lr": {"value": 1, "origin": "asked"}, "gamma": {"value": 0.9, "origin": "preset"}}
    facts = (
        a_fact("run_started", settings=asked),
        a_fact("settings_resolved", seq=1, settings=ran),
        a_fact("run_started", attempt=2),
    )

    assert ran == build_manifest(a_record(facts=facts))["settings"]
    assert asked == build_manifest(a_record(facts=facts[:1]))["settings"]
    assert build_manifest(a_record())["settings"] is None


def test_the_environment_is_said_once_unless_an_attempt_ran_in_another() -> None:
    old, new = ({"packages": {"torch": version}, "lock_digest": None} for version in ("2.8", "2.9"))
    facts = (a_fact("attempt_started", environment=old), a_fact("attempt_started", attempt=2, environment=new))

    manifest = build_manifest(a_record(a_finished_run(9, 4), facts=facts))

    assert new == manifest["environment"]
    assert [old, None] == [attempt["environment"] for attempt in manifest["attempts"]]


def test_a_checkpoint_keeps_its_passport() -> None:
    passport = {"env_id": "CartPole-v1", "algo": "ppo", "step": 5}
    facts = (a_fact("checkpoint_saved", checkpoint_path="c/5.pt", step=5, passport=passport),)

    (checkpoint,) = build_manifest(a_record(facts=facts))["checkpoints"]

    assert passport == checkpoint["passport"]


def test_both_digests_are_those_of_the_spec() -> None:
    spec = a_finished_run(9).run.spec

    manifest = build_manifest(a_record())

    assert (spec.config_digest, spec.run_digest) == (manifest["config_digest"], manifest["run_digest"])


def test_the_machine_is_told_as_the_agent_of_each_attempt_saw_it() -> None:
    old, new = ({"hostname": name, "cpus": 8, "memory_mb": 1, "gpu_models": ["H100"]} for name in ("old", "new"))
    digest = "sha256:" + 64 * "a"
    facts = (
        a_fact("attempt_started", machine=old, versions={"image": f"registry/agent@{digest}"}, resumed_from=None),
        a_fact("attempt_started", attempt=2, machine=new),
    )

    manifest = build_manifest(a_record(a_finished_run(9, 4), facts=facts))

    assert [old, new] == [attempt["machine"] for attempt in manifest["attempts"]]
    assert ("new", ["H100"], digest) == tuple(
        manifest["machine"][key] for key in ("hostname", "gpu_models", "image_digest")
    )


def test_artifacts_are_listed_once_as_last_described() -> None:
    facts = (
        a_fact("artifact", path="checkpoints/a.pt", kind="checkpoint", sha256=None, size_bytes=1),
        a_fact("artifact", path="checkpoints/a.pt", kind="checkpoint", sha256="ab", size_bytes=2, attempt=2),
        a_fact("artifact", path="logs/x.log", kind="log", sha256="cd", size_bytes=3),
    )

    artifacts = build_manifest(a_record(facts=facts))["artifacts"]

    assert ["checkpoints/a.pt", "logs/x.log"] == [one["path"] for one in artifacts]
    assert ("ab", 2, 2) == (artifacts[0]["sha256"], artifacts[0]["size_bytes"], artifacts[0]["attempt"])


def test_versions_come_from_the_agent_when_the_scheduler_has_none() -> None:
    facts = (a_fact("attempt_started", versions={"python": "3.11.7", "torch": "2.9"}),)

    manifest = build_manifest(a_record(facts=facts))

    assert {"python": "3.11.7", "torch": "2.9"} == manifest["versions"]
    assert manifest["machine"]["node"] == "node-1"


def test_the_analytics_of_upstream_are_made_from_the_files() -> None:
    facts = (
        a_fact("artifact", path="tensorboard/events.out.tfevents.1", kind="tensorboard"),
        a_fact("artifact", path="checkpoints/1.pt", kind="checkpoint"),
        a_fact("artifact", path="checkpoints/best.pt", kind="checkpoint"),
        a_fact("artifact", path="videos/a.mp4", kind="video"),
    )

    analytics = build_manifest(a_record(facts=facts))["analytics"]

    assert (RUN, "reference", {}) == (analytics["run_id"], analytics["worker_type"], analytics["metadata"])
    assert {"log_dir": "tensorboard", "enabled": True, "port": None, "url": None} == analytics["artifacts"][
        "tensorboard"
    ]
    assert analytics["artifacts"]["checkpoints"] == {
        "directory": "checkpoints",
        "format": "pytorch",
        "files": ["checkpoints/1.pt", "checkpoints/best.pt"],
        "best_checkpoint": "checkpoints/best.pt",
        "final_checkpoint": "checkpoints/best.pt",
    }
    assert analytics["artifacts"]["videos_dir"] == "videos"
    assert "wandb" not in analytics["artifacts"]


def test_the_analytics_a_worker_wrote_itself_are_taken_under_the_names_of_the_run_and_its_worker() -> None:
    own = {"run_id": "r", "worker_type": "mosaic_reference", "artifacts": {}, "metadata": {"algo": "ppo"}}
    facts = (a_fact("artifact", path="analytics.json", kind="analytics", content=own),)

    manifest = build_manifest(a_record(facts=facts))

    assert {**own, "run_id": RUN, "worker_type": "reference"} == manifest["analytics"]
    assert "content" not in manifest["artifacts"][0]


def test_folders_that_a_worker_claims_are_named_only_if_there_is_something_in_them() -> None:
    claims = {
        "tensorboard": {"log_dir": "tensorboard", "enabled": True},
        "logs_dir": "logs",
        "videos_dir": "videos",
        "checkpoints": {"directory": "checkpoints", "format": "pytorch"},
    }
    own = {"run_id": "r", "worker_type": "w", "artifacts": claims}
    claimed = a_fact("artifact", path="analytics.json", kind="analytics", content=own)
    files = (
        a_fact("artifact", path="tensorboard/a/events.out.tfevents.1", kind="tensorboard"),
        a_fact("artifact", path="videos/1.mp4", kind="video"),
    )
    misplaced = a_fact("artifact", path="tensorboard/notes.txt", kind="file")

    empty = build_manifest(a_record(facts=(claimed, misplaced)))["analytics"]["artifacts"]
    filled = build_manifest(a_record(facts=(claimed, *files)))["analytics"]["artifacts"]

    assert {"checkpoints"} == set(empty)
    assert {"checkpoints", "tensorboard", "videos_dir"} == set(filled)


def test_of_a_place_outside_the_run_nothing_is_known_so_the_claim_stays() -> None:
    own = {"run_id": "r", "worker_type": "w", "artifacts": {"tensorboard": {"log_dir": "/shared/tb", "enabled": True}}}
    facts = (a_fact("artifact", path="analytics.json", kind="analytics", content=own),)

    assert own["artifacts"] == build_manifest(a_record(facts=facts))["analytics"]["artifacts"]


def test_what_a_worker_of_the_guides_writes_itself_is_merged_over_the_written_for_it() -> None:
    ours = {"run_id": "r", "worker_type": "w", "artifacts": {"videos_dir": "videos"}, "metadata": {"seed": 1}}
    theirs = {"run_id": "r", "worker_type": "w", "artifacts": {"checkpoints": {}}, "metadata": {"notes": "mine"}}
    facts = (
        a_fact("artifact", path="01_analytics.json", kind="analytics", content=theirs),
        a_fact("artifact", path="analytics.json", kind="analytics", content=ours),
        a_fact("artifact", path="videos/1.mp4", kind="video"),
    )

    analytics = build_manifest(a_record(facts=facts))["analytics"]

    assert {"seed": 1, "notes": "mine"} == analytics["metadata"]
    assert {"videos_dir": "videos", "checkpoints": {}} == analytics["artifacts"]


TOLD = {"project": "p", "entity": "ann", "run_id": "x1", "run_path": "ann/p/x1", "url": None, "mode": "online"}


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ({**TOLD, "url": "https://wandb.example.org/ann/p/runs/x1"}, "https://wandb.example.org/ann/p/runs/x1"),
        (TOLD, "https://wandb.ai/ann/p/runs/x1"),
        ({**TOLD, "mode": "offline"}, ""),
    ],
    ids=["its own address", "of its path", "none while it is offline"],
)
@pytest.mark.parametrize("claimed", [None, {"project": "p", "url": "ann/p/x1", "run_id": "x1"}])
def test_where_wandb_has_the_curves_is_told_by_an_address(told: Any, url: str, claimed: Any) -> None:
    own = {"run_id": "r", "worker_type": "w", "artifacts": {"wandb": claimed}}
    files = () if claimed is None else (a_fact("artifact", path="analytics.json", kind="analytics", content=own),)

    analytics = build_manifest(a_record(facts=(*files, a_fact("run_completed", wandb=told))))["analytics"]

    entry = analytics["artifacts"]["wandb"]
    assert ("p", "ann", "x1", "ann/p/x1", url) == tuple(
        entry[key] for key in ("project", "entity", "run_id", "run_path", "url")
    )


def test_the_result_is_what_the_worker_said_last() -> None:
    facts = (a_fact("run_failed", error="once"), a_fact("run_completed", attempt=2, episodes=5))

    assert {"event": "run_completed", "episodes": 5} == build_manifest(a_record(facts=facts))["result"]


def test_the_digest_tells_a_manifest_that_was_changed() -> None:
    manifest = build_manifest(a_record())

    assert is_genuine(manifest)
    assert not is_genuine({**manifest, "outcome": "failed"})


def test_the_digest_of_a_config_does_not_depend_on_the_order_of_its_keys() -> None:
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_what_strict_json_cannot_say_is_text(value: float, text: str) -> None:
    manifest = build_manifest(replace(a_record(), series=(a_series("loss", value),)))

    assert manifest["metrics"][0]["final"]["value"] == text


def test_equal_records_give_equal_manifests() -> None:
    assert build_manifest(a_record()) == build_manifest(a_record())

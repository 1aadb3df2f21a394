"""What becomes of a run between submit and end, told step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.errors import BadInput, Refused, RunNotFound, SessionRejected, StaleAttempt, Unavailable
from mosaic.events.frame import EncodedFrame
from mosaic.events.proof import FrameForged, sign
from mosaic.ids import AgentId, TeamName
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.attempt import AttemptDirective, Directive
from mosaic.model.resources import Resources
from mosaic.model.team import Team
from mosaic_scheduler.handlers import claims, lookup, queries
from mosaic_scheduler.ports import FleetView
from tests.fakes.calls import admin
from tests.fakes.scheduler import Desk, a_fleet
from tests.fakes.telemetry import KEY


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


def test_a_healthy_run_goes_from_queue_to_end(desk: Desk) -> None:
    run = desk.submit({"env_id": "CartPole-v1"}, seed=7)
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")
    desk.report(claimed, "succeeded", exit_code=0, last_seq=41)
    desk.rounds.plan()

    assert desk.dispatcher.dispatched == [("runs.toy.agent-1", run.run_id, 1)]
    assert RunState.SUCCEEDED is desk.run(run).state
    (finished,) = desk.finished.published
    assert ("succeeded", 41, run.spec.config_digest) == (
        finished.run.state.value,
        finished.attempts[0].last_seq,
        finished.run.spec.config_digest,
    )


def test_every_fault_of_a_submit_is_said_at_once(desk: Desk) -> None:
    with pytest.raises(BadInput) as caught:
        desk.submit(
            {"env": "x", "total_steps": 0, "run_id": "mine"},
            resources=Resources(cpus=64),
            secrets={"WANDB_API_KEY": "wandb"},
            team=TeamName("nobodys"),
        )

    text = str(caught.value)
    for word in (
        "run_id is set by the scheduler",
        "total_steps",
        "did you mean 'env_id'",
        "could ever hold",
        "'wandb'",
        "no team 'nobodys'",
    ):
        assert word in text
    with desk.store.read() as work:
        assert work.active() == []


def test_an_unknown_worker_is_answered_with_the_nearest_one(desk: Desk) -> None:
    with pytest.raises(BadInput, match="did you mean 'toy'"):
        desk.submit(worker="toyy")


def test_a_worker_is_not_called_unknown_while_the_registry_cannot_be_asked(desk: Desk) -> None:
    desk.fleet.is_away = True
    desk.fleet.current = FleetView()

    with pytest.raises(Unavailable, match="registry does not answer"):
        desk.submit()


def test_the_same_key_gives_the_same_runs_and_another_request_is_refused(desk: Desk) -> None:
    first = desk.submit({"total_steps": 5}, seeds=(1, 2), key="nightly")
    again = desk.submit({"total_steps": 5}, seeds=(1, 2), key="nightly")

    assert first.run_id == again.run_id
    with desk.store.read() as work:
        assert len(work.active()) == 2
    with pytest.raises(Refused, match="another request"):
        desk.submit({"total_steps": 6}, key="nightly")


def test_an_attempt_is_claimed_once_and_only_by_its_agent(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()

    with pytest.raises(StaleAttempt, match="meant for agent agent-1"):
        desk.claim(run, agent="agent-2")
    desk.claim(run)
    with pytest.raises(StaleAttempt, match="already claimed"):
        desk.claim(run)


def test_only_the_agent_that_claims_an_attempt_gets_the_key_that_signs_its_frames(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    key = desk.claim(run).event_key

    KEY.check_frame(EncodedFrame(run.run_id, 1, 0, 1, b"frame", sign(key, b"frame")))
    with pytest.raises(FrameForged):
        KEY.check_frame(EncodedFrame(run.run_id, 2, 0, 1, b"frame", sign(key, b"frame")))


def test_an_attempt_whose_secret_has_vanished_fails_with_its_name(desk: Desk) -> None:
    desk.secrets.values["wandb"] = "s3cret"
    run = desk.submit(secrets={"WANDB_API_KEY": "wandb"})
    desk.rounds.plan()
    desk.secrets.values.clear()

    with pytest.raises(StaleAttempt, match=r"no longer has secret 'wandb' \(for WANDB_API_KEY\)"):
        desk.claim(run)

    assert "infrastructure" == desk.attempt(run).failure_kind
    assert (RunState.QUEUED, "no longer has secret 'wandb'" in desk.run(run).reason) == (desk.run(run).state, True)
    desk.secrets.values["wandb"] = "s3cret"
    desk.later(60)
    desk.rounds.plan()
    assert {"WANDB_API_KEY": "s3cret"} == desk.claim(run, attempt=2).secrets


def test_a_session_token_is_checked(desk: Desk) -> None:
    claims.check_session(AgentId("agent-1"), "session", fleet=desk.fleet)

    with pytest.raises(SessionRejected):
        claims.check_session(AgentId("agent-1"), "forged", fleet=desk.fleet)


def test_a_report_with_the_right_token_from_another_agent_changes_nothing(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    stolen = claims.Report(run.run_id, 1, claimed.control_token, "succeeded")

    with pytest.raises(StaleAttempt, match="agent-2"):
        claims.report(stolen, AgentId("agent-2"), store=desk.store, clock=desk.clock, retry=desk.settings.retry)

    assert AttemptState.CLAIMED is desk.attempt(run).state


def test_a_report_with_a_foreign_token_changes_nothing(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    forged = claims.Report(run.run_id, 1, "guess", "succeeded")

    with pytest.raises(StaleAttempt, match="control token"):
        claims.report(forged, AgentId("agent-1"), store=desk.store, clock=desk.clock, retry=desk.settings.retry)

    assert AttemptState.CLAIMED is desk.attempt(run).state
    assert claimed.control_token not in desk.attempt(run).control_digest


def test_a_lost_agent_gives_a_new_attempt_from_the_last_checkpoint(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    old = desk.claim(run)
    desk.report(old, "started")
    desk.report(old, "checkpoint", checkpoint="checkpoints/100")

    desk.later(desk.settings.lease.total_seconds() + 1)
    desk.rounds.sweep()
    desk.later(600)
    desk.rounds.plan()
    new = desk.claim(run, attempt=2)

    assert AttemptState.LOST is desk.attempt(run, 1).state
    assert new.resume_from == "checkpoints/100"
    with pytest.raises(StaleAttempt):
        desk.report(old, "succeeded")
    assert [AttemptDirective(run.run_id, 1, Directive.ABANDON)] == [
        told for told in desk.renew(old) if told.attempt == 1
    ]


def test_a_renewed_lease_is_not_lost(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)

    for _ in range(10):
        desk.later(20)
        assert [AttemptDirective(run.run_id, 1, Directive.CONTINUE)] == desk.renew(claimed)
        desk.rounds.sweep()

    assert AttemptState.CLAIMED is desk.attempt(run).state


def test_a_new_leader_gives_leases_time_before_calling_them_lost(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.later(3600)

    successor = desk.new_rounds()
    successor.sweep()

    assert AttemptState.CLAIMED is desk.attempt(run).state
    assert [AttemptDirective(run.run_id, 1, Directive.CONTINUE)] == desk.renew(claimed)


def test_a_ring_that_the_broker_did_not_take_leaves_with_the_next_round(desk: Desk) -> None:
    run = desk.submit()
    desk.dispatcher.is_broken = True
    desk.rounds.plan()
    assert desk.dispatcher.dispatched == []

    desk.dispatcher.is_broken = False
    desk.rounds.sweep()

    assert [("runs.toy.agent-1", run.run_id, 1)] == desk.dispatcher.dispatched


def test_a_broker_that_is_away_costs_one_deadline_a_round_however_much_waits(desk: Desk) -> None:
    for _ in range(3):
        desk.submit()
    desk.dispatcher.is_broken = True

    desk.rounds.plan()
    assert 1 == desk.dispatcher.refused
    desk.later(desk.settings.dispatch_again.total_seconds() + 1)
    desk.rounds.sweep()

    assert 3 == desk.dispatcher.refused, "one for the outbox, one for what was not claimed"


def test_an_attempt_that_nobody_claims_is_rung_again(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    desk.later(desk.settings.dispatch_again.total_seconds() + 1)

    desk.rounds.sweep()

    assert [("runs.toy.agent-1", run.run_id, 1)] * 2 == desk.dispatcher.dispatched


def test_a_crash_is_tried_again_and_a_config_error_is_not(desk: Desk) -> None:
    crashed, refused = desk.submit(), desk.submit()
    desk.rounds.plan()
    desk.report(desk.claim(crashed), "failed", failure_kind="crash", exit_code=1, reason="boom")
    desk.report(desk.claim(refused), "failed", failure_kind="config_error", exit_code=2, reason="no such env")

    assert RunState.QUEUED is desk.run(crashed).state
    assert (desk.run(refused).state, desk.run(refused).reason) == (RunState.FAILED, "no such env")


def test_the_owner_chooses_how_many_crashes_are_forgiven(desk: Desk) -> None:
    run = desk.submit(max_retries=0)
    desk.rounds.plan()

    desk.report(desk.claim(run), "failed", failure_kind="crash", reason="boom")

    assert RunState.FAILED is desk.run(run).state


def test_cancelling_a_waiting_run_ends_it_and_tells_it(desk: Desk) -> None:
    desk.fleet.current = a_fleet(slots=0)
    run = desk.submit()

    assert RunState.CANCELLED is desk.cancel(run).state
    desk.rounds.plan()

    assert [finished.run.state.value for finished in desk.finished.published] == ["cancelled"]


def test_cancelling_an_unclaimed_attempt_refuses_the_late_claim(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()

    assert RunState.CANCELLED is desk.cancel(run).state
    with pytest.raises(StaleAttempt):
        desk.claim(run)


def test_cancelling_a_running_run_asks_its_agent_and_waits_for_its_word(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")

    assert RunState.STOPPING is desk.cancel(run).state
    desk.rounds.plan()
    assert [AttemptDirective(run.run_id, 1, Directive.CANCEL)] == desk.renew(claimed)
    assert len(desk.dispatcher.dispatched) == 2
    desk.report(claimed, "cancelled", reason="asked to stop")

    assert RunState.CANCELLED is desk.run(run).state


def test_a_run_that_finishes_while_being_cancelled_has_succeeded(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.cancel(run)

    desk.report(claimed, "succeeded", exit_code=0)

    assert RunState.SUCCEEDED is desk.run(run).state


def test_hearing_the_end_twice_changes_nothing(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)

    desk.report(claimed, "succeeded", exit_code=0, last_seq=3)
    desk.report(claimed, "succeeded", exit_code=0, last_seq=3)
    desk.rounds.plan()

    assert len(desk.finished.published) == 1


def test_pause_and_resume_are_wanted_until_the_agent_says_so(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")

    desk.pause(run)
    assert [AttemptDirective(run.run_id, 1, Directive.PAUSE)] == desk.renew(claimed)
    desk.report(claimed, "paused")
    assert RunState.PAUSED is desk.run(run).state
    desk.resume(run)
    desk.report(claimed, "resumed")

    assert RunState.RUNNING is desk.run(run).state
    assert [AttemptDirective(run.run_id, 1, Directive.CONTINUE)] == desk.renew(claimed)
    with desk.store.read() as work:
        asked = [entry.fact for entry in work.history(run.run_id) if entry.actor == "user:ann"]
    assert ["submitted", "pause_requested", "resume_requested"] == asked


def test_a_run_past_its_time_limit_is_stopped_and_fails(desk: Desk) -> None:
    run = desk.submit(max_wall=timedelta(seconds=30))
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")
    desk.later(20)
    desk.renew(claimed)
    desk.later(15)
    desk.rounds.plan()

    assert [AttemptDirective(run.run_id, 1, Directive.EXPIRE)] == desk.renew(claimed)
    desk.report(claimed, "cancelled")

    assert (desk.run(run).state, desk.run(run).reason_code) == (RunState.FAILED, "time_limit")


def test_why_a_run_ended_is_told_in_a_sentence_and_kept_with_its_context(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    why = "ValueError: no angle\nTraceback (most recent call last):\nValueError: no angle"
    desk.report(desk.claim(run), "failed", failure_kind="config_error", reason=why)

    told = queries.explain_run(
        desk.run(run), store=desk.store, fleet=desk.fleet, clock=desk.clock, policy=desk.settings.policy
    )

    assert ("it has ended: failed (ValueError: no angle)",) == told.sentences
    assert why == desk.run(run).reason


def test_more_than_the_fleet_holds_waits_with_a_reason(desk: Desk) -> None:
    desk.fleet.current = a_fleet(cpus=1)
    first, second = desk.submit(), desk.submit()
    desk.rounds.plan()

    told = queries.explain_run(
        desk.run(second), store=desk.store, fleet=desk.fleet, clock=desk.clock, policy=desk.settings.policy
    )

    assert (desk.run(first).state, desk.run(second).state) == (RunState.ADMITTED, RunState.QUEUED)
    assert "needs 1 cpus on one node; the most free on any is 0" in told.sentences[0].lower()
    assert told.queue_position == 1


def test_a_dry_run_says_what_would_happen_and_stores_nothing(desk: Desk) -> None:
    template = desk.submit()
    desk.cancel(template)

    sentences = desk.predict(template.spec)

    assert sentences[0] == "1 run of worker toy 1.0 would be accepted"
    assert "it starts now on node node-1" in sentences
    with desk.store.read() as work:
        assert work.active() == []


def test_a_dry_run_of_a_key_that_was_used_names_the_runs_it_gave(desk: Desk) -> None:
    run = desk.submit(key="nightly", seed=7)

    assert [f"nothing new would start: its idempotency key was used before, for {run.run_id}"] == desk.predict(
        run.spec, key="nightly"
    )
    with pytest.raises(Refused, match="another request"):
        desk.predict(replace(run.spec, seed=9), key="nightly")


def test_a_dry_run_says_that_the_team_may_not_queue_more(desk: Desk) -> None:
    with desk.store.write() as work:
        work.save_team(Team(TeamName("vision"), max_queued=1))
    run = desk.submit(team=TeamName("vision"))

    with pytest.raises(Refused, match="2 runs waiting, 1 are allowed"):
        desk.predict(run.spec)


def test_a_team_may_only_queue_as_much_as_it_is_allowed(desk: Desk) -> None:
    with desk.store.write() as work:
        work.save_team(Team(TeamName("vision"), max_queued=1))
    desk.submit(team=TeamName("vision"))

    with pytest.raises(Refused, match="2 runs waiting, 1 are allowed"):
        desk.submit(team=TeamName("vision"))
    with pytest.raises(BadInput, match="did you mean 'vision'"):
        desk.submit(team=TeamName("vison"))


def test_a_run_is_found_by_the_beginning_of_its_id(desk: Desk) -> None:
    run = desk.submit()

    with desk.store.read() as work:
        assert run.run_id == lookup.find(work, run.run_id[:20].lower(), admin()).run_id
        with pytest.raises(RunNotFound, match="mosaic runs"):
            lookup.find(work, "nothing", admin())


def test_the_agent_that_comes_back_learns_of_attempts_that_wait_for_it(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()

    assert [AttemptDirective(run.run_id, 1, Directive.CONTINUE)] == desk.renew()


def test_a_retry_is_a_new_run_that_names_the_old_one(desk: Desk) -> None:
    run = desk.submit({"total_steps": 9}, seed=3)
    with pytest.raises(Refused, match="only an ended run"):
        desk.retry(run)
    desk.cancel(run)

    again = desk.retry(run)

    assert (run.spec.config, run.spec.seed) == (again.spec.config, again.spec.seed)
    assert run.run_id == again.spec.labels["retry_of"]


def test_recent_use_is_charged_and_outlives_the_scheduler(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    for _ in range(30):
        desk.later(20)
        desk.renew(claimed)
        desk.rounds.sweep()

    with desk.store.read() as work:
        usage = work.usage()

    assert 0 < usage.teams[TeamName("default")] < 1
    assert usage.as_of == desk.now


@pytest.mark.parametrize(("fact", "kind"), [("failed", "crash"), ("lost", "lost_agent")])
def test_an_ending_told_without_its_kind_still_has_one(desk: Desk, fact: str, kind: str) -> None:
    run = desk.submit(max_retries=0)
    desk.rounds.plan()

    desk.report(desk.claim(run), fact)

    assert kind == desk.attempt(run).failure_kind

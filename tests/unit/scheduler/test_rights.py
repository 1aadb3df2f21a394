"""What each caller may see and do in the scheduler: what is out of sight does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import BadInput, Forbidden, NotFound, RunNotFound
from mosaic.ids import TeamName, UserName
from mosaic.lifecycle import RunState
from mosaic.model.identity import Caller, Role
from mosaic.model.run import Run, RunAccepted
from mosaic.model.team import Team
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.adapters.secret_files import SecretFiles
from mosaic_scheduler.handlers.lookup import find
from tests.fakes.calls import Call, admin, member
from tests.fakes.scheduler import Desk

ANN, BOB = member("ann", vision=Role.RESEARCHER), member("bob", vision=Role.RESEARCHER)
LEAD, GUEST = member("lead", vision=Role.TEAM_ADMIN), member("guest", vision=Role.VIEWER)
EVE = member("eve", speech=Role.TEAM_ADMIN)
OPERATOR = Caller(UserName("olga"), roles=frozenset({Role.OPERATOR}))
AUDITOR = Caller(UserName("aud"), roles=frozenset({Role.AUDITOR}))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


@pytest.fixture
def run(desk: Desk) -> Run:
    return desk.submit(caller=ANN, team=TeamName("vision"), name="mine")


def listed(desk: Desk, caller: Caller, **wanted: Any) -> list[str]:
    answer = desk.api().ListRuns(wire.ListRunsRequest(**wanted), Call(caller))
    return [run.run_id for run in answer.runs]


def test_a_run_is_of_who_submits_it_whatever_the_request_says(desk: Desk) -> None:
    spec = wire.RunSpec(worker="toy", team="vision", user="bob")

    (run,) = desk.api().Submit(wire.SubmitRequest(spec=spec), Call(ANN)).runs

    assert ("ann", "vision") == (run.spec.user, run.spec.team)
    with desk.store.read() as work:
        assert ["user:ann"] == [change.actor for change in work.history(run.run_id)]


def test_telemetry_is_told_whose_a_run_is_once_it_listens(desk: Desk, run: Run) -> None:
    desk.finished.is_away = True
    desk.rounds.plan()
    assert ([], [run.run_id]) == (desk.finished.accepted, [run_id for _, run_id, _ in desk.dispatcher.dispatched])

    desk.finished.is_away = False
    for _ in range(2):
        desk.rounds.plan()
    assert [RunAccepted(run.run_id, TeamName("vision"), UserName("ann"))] == desk.finished.accepted


def test_who_has_one_team_need_not_name_it(desk: Desk) -> None:
    two = member("ann", vision=Role.RESEARCHER, speech=Role.VIEWER)

    assert "vision" == desk.submit(caller=two, team="").spec.team
    assert "default" == desk.submit(caller=admin(), team="").spec.team


def test_who_has_several_teams_and_names_none_is_told_them(desk: Desk) -> None:
    with pytest.raises(BadInput, match="speech, vision"):
        desk.submit(caller=member(vision=Role.RESEARCHER, speech=Role.RESEARCHER), team="")


@pytest.mark.parametrize("caller", [EVE, AUDITOR])
def test_a_team_out_of_sight_is_as_one_that_is_not_there(desk: Desk, run: Run, caller: Caller) -> None:
    told = []
    for team in ("vision", "unknown"):
        with pytest.raises(BadInput) as caught:
            desk.submit(caller=caller, team=team)
        told.append(str(caught.value).replace(team, "TEAM"))

    assert told[0] == told[1]


@pytest.mark.parametrize("caller", [GUEST, OPERATOR])
def test_who_sees_a_team_but_may_not_submit_to_it_is_refused(desk: Desk, run: Run, caller: Caller) -> None:
    with pytest.raises(Forbidden):
        desk.submit(caller=caller, team="vision")


@pytest.mark.parametrize("caller", [EVE, OPERATOR, AUDITOR])
def test_what_is_out_of_sight_is_not_found_by_any_name(desk: Desk, run: Run, caller: Caller) -> None:
    for text in (run.run_id, run.run_id[:20], run.run_id[-8:], "mine"):
        with pytest.raises(RunNotFound):
            desk.api().GetRun(wire.GetRunRequest(run_id=text), Call(caller))
        with pytest.raises(RunNotFound):
            desk.api().Explain(wire.GetRunRequest(run_id=text), Call(caller))
        with pytest.raises(RunNotFound):
            next(desk.api().WatchRuns(wire.WatchRunsRequest(run_ids=[text]), Call(caller)))  # type: ignore[arg-type]
    assert not listed(desk, caller)


def test_a_part_of_an_id_means_the_run_in_sight(desk: Desk, run: Run) -> None:
    twin = desk.submit(caller=EVE, team=TeamName("speech"), name="mine")
    shared = run.run_id[:6]
    assert twin.run_id.startswith(shared)

    with desk.store.read() as work:
        for text in (shared, "mine"):
            assert (run.run_id, twin.run_id) == (find(work, text, ANN).run_id, find(work, text, EVE).run_id)
            with pytest.raises(BadInput):
                find(work, text, admin())


@pytest.mark.parametrize("verb", ["Cancel", "Pause", "Resume", "Retry"])
@pytest.mark.parametrize(("caller", "error"), [(BOB, Forbidden), (GUEST, Forbidden), (EVE, RunNotFound)])
def test_nobody_changes_what_is_not_theirs(
    desk: Desk, run: Run, verb: str, caller: Caller, error: type[Exception]
) -> None:
    with pytest.raises(error):
        getattr(desk.api(), verb)(wire.RunCommand(run_id=run.run_id), Call(caller))

    with desk.store.read() as work:
        assert RunState.QUEUED is desk.run(run).state
        assert 1 == len(work.history(run.run_id))


@pytest.mark.parametrize(("caller", "told"), [(ANN, "cancelled by its owner"), (LEAD, "cancelled by lead")])
def test_the_history_says_who_cancelled(desk: Desk, run: Run, caller: Caller, told: str) -> None:
    desk.cancel(run, caller, reason="")

    with desk.store.read() as work:
        change = work.history(run.run_id)[-1]
    assert (caller.actor, told) == (change.actor, change.detail)


def test_a_retry_is_a_run_of_who_retries(desk: Desk, run: Run) -> None:
    desk.cancel(run, ANN)

    assert ("lead", "vision") == (desk.retry(run, LEAD).spec.user, desk.retry(run, LEAD).spec.team)


def test_a_run_out_of_sight_cannot_be_continued(desk: Desk, run: Run) -> None:
    desk.cancel(run, ANN)

    with pytest.raises(RunNotFound):
        desk.submit(caller=EVE, team="", worker="", continues=run.run_id)


def test_no_path_of_a_config_leads_into_a_run_out_of_sight(desk: Desk, run: Run) -> None:
    config = {"env_id": f"/runs/{run.run_id}/checkpoints/9"}

    with pytest.raises(BadInput, match=f"there is no run '{run.run_id}'"):
        desk.submit(config, caller=EVE, team=TeamName("speech"))
    desk.submit(config, caller=BOB, team=TeamName("vision"))


def test_a_secret_goes_only_to_runs_of_its_team(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    (folder / "vision").mkdir(parents=True)
    (folder / "vision" / "wandb").write_text("of vision\n")
    (folder / "wandb").write_text("of the default team\n")
    desk.secrets = SecretFiles(str(folder), top_of=TeamName("default"))  # type: ignore[assignment]
    mine = desk.submit(caller=ANN, team=TeamName("vision"), secrets={"KEY": "wandb"})

    with pytest.raises(BadInput, match="wandb"):
        desk.submit(caller=EVE, team=TeamName("speech"), secrets={"KEY": "wandb"})
    with pytest.raises(BadInput, match=r"vision/wandb"):
        desk.submit(caller=EVE, team=TeamName("speech"), secrets={"KEY": "vision/wandb"})
    desk.rounds.plan()
    assert {"KEY": "of vision"} == desk.claim(mine).secrets


@pytest.mark.parametrize(
    ("caller", "terms", "error"),
    [
        (admin(), {"weight": 2}, None),
        (LEAD, {"max_running_per_user": 2}, None),
        (LEAD, {"weight": 1e9}, Forbidden),
        (LEAD, {"max_running": 1, "max_running_per_user": 2}, Forbidden),
        (ANN, {"max_running_per_user": 2}, Forbidden),
        (OPERATOR, {"weight": 2}, Forbidden),
        (EVE, {"max_running_per_user": 1}, NotFound),
        (EVE, {"max_running": 1}, NotFound),
    ],
)
def test_a_teams_terms_are_set_by_who_may(
    desk: Desk, caller: Caller, terms: dict[str, Any], error: type[Exception] | None
) -> None:
    with desk.store.write() as work:
        work.save_team(Team(TeamName("vision")))
    request = wire.SetTeamRequest(team=wire.Team(name="vision", **terms), terms=list(terms))

    if error is None:
        desk.api().SetTeam(request, Call(caller))
    else:
        with pytest.raises(error):
            desk.api().SetTeam(request, Call(caller))
    with desk.store.read() as work:
        assert (error is None) == (work.teams() != [Team(TeamName("vision"))])


def test_teams_are_listed_to_who_may_see_them(desk: Desk, run: Run) -> None:
    desk.submit(caller=EVE, team=TeamName("speech"))

    def seen(caller: Caller) -> list[str]:
        return [team.name for team in desk.api().ListTeams(wire.ListTeamsRequest(), Call(caller)).teams]

    assert (["vision"], ["speech"], ["speech", "vision"]) == (seen(GUEST), seen(EVE), seen(OPERATOR))


def test_pages_are_full_of_what_is_in_sight(desk: Desk) -> None:
    for index in range(6):
        desk.submit(caller=(ANN, EVE)[index % 2], team="")

    answer = desk.api().ListRuns(wire.ListRunsRequest(page_size=3), Call(EVE))

    assert 3 == len(answer.runs)
    assert not answer.next_page_token


names = st.text("ab-", min_size=1, max_size=3).map(lambda text: f"t{text}")


@given(mine=names, theirs=st.sets(names, min_size=1, max_size=5))
def test_watchers_never_see_a_run_of_another_team(
    tmp_path_factory: pytest.TempPathFactory, mine: str, theirs: set[str]
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    watcher = member("ann", **{mine: Role.VIEWER})
    for team in theirs:
        desk.submit(caller=member("bob", **{team: Role.RESEARCHER}), team=TeamName(team))
    once = Call(watcher, wanted=1, on_look=desk.changes.notify)

    seen = list(desk.api().WatchRuns(wire.WatchRunsRequest(), once))  # type: ignore[arg-type]

    assert [mine] * (mine in theirs) == [run.spec.team for run in seen]
    assert listed(desk, watcher) == [run.run_id for run in seen]
    assert mine in theirs or listed(desk, watcher, team=next(iter(theirs))) == []
    desk.engine.dispose()

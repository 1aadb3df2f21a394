"""Two teams on one platform: neither sees, changes or uses what is the other's, and what was tried is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mosaic.client import Login, Mosaic
from mosaic.client.people import sign_in
from mosaic.errors import BadInput, Forbidden, MosaicError, NotFound, RunNotFound
from mosaic.model.identity import Role
from tests.stack.embedded import Machine

PASSWORD = "correct horse battery"


class Fleet:
    """A platform with ann and bob in team vision, and eve, an admin of team speech."""

    def __init__(self, machine: Machine) -> None:
        self.root = machine.connect()
        people = {"ann": ("vision", Role.RESEARCHER), "bob": ("vision", Role.RESEARCHER)}
        people["eve"] = ("speech", Role.TEAM_ADMIN)
        self.of = {name: self._member(name, team, role) for name, (team, role) in people.items()}

    def _member(self, name: str, team: str, role: Role) -> Mosaic:
        self.root.people.add(name, password=PASSWORD)
        self.root.people.set_member(team, name, role)
        login = sign_in(self.root.login.url, name, PASSWORD, name="tests")
        return Mosaic(Login(login.url, login.token))

    def close(self) -> None:
        for one in (*self.of.values(), self.root):
            one.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    fleet = Fleet(machine)
    yield fleet
    fleet.close()
    machine.platform.stop()


@pytest.fixture(scope="module")
def run_id(fleet: Fleet) -> str:
    ann = fleet.of["ann"]
    ann.set_secret("hub", "hunter2-hunter2")
    (run,) = ann.submit("drill", {}, name="mine", secrets={"TOKEN": "hub"})
    assert ("ann", "vision") == (run.spec.user, run.spec.team)
    return ann.wait(run.run_id).run_id


READS: dict[str, Callable[[Mosaic, str], object]] = {
    "run": lambda platform, run_id: platform.run(run_id),
    "by its end": lambda platform, run_id: platform.run(run_id[-8:]),
    "by name": lambda platform, run_id: platform.run("mine"),
    "explain": lambda platform, run_id: platform.explain(run_id),
    "events": lambda platform, run_id: list(platform.events(run_id)),
    "logs": lambda platform, run_id: list(platform.logs(run_id)),
    "series": lambda platform, run_id: platform.series(run_id),
    "manifest": lambda platform, run_id: platform.manifest(run_id),
}
CHANGES: dict[str, Callable[[Mosaic, str], object]] = {
    "cancel": lambda platform, run_id: platform.cancel(run_id),
    "pause": lambda platform, run_id: platform.pause(run_id),
    "resume": lambda platform, run_id: platform.resume(run_id),
    "retry": lambda platform, run_id: platform.retry(run_id),
}


@pytest.mark.parametrize("read", READS)
def test_a_run_is_there_for_its_team_and_for_nobody_else(fleet: Fleet, run_id: str, read: str) -> None:
    READS[read](fleet.of["bob"], run_id)

    with pytest.raises(NotFound):
        READS[read](fleet.of["eve"], run_id)


def test_lists_and_summaries_hold_what_is_in_sight(fleet: Fleet, run_id: str) -> None:
    assert [run_id] == [run.run_id for run in fleet.of["bob"].runs()]
    assert [] == list(fleet.of["eve"].runs())
    assert {} == fleet.of["eve"].summaries([run_id])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "error"), [("bob", Forbidden), ("eve", RunNotFound)])
def test_nobody_changes_what_is_anothers_and_the_trail_says_who_tried(
    fleet: Fleet, run_id: str, change: str, name: str, error: type[MosaicError]
) -> None:
    with pytest.raises(error):
        CHANGES[change](fleet.of[name], run_id)

    *_, last = fleet.root.audit("scheduler")
    assert (f"user:{name}", f"runs:{change}", run_id, False) == (last.actor, last.action, last.target, last.allowed)


def test_nobody_submits_for_another_team_or_uses_anothers_secret(fleet: Fleet, run_id: str) -> None:
    eve, bob = fleet.of["eve"], fleet.of["bob"]

    with pytest.raises(BadInput, match="no team 'vision'"):
        eve.submit("drill", {}, team="vision")
    for platform in (eve, bob):
        with pytest.raises(BadInput, match="'hub'"):
            platform.submit("drill", {}, secrets={"TOKEN": "hub"})
    with pytest.raises(RunNotFound):
        eve.submit("", {}, continues=run_id)


def test_nobody_takes_a_share_from_another_team_or_drains_a_machine(fleet: Fleet) -> None:
    eve = fleet.of["eve"]

    with pytest.raises(Forbidden):
        eve.set_team("speech", weight=1e9)
    with pytest.raises(NotFound):
        eve.set_team("vision", max_running_per_user=1)
    with pytest.raises(MosaicError) as caught:
        eve.drain(node_id=eve.fleet().nodes[0].node_id)
    assert "forbidden" == caught.value.code


def test_who_administers_a_team_reads_of_it_in_the_trail_and_of_no_other(fleet: Fleet, run_id: str) -> None:
    assert {"speech"} >= {entry.team for entry in fleet.of["eve"].audit("scheduler")}
    with pytest.raises(MosaicError) as caught:
        list(fleet.of["ann"].audit("scheduler"))
    assert "forbidden" == caught.value.code

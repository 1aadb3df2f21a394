"""Rules of the walls around attempts: which files, which user ids, how much memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.agent.execution.memory import LEAST_LIMIT_MB, Use, measure_mb, must_end
from mosaic.agent.execution.outcome import Ending, Evidence, judge
from mosaic.agent.execution.walls import Walls, is_checkpoint, named_paths, read_uids, secret_places
from mosaic.agent.inventory import memory_left
from mosaic.errors import BadInput
from mosaic.launching import prepare
from mosaic.lifecycle import FailureKind
from tests.fakes.agent import a_launch


def a_use(used_mb: int, lease_mb: int, *, is_asked: bool = True, run_id: str = "r1") -> Use:
    return Use(run_id, 1, used_mb, lease_mb, is_asked)


@pytest.mark.parametrize(
    ("use", "left", "ends"),
    [
        (a_use(600, 512), 0.5, True),
        (a_use(512, 512), 0.5, False),
        (a_use(LEAST_LIMIT_MB, 16), 0.5, False),
        (a_use(LEAST_LIMIT_MB + 1, 16), 0.5, True),
        (a_use(9000, 512, is_asked=False), 0.5, False),
        (a_use(9000, 512, is_asked=False), 0.01, True),
        (a_use(500, 512, is_asked=False), 0.01, False),
    ],
)
def test_what_was_asked_for_is_a_limit_and_what_was_estimated_is_one_when_the_machine_runs_out(
    use: Use, left: float, ends: bool
) -> None:
    assert ends is bool(list(must_end([use], left)))


def test_of_several_the_one_furthest_beyond_its_lease_ends_first() -> None:
    uses = [a_use(9000, 8000, is_asked=False, run_id="r1"), a_use(3000, 512, is_asked=False, run_id="r2")]

    assert ["r2"] == [use.run_id for use, _ in must_end(uses, 0.01)]


def test_when_one_is_over_its_limit_nobody_else_ends_for_the_machine() -> None:
    uses = [a_use(9000, 512, is_asked=False, run_id="r1"), a_use(600, 512, run_id="r2")]

    assert ["r2"] == [use.run_id for use, _ in must_end(uses, 0.01)]


def test_memory_is_measured() -> None:
    kept = bytearray(b"1") * (50 * 1024 * 1024)

    assert len(kept) // 1024**2 <= measure_mb([os.getpid()], enough_mb=0) < 10_000
    assert 0 == measure_mb([2**22 + 1], enough_mb=0)
    assert 0 < memory_left() <= 1


def test_the_memory_of_a_cgroup_around_us_counts_without_what_it_can_give_back(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000")
    (tmp_path / "memory.current").write_text("990")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 400\n")

    assert 0.41 == pytest.approx(memory_left(tmp_path), abs=0.001)


def test_an_attempt_ended_for_its_memory_says_so() -> None:
    outcome = judge(Evidence(exit_code=-9, ending=Ending.MEMORY, memory="it used 600 MB"))

    assert (FailureKind.OUT_OF_MEMORY, "it used 600 MB") == (outcome.failure_kind, outcome.reason)


def test_what_is_refused_is_a_fault_of_the_config_and_is_not_tried_again() -> None:
    assert FailureKind.CONFIG_ERROR is judge(Evidence(exit_code=None, refusal="environment.PATH")).failure_kind


def test_a_config_may_name_checkpoints_of_other_runs_and_nothing_else_of_them(tmp_path: Path) -> None:
    checkpoint = tmp_path / "other" / "checkpoints" / "9"
    checkpoint.mkdir(parents=True)
    (tmp_path / "other" / "notes.txt").touch()
    (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
    (tmp_path / "mine" / "checkpoints" / "link").symlink_to(tmp_path / "other")
    named = [
        str(checkpoint),
        str(tmp_path / "other" / "notes.txt"),
        str(tmp_path / "other" / "checkpoints"),
        str(tmp_path / "mine" / "checkpoints" / "link"),
        str(tmp_path / "mine" / "checkpoints" / ".." / ".." / "other"),
        "/etc/passwd",
    ]

    assert [checkpoint] == named_paths({"opponents": [{"policy_path": name} for name in named]}, tmp_path)
    assert not is_checkpoint(tmp_path / "mine" / "checkpoints" / "link" / "checkpoints" / "9", tmp_path)


def test_no_two_attempts_have_the_same_user_id_at_a_time() -> None:
    walls = Walls(uids=range(5000, 5002))

    first, second = walls.take_uid(), walls.take_uid()
    walls.return_uid(first)

    assert (5000, 5001, 5000) == (first, second, walls.take_uid())
    assert Walls().take_uid() is None


@pytest.mark.parametrize("text", ["5000", "0-10", "5000-4000", "a-b", "5000-5001"])
def test_user_ids_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_uids(text, slots=3)


def test_what_the_settings_name_as_files_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "url").touch()
    env = {"MOSAIC_BROKER_URL_FILE": str(tmp_path / "url"), "MOSAIC_X_FILE": "/nowhere/at/all", "SSL_CERT_DIR": "/etc"}

    assert [tmp_path / "url"] == secret_places(env)


def test_a_link_that_an_attempt_left_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    prepare(tmp_path, a_launch())
    (tmp_path / "run-1" / "config" / "attempt-2.json").symlink_to(precious)

    prepare(tmp_path, a_launch(attempt=2))

    assert "as it was" == precious.read_text()
    assert 0o700 == (tmp_path / "run-1").stat().st_mode & 0o777


def test_a_folder_that_was_replaced_by_a_link_is_an_error(tmp_path: Path) -> None:
    prepare(tmp_path, a_launch())
    folder = tmp_path / "run-1" / "config"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="link"):
        prepare(tmp_path, a_launch(attempt=2))

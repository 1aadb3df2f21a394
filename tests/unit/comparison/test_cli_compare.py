"""What `mosaic compare` prints, as it is typed."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator

import pytest

from mosaic.cli.__main__ import main
from mosaic.cli.plot import Line, plot
from mosaic.lifecycle import RunState
from tests.fakes.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Two rates with three seeds each, one of which failed, and a run on something else."""
    running = Study(tmp_path_factory.mktemp("study"))
    for seed in (1, 2, 3):
        slow, fast = {"learning_rate": 0.1}, {"learning_rate": 0.5}
        has_failed = {"state": RunState.FAILED, "reason": "killed [bold]"} if seed == 3 else {}
        running.add(f"slow-{seed}", seed, [float(seed)] * 40, slow, name="rate-slow", labels={"s": "1"}, **has_failed)
        running.add(f"fast-{seed}", seed, [10.0 * seed] * 40, fast, name="rate-fast", labels={"s": "1"})
    running.add("taxi-1", 1, [1.0], {"env_id": "Taxi-v4"}, name="taxi")
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def here(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_URL", study.login.url)
    monkeypatch.setenv("MOSAIC_TOKEN", study.login.token)


def typed(capsys: pytest.CaptureFixture[str], *words: str, exit_code: int = 0) -> str:
    """Type ``mosaic compare WORDS`` and return what it prints, or says about what is wrong."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mosaic", "compare", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    printed = capsys.readouterr()
    assert exit_code == (ended.value.code or 0), printed.err
    return printed.err if exit_code else printed.out


@pytest.mark.parametrize("words", ["--name rate-", "--label s=1", "rate-slow rate-fast", "rate-slow --name rate-fast"])
def test_a_row_for_each_arm_and_who_is_missing_from_it(capsys: pytest.CaptureFixture[str], words: str) -> None:
    printed = typed(capsys, *words.split())

    title, head, slow, fast, _, *notes = printed.splitlines()
    assert "mean return of the newest 100 training episodes on CartPole-v1" == title
    assert "arm settings n seeds IQM 95 % CI P(better than baseline)" == " ".join(head.split())
    assert "rate-slow learning_rate=0.1 2 of 3 1..2 1.5 1 to 2 baseline" == " ".join(slow.split())
    assert "rate-fast learning_rate=0.5 3 1..3 20 10 to 30 1.00 (1.00 to 1.00)" == " ".join(fast.split())
    assert "rate-slow: seed 3 (slow-3) left out: failed: killed [bold]; it got to step 400" == notes[0]
    assert "● rate-slow (n=3)   ▲ rate-fast (n=3)" == notes[-1].strip()


def test_json_has_every_number_every_run_and_every_note(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(typed(capsys, "--name", "rate-", "--json"))

    slow = told["arms"][0]
    assert {"value": 1.5, "low": 1.0, "high": 2.0, "n": 2, "note": ""} == slow["score"]
    assert [1.0, 2.0, None] == [one["score"] for one in slow["members"]]
    assert "failed" == slow["members"][2]["state"]
    assert len(slow["curve"]["steps"]) == len(slow["curve"]["n"])
    assert any("left out" in note for note in told["notes"])


def test_csv_has_a_row_for_each_arm_and_names_who_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = csv.DictReader(io.StringIO(typed(capsys, "--name", "rate-", "--csv")))

    assert ("2", "3", "1 2", "1.5", "slow-3", "") == tuple(
        slow[name] for name in ("n", "runs", "seeds", "iqm", "left_out", "p_better")
    )
    assert ("rate-slow", "1.0", "learning_rate=0.5") == tuple(
        fast[name] for name in ("baseline", "p_better", "settings")
    )


def test_arms_of_one_setting_are_called_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    printed = typed(
        capsys, "--name", "rate-", "--by", "learning_rate", "--baseline", "learning_rate=0.5", "--at", "100"
    )

    assert "learning_rate=0.1 3 1..3 2 1 to 3 0.00 (0.00 to 0.00)" == " ".join(printed.splitlines()[2].split())
    assert "seed 3 (slow-3) counts, though failed" in printed


def test_what_cannot_be_compared_is_refused_and_how_to_choose_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    said = typed(capsys, "rate-slow", "taxi", exit_code=2)

    assert "they play CartPole-v1 (runs slow-1, slow-2, slow-3) and Taxi-v4 (run taxi-1)" in said
    assert "rate-slow" not in typed(capsys, "rate-slow", "taxi", "--env", "Taxi-v4")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("", "name runs, or choose them"),
        ("--name nobody --label s=1", "no run fits --name nobody --label s=1"),
        ("taxi --of finall", "did you mean 'final'"),
        ("taxi --at soon", "write 100000"),
        ("taxi --csv --json", "ask for one"),
        ("taxi --env Taxi-v3", "did you mean 'Taxi-v4'"),
    ],
)
def test_wrong_command_lines_say_what_is_wrong(capsys: pytest.CaptureFixture[str], words: str, fault: str) -> None:
    assert fault in typed(capsys, *words.split(), exit_code=2)


def test_a_run_without_episodes_is_named_and_nothing_is_drawn(capsys: pytest.CaptureFixture[str], study: Study) -> None:
    study.add("empty-1", 1, [], name="empty")

    printed = typed(capsys, "empty")

    assert "seed 1 (empty-1) left out: it told no training episode that could count" in printed
    assert "┤" not in printed


def test_a_band_is_dotted_around_its_curve_and_within_the_picture() -> None:
    line = Line("a", [0, 1, 2], [5.0, 5.0, 5.0], [(0.0, 10.0), (0.0, 10.0), (float("nan"), 7.0)])

    drawn = plot([line], width=20, height=6)

    assert "10 ┤" in drawn
    rows = drawn.splitlines()[1:7]
    dotted = [sum(0x2800 < ord(letter) <= 0x28FF for letter in row) for row in rows]
    assert all(8 < count <= 11 for count in dotted[:2] + dotted[-2:]), "as far as both ends are numbers"
    assert max(dotted) == 20, "the curve itself goes on"

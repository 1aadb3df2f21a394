"""A worker that breaks one promise fails that check, on real runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic.cli.scaffold.project import create_project
from mosaic.errors import BadInput, WorkerBroken, WorkerNotFound
from mosaic.testing import Outcome, Report, check_worker


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., Report]:
    """Check the scaffold's worker after replacing *old* by *new* in one of its files."""

    def check(*only: str, file: str = "runtime.py", old: str = "", new: str = "") -> Report:
        project = create_project("corridor", tmp_path)
        path = project / "mosaic_corridor" / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
        register(project)
        env = {"PYTHONPATH": str(project)}
        return check_worker("corridor", env=env, timeout_s=20, grace_s=2, only=only or None)

    return check


def register(project: Path) -> None:
    """Leave beside the package what an installer would: the metadata with the entry point."""
    metadata = project / "mosaic_corridor-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mosaic-corridor\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[mosaic.workers]\ncorridor = mosaic_corridor:get_worker_metadata\n")


def failures(report: Report) -> set[str]:
    return {check.name for check in report.failures}


def test_the_scaffold_passes_every_check_as_it_comes(checked: Callable[..., Report]) -> None:
    report = checked()

    assert {} == {check.name: check.sentence for check in report.checks if check.outcome is not Outcome.PASSED}
    assert "grade A" in report.check("resume").sentence


def test_a_worker_that_ignores_its_seed_is_caught(checked: Callable[..., Report]) -> None:
    report = checked("same seed, same values", old="random.Random(config.seed)", new="random.Random()")

    assert {"same seed, same values"} == failures(report)


def test_a_worker_that_forgets_its_random_state_has_not_the_grade_it_declares(checked: Callable[..., Report]) -> None:
    report = checked("resume", file="corridor.py", old="random=generator", new="random=random.Random(99)")

    assert {"resume"} == failures(report)
    assert "grade B, but resume_grade='A' is declared" in report.check("resume").sentence


def test_a_worker_that_does_not_end_on_sigterm_is_caught(checked: Callable[..., Report]) -> None:
    report = checked("stop on SIGTERM", old="self._stop_requested = True", new="pass")

    assert {"stop on SIGTERM"} == failures(report)


def test_a_worker_that_prints_half_an_event_is_caught(checked: Callable[..., Report]) -> None:
    torn = """learner.begin_episode(); print('{"event": "metric", "payl')"""

    report = checked("stdout hygiene", old="learner.begin_episode()", new=torn)

    assert "looks like JSON but is not" in report.check("stdout hygiene").sentence


def test_a_worker_that_hides_its_exit_code_is_caught(checked: Callable[..., Report]) -> None:
    names = ("failure path", "bad input: not JSON")

    report = checked(*names, file="__main__.py", old="sys.exit(run_worker(", new="bool(run_worker(")

    assert set(names) == failures(report)


def test_a_worker_that_cannot_be_imported_is_reported_not_fatal(checked: Callable[..., Report]) -> None:
    report = checked(
        "discovery", file="__init__.py", old='__version__ = "0.1.0"', new="raise ImportError('no libcuda')"
    )

    assert "no libcuda" in report.check("discovery").sentence
    assert not report.is_conformant


def test_a_name_nobody_has_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    register(create_project("corridor", tmp_path))

    with pytest.raises(WorkerNotFound, match="did you mean 'corridor'"):
        check_worker("coridor", env={"PYTHONPATH": str(tmp_path / "corridor")})


def test_an_interpreter_that_does_not_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkerBroken, match="cannot be started"):
        check_worker("corridor", python=str(tmp_path / "no-python"))


def test_a_package_name_finds_its_worker_too(tmp_path: Path) -> None:
    register(create_project("corridor", tmp_path))

    env = {"PYTHONPATH": str(tmp_path / "corridor")}
    report = check_worker("mosaic_corridor", env=env, only=["discovery"])

    assert report.worker == "corridor"


def test_a_check_nobody_knows_is_refused_before_anything_runs() -> None:
    with pytest.raises(BadInput, match="there is no check 'resum', did you mean 'resume'"):
        check_worker("corridor", only=["resum"])

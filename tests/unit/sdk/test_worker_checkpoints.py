"""What all workers do alike with their checkpoints, which may be files or directories."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from mosaic.worker.library.checkpoints import digest_of, mismatches, prune, shown


def written(path: Path, at_s: int) -> Path:
    path.write_bytes(b"weights")
    os.utime(path, (at_s, at_s))
    return path


def test_the_digest_of_a_directory_follows_from_its_files_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"weights")

    digest = sha256(b"weights").hexdigest()
    assert digest == digest_of(tmp_path / "model")
    assert sha256(f"{digest}  model\n".encode()).hexdigest() == digest_of(tmp_path)


def test_a_checkpoint_of_another_run_is_told_in_every_way_it_differs() -> None:
    faults = mismatches(("algorithm", "dqn", "ppo"), ("environment", "Taxi-v4", "Taxi-v4"))

    assert ["is of algorithm 'dqn', this run is of 'ppo'"] == faults


def test_a_path_outside_the_run_directory_is_shown_whole(tmp_path: Path) -> None:
    assert "checkpoints/one" == shown(tmp_path / "checkpoints" / "one", tmp_path)
    assert "/elsewhere/one" == shown(Path("/elsewhere/one"), tmp_path)


def test_what_was_written_last_is_kept_also_by_a_run_that_went_back(tmp_path: Path) -> None:
    for step, at_s in ((100, 1), (300, 2), (200, 3)):
        written(tmp_path / f"step-{step}.pt", at_s)
    written(tmp_path / "step-400.part", 4)
    written(tmp_path / "notes", 0)

    prune(tmp_path, keep=2)

    assert ["notes", "step-200.pt", "step-300.pt"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_checkpoint_that_is_a_directory_is_deleted_whole(tmp_path: Path) -> None:
    for step in (1, 2):
        (tmp_path / f"step-{step}").mkdir()
        written(tmp_path / f"step-{step}" / "model", step)
        os.utime(tmp_path / f"step-{step}", (step, step))

    prune(tmp_path, keep=1)

    assert ["step-2"] == [path.name for path in tmp_path.iterdir()]


def test_a_directory_that_is_not_there_needs_no_pruning(tmp_path: Path) -> None:
    prune(tmp_path / "nowhere", keep=1)

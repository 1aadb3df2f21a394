"""The sentence that says why, found in what real libraries printed before they died."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.agent.execution.failure_reason import SENTENCE_LETTERS, complaint, last_line, raised, sentence
from mosaic.agent.execution.outcome import Evidence, judge

SAMPLES = Path(__file__).parents[2] / "golden" / "stderr"


def stderr(name: str) -> tuple[str, ...]:
    """Return a sample as the agent keeps it."""
    text = (SAMPLES / f"{name}.txt").read_bytes().decode()
    return tuple(line.rpartition("\r")[2] for line in text.split("\n") if line.strip())


WHY = {
    # Kill -9 in the midst of training: whatever is in stderr was there before.
    ("xuance-killed", -9): "ended by SIGKILL: somebody or the kernel killed it; the kernel does when memory runs out",
    ("rllib-killed", -9): "ended by SIGKILL: somebody or the kernel killed it; the kernel does when memory runs out",
    ("rllib-killed", 1): "exit code 1: it did not say why",
    ("xuance-left", 3): "exit code 3: it did not say why",
    ("rllib-segmentation-fault", -11): "ended by SIGSEGV: native code touched memory that is not its own",
    (
        "cleanrl-environment-raised",
        1,
    ): "EnvironmentFailed: the environment crashenv:Crash-v0 raised in step() at step 300: "
    "RuntimeError: cleanup failed: the pole is gone",
    (
        "xuance-environment-raised",
        1,
    ): "EnvironmentFailed: the environment CartPole-v1 raised RuntimeError near step 290: "
    "cleanup failed: the pole is gone",
    ("rllib-environment-raised", 1): "EnvironmentFailed: the environment CartPole-v1 failed in step(): "
    "ValueError: the pole has no angle: nan (after step 0)",
    ("cleanrl-assertion", 1): "EnvironmentFailed: the environment crashenv:Crash-v0 raised in step() at step 300: "
    "AssertionError",
    ("cleanrl-no-memory-for-numpy", 1): "out of memory: ImportError: Error importing numpy: "
    "you should not try to import numpy from",
    ("reference-memory-error", 1): "out of memory: _ArrayMemoryError: "
    "Unable to allocate 200. GiB for an array with shape (26843545600,) and data type float64",
    ("reference-full-disk", 1): "the disk is full: OSError: [Errno 28] No space left on device",
    ("reference-bad-environment", 2): "mosaic_reference: /runs/run-1/config.json: env_id: must be one of "
    '"CartPole-v1", "MountainCar-v0", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4", '
    "is \"CartPol-v1\", did you mean 'CartPole-v1'?",
}


@pytest.mark.parametrize(("name", "exit_code"), WHY)
def test_the_first_line_of_the_reason_says_why(name: str, exit_code: int) -> None:
    outcome = judge(Evidence(exit_code, stderr_tail=stderr(name)))

    assert WHY[name, exit_code] == outcome.reason.partition("\n")[0]


def test_the_chain_of_exceptions_follows_the_sentence() -> None:
    reason = judge(Evidence(1, stderr_tail=stderr("cleanrl-environment-raised"))).reason

    assert "KeyError: 'pole'" in reason
    assert reason.endswith("and the cart with it")


NOISE = (
    "/opt/lib/python3.11/site-packages/numpy/_core/fromnumeric.py:3904: RuntimeWarning: Mean of empty slice.",
    "  return _methods._mean(a, axis=axis, dtype=dtype, error='raise')",
    "DeprecationWarning: this has been deprecated and will raise an error in the future!",
    "2026-11-18 00:42:12,378\tWARNING config.py:5160 -- cannot find what was asked for",
    "2026-11-18 00:42:12,378 INFO loading error.log",
    "  0%|          | 0/1200 [00:00<?, ?it/s]",
    "Epoch 1: 100%|██████████| 1200/1200 [00:10<00:00, 118.3it/s]",
    "SIGTERM handler is not set because current thread is not the main thread.",
)


@pytest.mark.parametrize("line", NOISE)
@pytest.mark.parametrize("exit_code", [1, 2, 7, -6, -9])
def test_warnings_progress_bars_and_notes_are_never_the_sentence(line: str, exit_code: int) -> None:
    said = judge(Evidence(exit_code, stderr_tail=(line,))).reason.partition("\n")[0]

    assert line not in said
    assert said == judge(Evidence(exit_code)).reason


@pytest.mark.parametrize("line", NOISE)
def test_an_error_is_found_before_any_noise(line: str) -> None:
    tail = ("simulator: licence server refused", line)

    assert "simulator: licence server refused" == judge(Evidence(1, stderr_tail=tail)).reason.partition("\n")[0]


TRACEBACK = ("Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    train()")
TOLD = {
    "the last of several exceptions counts": (
        (*TRACEBACK, "KeyError: 1", *TRACEBACK, "ValueError: 2"),
        "ValueError: 2",
    ),
    "an exception that Python ignored is none": (
        (*TRACEBACK, "ValueError: 1", "Exception ignored in: <function Env.__del__>", *TRACEBACK, "TypeError: 2"),
        "ValueError: 1",
    ),
    "an exception at exit is none": (
        (*TRACEBACK, "ValueError: 1", "Error in atexit._run_exitfuncs:", *TRACEBACK, "OSError: 2"),
        "ValueError: 1",
    ),
    "threads that die of the same end do not hide it": (
        (*TRACEBACK, "ValueError: 1", "Exception in thread Thread-3 (_read):", *TRACEBACK, "OSError: closed"),
        "ValueError: 1",
    ),
    "a thread is better than nothing": (("Exception in thread Thread-3:", *TRACEBACK, "OSError: 1"), "OSError: 1"),
    "whoever lost contact is not the one that failed": (
        ("Process SpawnProcess-2:", *TRACEBACK, "ValueError: 1", *TRACEBACK, "EOFError"),
        "ValueError: 1",
    ),
    "an exception without a message tells where": ((*TRACEBACK, "AssertionError"), "AssertionError at train.py:3"),
    "modules are left out": ((*TRACEBACK, "gymnasium.error.NameNotFound: no Pole"), "NameNotFound: no Pole"),
    "a bar may stand before the traceback": (
        (
            "  6%|▌  | 29/500 [00:00<00:01, 306.96it/s]Traceback (most recent call last):",
            *TRACEBACK[1:],
            "ValueError: 1",
        ),
        "ValueError: 1",
    ),
    "Ray's prefix and colours are not part of it": (
        tuple(f"\x1b[36m(PPO pid=71)\x1b[0m {line}" for line in (*TRACEBACK, "ValueError: 1")),
        "ValueError: 1",
    ),
    "a group of exceptions is told by the last in it": (
        (
            "  + Exception Group Traceback (most recent call last):",
            '  |   File "train.py", line 3, in <module>',
            "  | ExceptionGroup: two (2 sub-exceptions)",
            "  +-+---------------- 1 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "train.py", line 2, in <module>',
            "    | ValueError: 1",
            "    +------------------------------------",
        ),
        "ValueError: 1",
    ),
    "no traceback, no exception": (("ValueError: 1",), ""),
    "a torn traceback has none": (TRACEBACK, ""),
}


@pytest.mark.parametrize("rule", TOLD)
def test_which_exception_ended_it(rule: str) -> None:
    lines, told = TOLD[rule]

    assert told == raised(lines)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("terminate called after throwing an instance of 'std::runtime_error'", "  what():  no device"), "no device"),
        (("usage: train [-h]", "train: error: unrecognized arguments: --fast"), None),
        (("/usr/bin/python: No module named mosaic_gone",), None),
        (("all is well",), ""),
    ],
)
def test_a_line_that_looks_like_an_error(lines: tuple[str, ...], told: str | None) -> None:
    assert (lines[-1] if told is None else told) == complaint(lines)


def test_what_was_said_last_is_told_as_such() -> None:
    reason = judge(Evidence(1, stderr_tail=("loading", "no licence for the simulator"))).reason

    assert "exit code 1; its last words: no licence for the simulator" == reason.partition("\n")[0]
    assert "" == last_line(())


def test_a_list_of_faults_is_one_sentence() -> None:
    assert "config.json: 2 faults: a is missing; b is odd" == sentence(
        "config.json: 2 faults\n  - a is missing\n  - b is odd"
    )


def test_a_sentence_is_bounded() -> None:
    assert SENTENCE_LETTERS == len(sentence("x" * 10_000))

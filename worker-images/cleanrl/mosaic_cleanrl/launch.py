"""Running a script of CleanRL, unmodified and exactly once, with eyes on it.

The script runs in this process under the name ``__main__``, as ``python -m cleanrl.NAME`` would run it.
Before that, what it is about to import is prepared: environments are watched, the TensorBoard writer also
tells the fleet, and the word ``range`` of its main loop yields through `MainLoop`.
"""

from __future__ import annotations

import builtins
import math
import os
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from mosaic.errors import MosaicError
from mosaic_cleanrl.environments import hooked_environments, to_gymnasium
from mosaic_cleanrl.scripts import Script
from mosaic_cleanrl.training import Training, TrainingDiverged
from mosaic_cleanrl.writer import hook_writer

#: Called with the script's globals and the numbers its main loop will run over; yields them.
MainLoop = Callable[[dict[str, Any], range], Iterator[int]]


class ScriptLeft(MosaicError):
    """The script ended the process itself."""

    code = "script_left"

    def __init__(self, name: str, code: object) -> None:
        super().__init__(f"{name} left with {code!r}; its last words are in the log")


def run_script(training: Training, arguments: Sequence[str], *, main_loop: MainLoop, tensorboard_dir: Path) -> None:
    """Run the script of *training* to its end.

    Raises:
        TrainingStopped: the run was asked to end.
        ScriptLeft: the script called ``sys.exit`` with a fault.
        Exception: whatever the script raised.

    """
    script = training.script
    _use_threads_of_lease()
    _prepare(training, tensorboard_dir)
    argv, sys.argv = sys.argv, [str(script.path), *arguments]
    try:
        with hooked_environments(training):
            runpy.run_module(script.module, _globals(script, main_loop), run_name="__main__", alter_sys=True)
    except ValueError as error:
        # How torch's distributions say that a network's output is no longer a number.
        if "found invalid values" in str(error) and "nan" in str(error):
            raise TrainingDiverged("the policy's output", math.nan, training.step) from error
        raise
    except SystemExit as left:
        if left.code not in (None, 0):
            raise ScriptLeft(script.name, left.code) from left
    finally:
        sys.argv = argv


def _prepare(training: Training, tensorboard_dir: Path) -> None:
    """Make ready what the script will import."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    hook_writer(training, tensorboard_dir)
    if "stable_baselines3" in training.script.imports:
        _let_buffers_take_what_scripts_say()


def _globals(script: Script, main_loop: MainLoop) -> dict[str, Any]:
    def range_of_script(*bounds: int) -> Any:
        caller = sys._getframe(1)
        if caller.f_lineno != script.loop_line or caller.f_globals.get("range") is not range_of_script:
            return builtins.range(*bounds)
        # The one call that was waited for: from here on the script has Python's own word again.
        del caller.f_globals["range"]
        return main_loop(caller.f_globals, builtins.range(*bounds))

    return {"range": range_of_script}


def _let_buffers_take_what_scripts_say() -> None:
    """Let the replay buffer take what scripts say that are older than it: gym's spaces, and options it now refuses."""
    from stable_baselines3.common import buffers

    class ReplayBuffer(buffers.ReplayBuffer):  # type: ignore[misc]
        def __init__(self, size: int, observation_space: Any, action_space: Any, *rest: Any, **options: Any) -> None:
            if options.get("optimize_memory_usage"):
                # The two were never right together; the script of DQN gives up the same one.
                options["handle_timeout_termination"] = False
            super().__init__(size, to_gymnasium(observation_space), to_gymnasium(action_space), *rest, **options)

    buffers.ReplayBuffer = ReplayBuffer


def _use_threads_of_lease() -> None:
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads) > 0:
        torch.set_num_threads(int(threads))

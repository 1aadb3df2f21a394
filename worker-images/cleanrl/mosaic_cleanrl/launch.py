"""Running a script of CleanRL, unmodified and exactly once, with eyes on it.

The script runs in this process under the name ``__main__``, as ``python -m cleanrl.NAME`` would run it, in three parts
that share its global variables: up to its main loop, that loop, and its farewell. What it imports is prepared:
environments are watched, and the TensorBoard writer also tells the fleet.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from torch.utils import tensorboard
from torch.utils.tensorboard import SummaryWriter

from mosaic.errors import MosaicError
from mosaic_cleanrl.environments import Spectator, hooked_environments, to_gymnasium
from mosaic_cleanrl.scripts import parts_of

#: Told of a scalar that the script logs: its tag, its value, and where the script says that it stands.
Listener = Callable[[str, float, int], None]


class ScriptLeft(MosaicError):
    """The script ended the process itself."""

    code = "script_left"

    def __init__(self, name: str, code: object) -> None:
        super().__init__(f"{name} left with {code!r}; its last words are in the log")


class RunningScript:
    """One run of one script."""

    def __init__(self, watcher: Spectator, arguments: Sequence[str], writer: type[SummaryWriter]) -> None:
        """Run the script of *watcher* with *arguments*; it writes its event files by *writer*."""
        self.script = watcher.script
        self._watcher = watcher
        self._argv = [str(self.script.path), *arguments]
        self._writer = writer
        self._before, self._loop, self._after = parts_of(self.script)
        self._module = ModuleType("__main__")
        self._module.__file__ = str(self.script.path)
        self._module.__package__ = "cleanrl"
        #: Its global variables.
        self.scope = vars(self._module)

    def begin(self) -> None:
        """Run it up to its main loop.

        Raises:
            ScriptLeft: it called ``sys.exit``.
            Exception: whatever it raised; so do the other parts.

        """
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        tensorboard.SummaryWriter = self._writer
        if "stable_baselines3" in self.script.imports:
            _let_buffers_take_what_scripts_say()
        try:
            self._run(self._before)
        finally:
            tensorboard.SummaryWriter = SummaryWriter

    def loop(self, main_loop: Callable[[range], Iterable[int]]) -> None:
        """Run its main loop over what *main_loop* makes of the numbers that the script would run it over."""

        def range_once(*bounds: int) -> Iterable[int]:
            # The loop asks for its numbers first; from here on the script has Python's own word again.
            del self.scope["range"]
            return main_loop(range(*bounds))

        self.scope["range"] = range_once
        self._run(self._loop)

    def end(self) -> None:
        """Run what comes after the main loop."""
        self._run(self._after)

    def _run(self, part: CodeType) -> None:
        with hooked_environments(self._watcher), self._as_main():
            try:
                exec(part, self.scope)
            except SystemExit as left:
                raise ScriptLeft(self.script.name, left.code) from left

    @contextmanager
    def _as_main(self) -> Iterator[None]:
        module, argv = sys.modules["__main__"], sys.argv
        sys.modules["__main__"], sys.argv = self._module, self._argv
        try:
            yield
        finally:
            sys.modules["__main__"], sys.argv = module, argv


def telling_writer(directory: Path, tell: Listener, *, first_step: int) -> type[SummaryWriter]:
    """Return the ``SummaryWriter`` for a script that begins to count at *first_step*; *tell* hears its scalars too."""

    class TellingWriter(SummaryWriter):  # type: ignore[misc]
        def __init__(self, log_dir: str | None = None, **options: Any) -> None:
            super().__init__(str(directory), **options)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *rest: Any, **options: Any) -> None:
            number, step = float(scalar_value), int(global_step or 0) + first_step
            super().add_scalar(tag, number, step, *rest, **options)
            tell(tag, number, step)

    return TellingWriter


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

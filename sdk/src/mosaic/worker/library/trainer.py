"""What a shim implements around one library. See `mosaic.worker.library`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mosaic.worker.library.evaluation import PlayedEpisode
from mosaic.worker.library.rng import seed_everything
from mosaic.worker.library.training import Training

#: For environments that set no limit themselves.
LONGEST_EPISODE = 100_000


class Policy(ABC):
    """What was learned, in an environment of its own."""

    #: As gymnasium's; None where there is none to play in alone, as with a team.
    env: Any = None

    @abstractmethod
    def act(self, observation: Any, mask: Any = None) -> Any:
        """Return the action for one *observation*, among those that *mask* allows."""

    def begin_episode(self) -> None:  # noqa: B027
        """Forget what was seen; only a policy that remembers has anything to do here."""

    def play(self, seed: int, obey: Callable[[], None]) -> PlayedEpisode:
        """Play one episode to its end, all of it following from *seed*; *obey* may raise before any step."""
        seed_everything(seed)
        self.begin_episode()
        observation, info = self.env.reset(seed=seed)
        total, length, terminated, truncated = 0.0, 0, False, False
        while not (terminated or truncated) and length < LONGEST_EPISODE:
            obey()
            action = self.act(observation, info.get("action_mask"))
            observation, reward, terminated, truncated, info = self.env.step(action)
            total, length = total + float(reward), length + 1
        return PlayedEpisode(seed, total, length, bool(terminated), bool(truncated))

    def close(self) -> None:
        """Release what it holds."""
        if self.env is not None:
            self.env.close()


class Trainer(ABC):
    """One library in one run; made when the run begins, with nothing built yet."""

    #: Whether `save` still gives the state of the last boundary after `advance` has failed.
    outlives_failure: ClassVar[bool] = False

    def __init__(self, config: Any, training: Training, *, on_gpu: bool, run_dir: Path) -> None:
        """Train as *config* says, with a seed that is known; tell *training* of it."""
        self.config = config
        self.training = training
        self.on_gpu = on_gpu
        self.run_dir = run_dir

    @abstractmethod
    def build(self) -> Mapping[str, Any]:
        """Make environments and learner; return the library's arguments by name, as it really has them.

        Raises:
            BadInput: the library refuses the environment or an argument.

        """

    @abstractmethod
    def advance(self) -> None:
        """Learn until ``total_steps``, calling ``training.boundary`` wherever the state is whole.

        Raises:
            StopRequested: a boundary has said so.
            EnvironmentFailed, TrainingDiverged: it cannot go on.

        """

    @abstractmethod
    def save(self, folder: Path) -> Sequence[str]:
        """Write all that an exact continuation needs into *folder*; return what had to be left out.

        Raises:
            OSError, RuntimeError: the disk does not take it.

        """

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote, after `build`. The generators are set afterwards."""

    @abstractmethod
    def policy(self, folder: Path | None) -> Policy:
        """Return what acts: of the checkpoint in *folder*, before any `build`; without one, as learned so far.

        How it acts says ``config.eval_policy``; with ``config.capture_video`` its first episode is filmed.
        """

    def close(self) -> None:  # noqa: B027
        """Release what `build` made."""

"""A drill: numbers that follow from the seed alone, however often it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .config import DrillConfig

EXIT_STOPPED = 128 + signal.SIGTERM

_MODULUS = 2**31 - 1
_STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"


class Journal:
    """Says every line twice: first to a file of the attempt's own, then to the agent.

    The file is what tests compare with: what was said is in it, whoever was killed meanwhile.
    """

    def __init__(self, run_id: str, run_dir: Path, attempt: str) -> None:
        self._run_id = run_id
        folder = run_dir / "said"
        folder.mkdir(exist_ok=True)
        self._file = os.open(folder / f"attempt-{attempt}.bin", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def say(self, event: str, **payload: Any) -> None:
        """Say an event."""
        line = {"event": event, "run_id": self._run_id, "timestamp": time.time(), "payload": payload}
        self.write(json.dumps(line).encode() + b"\n")

    def write(self, lines: bytes) -> None:
        """Say whole lines as they are."""
        os.write(self._file, lines)
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(1, rest) :]


class Drill:
    """Runs the episodes of a config, from the start or from a checkpoint."""

    def __init__(self, config: DrillConfig) -> None:
        self._config = config
        self._attempt = os.environ.get("MOSAIC_ATTEMPT", "1")
        self._checkpoints = Path(os.environ["MOSAIC_CHECKPOINT_DIR"])
        self._journal = Journal(config.run_id, Path(os.environ["MOSAIC_RUN_DIR"]), self._attempt)
        self._state = (config.seed or 0) % _MODULUS + 1
        self._episode = 0
        self._is_stopped = False

    def run(self) -> int:
        """Run to the end, to a misdeed or to SIGTERM; return the exit status."""
        self._attend_to_signals()
        self._journal.say("run_started", worker_type="drill", seed=self._config.seed)
        self._continue()
        if self._config.grandchild:
            subprocess.Popen([sys.executable, "-c", _STUBBORN])
        while self._episode < self._config.episodes:
            if self._is_stopped:
                return self._stop()
            self._run_episode()
        self._journal.say("run_completed", status="completed", result=self._state)
        return 0

    def _attend_to_signals(self) -> None:
        def stop(_number: int, _frame: Any) -> None:
            self._is_stopped = not self._config.ignore_sigterm

        signal.signal(signal.SIGTERM, stop)

    def _continue(self) -> None:
        path = os.environ.get("MOSAIC_RESUME_FROM")
        if path:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
            self._episode, self._state = saved["episode"], saved["state"]
            self._journal.say("checkpoint_loaded", checkpoint_path=path)

    def _run_episode(self) -> None:
        self._episode += 1
        total = 0.0
        for index in range(self._config.steps):
            self._state = self._state * 48271 % _MODULUS
            reward = self._state / _MODULUS
            total += reward
            self._journal.say("step", episode_index=self._episode, step_index=index, reward=reward)
        step = self._episode * self._config.steps
        self._journal.say(
            "episode", episode_index=self._episode, total_reward=total, steps=self._config.steps, step=step
        )
        self._journal.say("metric", name="return", value=total, step=step)
        self._misbehave()
        if self._config.checkpoint_every and self._episode % self._config.checkpoint_every == 0:
            self._save()
        if self._config.pause_ms:
            time.sleep(self._config.pause_ms / 1000)

    def _misbehave(self) -> None:
        config = self._config
        if config.garbage:
            self._journal.write(b'plain text\n\xff\xfe not utf-8\n{"event": "step", \n[1, 2\n\n')
        if config.long_line_bytes:
            self._journal.write(b"x" * config.long_line_bytes + b"\n")
        if self._episode == config.always_crash_after or self._is_first_time(config.crash_after):
            raise RuntimeError(f"crashed as asked after episode {self._episode}")
        while self._is_first_time(config.hang_after):
            time.sleep(3600)

    def _is_first_time(self, episode: int) -> bool:
        return self._episode == episode and self._attempt == "1"

    def _save(self) -> None:
        path = self._checkpoints / f"episode-{self._episode}.json"
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps({"episode": self._episode, "state": self._state}), encoding="utf-8")
        os.replace(draft, path)
        self._journal.say("checkpoint_saved", checkpoint_path=str(path), step=self._episode * self._config.steps)

    def _stop(self) -> int:
        self._save()
        self._journal.say("run_cancelled", reason="SIGTERM")
        return EXIT_STOPPED

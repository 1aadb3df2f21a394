"""The environments of the library workers, made once and kept, and how their workers are started."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import MosaicError, NotFound
from mosaic.installer.environments import Environment, find_environment, install
from mosaic.installer.recipes import find_recipe
from mosaic.launching import screenless_drawing
from mosaic.worker.probe import ProbedWorker, probe

ROOT = Path(__file__).parents[2]
#: What the agent would set for a lease of one core.
SURROUNDINGS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MOSAIC_HEARTBEAT_S": "60",
    **screenless_drawing(),
}


@dataclass(frozen=True)
class WorkerRun:
    """What a finished worker left behind."""

    exit_code: int
    events: Sequence[Mapping[str, Any]]
    stdout: str
    stderr: str
    run_dir: Path

    def of(self, event: str) -> list[Mapping[str, Any]]:
        """Return the payloads of one kind of event."""
        return [one["payload"] for one in self.events if one["event"] == event]

    def values(self, metric: str) -> list[float]:
        """Return one series."""
        return [payload["value"] for payload in self.of("metric") if payload["name"] == metric]

    def points(self) -> list[tuple[Any, ...]]:
        """Return everything that follows from the seed: all metrics but speeds, and all episodes."""
        metrics = [(one["name"], one["step"], one["value"]) for one in self.of("metric")]
        episodes = [("episode", one["episode_index"], one["total_reward"]) for one in self.of("episode")]
        return [point for point in metrics if point[0] != "steps_per_s"] + episodes

    def folders_naming(self, text: str) -> set[str]:
        """Return the folders of the run that have a file with *text* somewhere below."""
        files = [path for path in self.run_dir.glob("*/**/*") if path.is_file() and text.encode() in path.read_bytes()]
        return {path.relative_to(self.run_dir).parts[0] for path in files}

    @property
    def returns(self) -> list[float]:
        """Return what each episode of the training paid."""
        return [one["total_reward"] for one in self.of("episode") if not {"agent_id", "evaluation"} & set(one)]


@dataclass(frozen=True)
class InstalledWorker:
    """A worker in its own environment; the sources are those of the checkout, the libraries those of the lock."""

    name: str
    environment: Environment
    scratch: Path
    surroundings: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        return str(self.environment.python)

    def env(self, run_dir: Path, **more: str) -> dict[str, str]:
        """Return the environment variables of one run."""
        sources = os.pathsep.join(str(ROOT / one) for one in ("sdk/src", "compat/src", f"worker-images/{self.name}"))
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        told = {"PYTHONPATH": sources, "MOSAIC_RUN_DIR": str(run_dir)}
        return kept | SURROUNDINGS | dict(self.surroundings) | told | more

    def described(self) -> ProbedWorker:
        """Return what the sources of the checkout publish, which may be newer than what is installed."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", self.env(self.scratch)["PYTHONPATH"])
            (worker,) = probe(self.python).workers
        assert () == worker.faults
        return worker

    def schema(self) -> Mapping[str, Any]:
        """Return the schema that the sources of the checkout publish."""
        return self.described().config_schema

    def answer(self, script: str, *arguments: str) -> Any:
        """Return the JSON value that *script* prints in the last line when the worker's interpreter runs it."""
        done = subprocess.run(
            [self.python, "-c", script, *arguments],
            cwd=self.scratch,
            env=self.env(self.scratch),
            capture_output=True,
            text=True,
        )
        assert 0 == done.returncode, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    def start(self, label: str, config: Mapping[str, Any], *arguments: str, **more: str) -> subprocess.Popen[str]:
        """Start a run in a directory of its own and return its process."""
        run_dir = self.scratch / label
        run_dir.mkdir(parents=True)
        path = self.scratch / f"{label}.json"
        path.write_text(json.dumps({"run_id": label, **config}))
        return subprocess.Popen(
            [self.python, "-m", f"mosaic_{self.name}", "--config", str(path), *arguments],
            cwd=run_dir,
            env=self.env(run_dir, **more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen[str], label: str, *, timeout_s: float = 240.0) -> WorkerRun:
        """Wait for a run that was started and return what it left."""
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdin is not None:
            process.stdin.close()
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            os.killpg(process.pid, signal.SIGKILL)

        deadline = threading.Timer(timeout_s, end)
        deadline.start()
        try:
            # Not by communicate(): it passes over what a test that read lines has left in the buffer.
            with ThreadPoolExecutor(1) as aside:
                errors = aside.submit(process.stderr.read)
                stdout, stderr = process.stdout.read(), errors.result()
            process.wait()
        finally:
            deadline.cancel()
            process.stdout.close()
            process.stderr.close()
        if overdue.is_set():
            pytest.fail(f"{self.name} did not end within {timeout_s:g} s\n{stderr[-2000:]}")
        return WorkerRun(process.returncode, _events(stdout), stdout, stderr, self.scratch / label)

    def run(self, label: str, config: Mapping[str, Any], *arguments: str, **more: str) -> WorkerRun:
        """Run to the end."""
        return self.finish(self.start(label, config, *arguments, **more), label)


@pytest.fixture(scope="session")
def installed_worker(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], InstalledWorker]:
    """Return the worker of a library by name; its environment is made when it is first asked for.

    Environments are kept in ``MOSAIC_TEST_WORKERS`` (``~/.cache/mosaic-test-workers``) as long as the
    versions in their lock stay the same.
    """
    state = Path(os.environ.get("MOSAIC_TEST_WORKERS") or Path.home() / ".cache" / "mosaic-test-workers")

    def provide(name: str) -> InstalledWorker:
        with _one_at_a_time(state / f"{name}.making"):
            environment = _environment(name, state)
        return InstalledWorker(name, environment, tmp_path_factory.mktemp(name))

    return provide


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Keep processes that test side by side from making the same environment twice."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _environment(name: str, state: Path) -> Environment:
    recipe = find_recipe(name, start=ROOT)
    assert recipe.lock is not None
    digest = _digest_of_pins(recipe.lock.read_text())
    record = state / f"{name}.pins.sha256"
    try:
        if record.is_file() and record.read_text() == digest:
            return find_environment(name, state)
    except NotFound:
        record.unlink()
    try:
        made = install(recipe, state, upgrade=True)
    except MosaicError as error:
        pytest.fail(f"the environment of {name} cannot be made, so its worker cannot be tested: {error}")
    record.write_text(digest)
    return made


def _digest_of_pins(lock: str) -> str:
    """Return a digest of the versions in a lock, however it spells and hashes them."""
    pins = sorted(pin.lower().replace("_", "-") for pin in re.findall(r"^[\w.-]+==[^\s;]+", lock, re.MULTILINE))
    return sha256("\n".join(pins).encode()).hexdigest()


def _events(stdout: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines() if line.startswith('{"event"')]

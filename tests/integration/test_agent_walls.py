"""What one attempt cannot do to another, to the agent and to the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mosaic.agent.execution import kernel
from mosaic.agent.ports import WorkerProfile
from mosaic.ids import WorkerName
from mosaic.model.fleet import Worker
from tests.fakes.agent import Bench, running

ROOT = Path(__file__).parents[2]
#: One that every user may execute.
PYTHON = "/usr/bin/python3"

SAY = """
import json, os, signal, subprocess, sys, time
def say(event, **payload):
    print(json.dumps({"event": event, "payload": payload, "run_id": "r", "timestamp": 1.0}), flush=True)
def outcome(attack):
    try:
        return attack() or "done"
    except OSError as error:
        return type(error).__name__
config = json.load(open(sys.argv[2]))
say("run_started")
"""

#: The first run has a secret and stays; the second tries everything, and tells how each went.
WORKER = (
    SAY
    + """
if config["role"] == "victim":
    open("checkpoints/1.pt", "w").write("weights")
    open("private.txt", "w").write("mine")
    say("custom", pid=os.getpid(), backwards=os.environ["HUB_TOKEN"][::-1], shown=open("/proc/self/environ").read())
    time.sleep(60)
victim, agent, home, runs = (config[name] for name in ("victim", "agent", "home", "runs"))
read = lambda path: open(path, "rb").read(10_000).decode(errors="replace")
say("custom", uid=os.getuid(), **{
    "environ of the other": outcome(lambda: read(f"/proc/{victim}/environ")),
    "memory of the other": outcome(lambda: open(f"/proc/{victim}/mem", "rb").close()),
    "environ of the agent": outcome(lambda: read(f"/proc/{agent}/environ")),
    "memory of the agent": outcome(lambda: open(f"/proc/{agent}/mem", "rb").close()),
    "signal to the other": outcome(lambda: os.kill(victim, 0)),
    "signal to the agent": outcome(lambda: os.kill(agent, 0)),
    "file of the other": outcome(lambda: read(f"{runs}/run-1/private.txt")),
    "write to the other": outcome(lambda: open(f"{runs}/run-1/private.txt", "w").close()),
    "file in the other's folder": outcome(lambda: open(f"{runs}/run-1/new.txt", "w").close()),
    "remove the other's": outcome(lambda: os.remove(f"{runs}/run-1/checkpoints/1.pt")),
    "what the agent remembers": outcome(lambda: read(f"{home}/attempts/run-1.1/attempt.json")),
    "broker": outcome(lambda: read(config["broker"])),
    "own file": outcome(lambda: open("checkpoints/own.pt", "w").close()),
    "own file moved": outcome(lambda: os.rename("checkpoints/own.pt", "own.pt")),
    "temporary file": outcome(lambda: open(f"{config['shared']}/note.txt", "w").close()),
    "child": outcome(lambda: subprocess.run([sys.executable, "-c", ""], check=True) and None),
    "processes": read("/proc/self/limits").partition("Max processes")[2].split()[0],
    "privileges": read("/proc/self/status").partition("NoNewPrivs:")[2].split()[0],
})
"""
)

#: An agent in a process of its own; prints what its two runs told.
AGENT = """
import json, os, sys, time
from pathlib import Path
from mosaic.agent.execution.child import adopt_strays
from mosaic.agent.execution.kernel import hide_memory
from mosaic.agent.execution.walls import Walls
from mosaic.agent.ports import WorkerProfile
from mosaic.ids import WorkerName
from mosaic.model.fleet import Worker
from tests.fakes.agent import Bench
hide_memory()
adopt_strays()
root, hides, uids = Path(sys.argv[1]), sys.argv[2] == "hides", range(*map(int, sys.argv[3:5]))
hidden = [root / "home", root / "runs", root / "secrets" / "broker"] if hides else []
script = root / "worker.py"
worker = WorkerProfile(Worker(WorkerName("script"), "1.0", launch=(str(script),)), sys.argv[5])
bench = Bench(root, script.read_text(), walls=Walls(hidden, uids=uids), worker=worker)
def told(run):
    bench.sink.wait_for(b'"custom"', run)
    return next(e["payload"] for e in map(json.loads, bench.sink.stream(run)) if e["event"] == "custom")
bench.agent.start()
bench.run(config={"role": "victim"}, secrets={"HUB_TOKEN": "swordfish-1234"})
victim = told("run-1")
known = {"agent": os.getpid(), "home": str(root / "home"), "runs": str(root / "runs"), "shared": str(root / "shared")}
known |= {"broker": str(root / "secrets" / "broker"), "victim": victim["pid"]}
more = {"resume_from": "../run-1/checkpoints/1.pt"} if len(uids) or hides else {}
bench.run(run_id="run-2", config={"role": "attacker", **known}, **more)
attacker = told("run-2")
bench.scheduler.wait_for("succeeded", "run-2")
(root / "told.json").write_text(json.dumps({"victim": victim, "attacker": attacker}))
bench.agent.stop()
"""

NO_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o711)
    (root / "worker.py").write_text(WORKER)
    (root / "shared").mkdir()
    (root / "shared").chmod(0o1777)
    (root / "secrets").mkdir()
    (root / "secrets" / "broker").write_text("amqp://agent:password@broker")
    (root / "secrets" / "broker").chmod(0o400)
    yield root
    shutil.rmtree(root, ignore_errors=True)


def attack(place: Path, *, hides: bool = False, uids: range = range(0)) -> Mapping[str, Any]:
    """Run a victim and an attacker under one agent; return what each told."""
    hiding = "hides" if hides else "shows"
    python = PYTHON if uids else sys.executable
    arguments = (str(place), hiding, str(uids.start), str(uids.stop), python)
    # A worker of root could read what it likes; as in a container, it has no capabilities.
    wrapper = NO_CAPABILITIES if os.geteuid() == 0 and not uids else ()
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", AGENT, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "MOSAIC_BROKER_URL": "amqp://agent:password@broker"},
    )
    assert 0 == done.returncode, done.stderr
    told: Mapping[str, Any] = json.loads((place / "told.json").read_text())
    return told


needs_landlock = pytest.mark.skipif(kernel.landlock_version() < 6, reason="needs a kernel with Landlock 6")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give away user ids")

PROCESSES = [f"{what} of the {whom}" for what in ("environ", "memory") for whom in ("other", "agent")]
FILES = [
    *("file of the other", "write to the other", "file in the other's folder", "remove the other's"),
    *("what the agent remembers", "broker"),
]
OWN = ["own file", "own file moved", "temporary file", "child"]


def test_a_secret_reaches_the_worker_and_stands_in_no_environment_that_the_kernel_shows(place: Path) -> None:
    told = attack(place)["victim"]

    assert "swordfish-1234" not in told["shown"]
    assert "4321-hsifdrows" == told["backwards"]


def test_nobody_can_read_the_memory_or_the_environment_of_the_agent(place: Path) -> None:
    told = attack(place)["attacker"]

    assert {"PermissionError"} == {told["environ of the agent"], told["memory of the agent"]}
    assert {"done"} == {told[what] for what in OWN}
    assert "1" == told["privileges"]


HIDES = (
    "import sys, time; from mosaic.agent.execution.kernel import hide_memory; hide_memory(); print('up', flush=True)"
)


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        (("-c", f"{HIDES}; time.sleep(60)"), b"PermissionError"),
        (("-m", "mosaic.agent.init", sys.executable, "-c", f"{HIDES}; time.sleep(60)"), b"PermissionError"),
        (("-c", "import time; print('up', flush=True); time.sleep(60)"), b"read"),
    ],
)
def test_the_agent_and_what_starts_it_are_closed_to_their_own_user(command: tuple[str, ...], outcome: bytes) -> None:
    look = (
        "import sys\ntry: open(f'/proc/{sys.argv[1]}/environ').read(); print('read')"
        "\nexcept OSError as error: print(type(error).__name__)"
    )
    wrapper = NO_CAPABILITIES if os.geteuid() == 0 else ()
    with subprocess.Popen([*wrapper, sys.executable, *command], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        assert b"up\n" == agent.stdout.readline()
        looked = subprocess.run([*wrapper, sys.executable, "-c", look, str(agent.pid)], capture_output=True, check=True)
        agent.terminate()

    assert outcome == looked.stdout.strip()


@needs_landlock
def test_without_any_privilege_an_attempt_reaches_no_process_but_its_own(place: Path) -> None:
    told = attack(place)["attacker"]

    assert {"PermissionError"} == {told[what] for what in PROCESSES}
    assert {"PermissionError"} == {told["signal to the other"], told["signal to the agent"]}


@needs_landlock
def test_without_any_privilege_an_attempt_can_be_kept_from_the_files_of_others(place: Path) -> None:
    told = attack(place, hides=True)["attacker"]

    assert {"PermissionError"} == {told[what] for what in (*PROCESSES, *FILES)}
    assert {"done"} == {told[what] for what in OWN}


@needs_root
def test_under_user_ids_of_their_own_attempts_reach_neither_processes_nor_files_of_others(place: Path) -> None:
    told = attack(place, uids=range(61_000, 61_004))["attacker"]

    assert {"PermissionError"} == {told[what] for what in (*PROCESSES, *FILES)}
    assert {"PermissionError"} == {told["signal to the other"], told["signal to the agent"]}
    assert {"done"} == {told[what] for what in OWN}
    assert (61_001, "8192") == (told["uid"], told["processes"])
    run = place / "runs" / "run-2"
    assert (61_001, 0o750) == (run.stat().st_uid, run.stat().st_mode & 0o777)
    assert "weights" == (run / "inherited" / "1.pt").read_text()
    assert 0o700 == (place / "home" / "attempts").stat().st_mode & 0o777


#: Starts a process that leaves its session, its parent and its environment, and ends.
HIDER = (
    SAY
    + """
hidden = "import os, time; os.setsid(); open('pid', 'w').write(str(os.getpid())); time.sleep(300)"
middle = f"import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', {hidden!r}], env={{}}); os._exit(0)"
subprocess.run([sys.executable, "-c", middle], env={}, start_new_session=True)
while not os.path.exists("pid") or not open("pid").read():
    time.sleep(0.01)
"""
)

STRAYS = """
import json, os, sys
from pathlib import Path
from mosaic.agent.execution.child import adopt_strays
from tests.fakes.agent import Bench
adopt_strays()
root = Path(sys.argv[1])
bench = Bench(root, (root / "worker.py").read_text())
bench.agent.start()
bench.run()
bench.scheduler.wait_for("succeeded")
pid = (root / "runs" / "run-1" / "pid").read_text()
(root / "told.json").write_text(json.dumps({"pid": pid, "lives": os.path.exists(f"/proc/{pid}")}))
bench.agent.stop()
"""


def test_what_leaves_session_parent_and_environment_still_ends_with_its_run(place: Path) -> None:
    (place / "worker.py").write_text(HIDER)

    subprocess.run([sys.executable, "-c", STRAYS, str(place)], cwd=ROOT, capture_output=True, check=True)

    told = json.loads((place / "told.json").read_text())
    assert told["pid"].isdigit()
    assert not told["lives"]


#: Killed with SIGKILL while the hidden process of its run lives.
DOOMED = """
import sys, time
from pathlib import Path
from mosaic.agent.execution.walls import Walls
from mosaic.agent.ports import WorkerProfile
from mosaic.ids import WorkerName
from mosaic.model.fleet import Worker
from tests.fakes.agent import Bench
root = Path(sys.argv[1])
worker = WorkerProfile(Worker(WorkerName("script"), "1.0", launch=(str(root / "worker.py"),)), sys.argv[2])
bench = Bench(root, (root / "worker.py").read_text(), walls=Walls(uids=range(61_010, 61_012)), worker=worker)
bench.agent.start()
if len(sys.argv) == 3:
    bench.run()
    bench.sink.wait_for(b'"custom"')
print("ready", flush=True)
time.sleep(300)
"""


@needs_root
def test_a_new_agent_ends_what_hides_under_the_user_ids_of_its_predecessor(place: Path) -> None:
    (place / "worker.py").write_text(HIDER + "say('custom')\ntime.sleep(60)\n")
    for more in ((), ("again",)):
        command = [sys.executable, "-c", DOOMED, str(place), PYTHON, *more]
        agent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert agent.stdout is not None
        assert any(b"ready" in line for line in agent.stdout)
        pid = int((place / "runs" / "run-1" / "pid").read_text())
        assert (not more) is (61_010 in owners(pid))
        agent.kill()
        agent.wait()
        agent.stdout.close()


def owners(pid: int) -> list[int]:
    """Return the user ids of the process, none when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    return [] if "State:\tZ" in status else [int(uid) for uid in status.partition("Uid:")[2].split()[:2]]


#: Takes 400 MB and keeps it.
GREEDY = (
    SAY
    + """
kept = bytearray(400 * 1024 * 1024)
for at in range(0, len(kept), 4096):
    kept[at] = 1
time.sleep(4)
"""
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    worker = Worker(
        WorkerName("script"),
        "1.0",
        launch=(str(tmp_path / "worker.py"),),
        capabilities={"estimated_memory_mb": 300},
    )
    yield from running(Bench(tmp_path, GREEDY, worker=WorkerProfile(worker, sys.executable)))


def test_more_memory_than_a_run_asked_for_ends_it_with_that_reason(bench: Bench) -> None:
    bench.run(memory_mb=310)

    report = bench.scheduler.wait_for("failed")

    assert "out_of_memory" == report.failure_kind
    assert "may use 310 MB" in report.reason
    assert "--memory-mb" in report.reason


def test_what_a_worker_merely_estimates_is_no_limit(bench: Bench) -> None:
    bench.run(memory_mb=300)

    bench.scheduler.wait_for("succeeded")

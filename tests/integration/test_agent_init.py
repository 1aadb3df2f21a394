from __future__ import annotations

import signal
import subprocess
import sys

INIT = (sys.executable, "-m", "mosaic.agent.init", sys.executable, "-c")

#: Leaves a grandchild behind that ends later than its parent, then tells whether it became a zombie of the init.
ORPHAN = """
import os, subprocess, sys, time
from pathlib import Path
waiting = "import sys; sys.stdin.read()"
reader, writer = os.pipe()
start = "p = subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True, stdout=subprocess.DEVNULL)"
middle = f"import subprocess, sys; {start}; print(p.pid)"
asked = subprocess.run([sys.executable, "-c", middle, waiting], stdin=reader, stdout=subprocess.PIPE, text=True)
orphan = Path("/proc", asked.stdout.strip())
parent = (orphan / "stat").read_text().rpartition(")")[2].split()[1]
os.close(reader)
os.close(writer)
deadline = time.monotonic() + 20
while orphan.exists() and time.monotonic() < deadline:
    time.sleep(0.01)
print(int(parent) == os.getppid(), orphan.exists())
"""


def test_the_status_of_the_agent_is_the_status_of_the_container():
    assert 7 == subprocess.run([*INIT, "raise SystemExit(7)"], check=False).returncode


def test_an_end_by_a_signal_is_reported_as_a_shell_would():
    ended = subprocess.run([*INIT, "import os; os.kill(os.getpid(), 9)"], check=False)

    assert 128 + signal.SIGKILL == ended.returncode


def test_a_signal_to_the_container_reaches_the_agent():
    waits = "import signal, sys; signal.signal(15, lambda *_: sys.exit(3)); print('up', flush=True); signal.pause()"
    with subprocess.Popen([*INIT, waits], stdout=subprocess.PIPE, text=True) as container:
        assert container.stdout is not None
        container.stdout.readline()
        container.send_signal(signal.SIGTERM)

    assert 3 == container.returncode


def test_a_process_whose_parent_died_is_adopted_and_buried():
    answer = subprocess.run([*INIT, ORPHAN], stdout=subprocess.PIPE, text=True, timeout=60, check=True)

    assert "True False" == answer.stdout.strip()

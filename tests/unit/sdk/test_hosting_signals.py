"""A process that waits for a signal hears it, whenever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

#: Looks at its signal without a pause while signals keep coming: some arrive in the middle of a look.
_UNDER_FIRE = """
import signal, threading, time
from mosaic.hosting.signals import StopSignal

stopping = StopSignal()

def fire():
    for _ in range(200):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
        time.sleep(0.0005)

fire = threading.Thread(target=fire, daemon=True)
fire.start()
while fire.is_alive():
    stopping.wait(0)
print(stopping.is_set())
"""

_WAITING = """
from mosaic.hosting.signals import StopSignal

stopping = StopSignal()
print(stopping.is_set(), stopping.wait(0.01), flush=True)
print(stopping.wait(), stopping.is_set(), stopping.wait(0))
"""


def test_a_signal_in_the_midst_of_a_wait_does_not_lock_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", _UNDER_FIRE], capture_output=True, text=True, timeout=60)

    assert ("True\n", "") == (ended.stdout, ended.stderr)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_wait_ends_with_the_signal_which_is_remembered(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", _WAITING], stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        assert "False False\n" == waiting.stdout.readline()
        os.kill(waiting.pid, number)
        assert "True True True\n" == waiting.stdout.readline()

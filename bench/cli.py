"""CPU time of the ``mosaic`` command before it talks to a platform. The last line is one JSON object.

The baseline is the bare interpreter in the same round. Every figure is the least of its rounds: what a command takes,
without what its neighbours on the machine add to it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile

ROUNDS = 12

#: What is typed, by the name of its figure. No platform runs, so verbs end where they would begin to talk to one.
TYPED = {
    "help": "--help",
    "version": "--version",
    "completion": "",
    "runs": "runs",
    "show": "show RUN",
    "submit": "submit reference --env CartPole-v1 --steps 1000 --seed 1",
    "follow": "follow RUN",
    "logs": "logs RUN",
    "metrics": "metrics RUN",
    "compare": "compare RUN",
    "fleet": "fleet",
    "workers": "workers --help",
    "down": "down",
}
_COMPLETION = {"_MOSAIC_COMPLETE": "complete_bash", "COMP_WORDS": "mosaic r", "COMP_CWORD": "1"}


def cpu_s(command: list[str], environment: dict[str, str]) -> float:
    """Run *command* and return the CPU time it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Take turns between all of them, so that a busy moment hits everybody."""
    taken: dict[str, list[float]] = {name: [] for name in ("bare", *TYPED)}
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "MOSAIC_HOME": home}
        for _ in range(ROUNDS):
            taken["bare"].append(cpu_s([sys.executable, "-c", "pass"], environment))
            for name, words in TYPED.items():
                extra = _COMPLETION if name == "completion" else {}
                command = [sys.executable, "-m", "mosaic.cli", *words.split()]
                taken[name].append(cpu_s(command, {**environment, **extra}))
    least = {name: min(seconds) for name, seconds in taken.items()}
    for name, seconds in least.items():
        print(f"{TYPED.get(name, 'python -c pass') or 'completion':58} {seconds:6.3f} s")
    figures = {f"{name}_cpu_s": round(seconds, 3) for name, seconds in least.items()}
    slowest = max(seconds for name, seconds in least.items() if name not in ("bare", "help", "version", "completion"))
    print(json.dumps({**figures, "slowest_verb_cpu_s": round(slowest, 3)}))


if __name__ == "__main__":
    main()

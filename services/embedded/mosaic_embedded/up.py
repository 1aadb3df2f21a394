"""``mosaic up``: the platform until Ctrl-C, SIGTERM or ``mosaic down``."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TextIO

from rich.console import Console

from mosaic.agent.execution.child import adopt_strays
from mosaic.agent.execution.kernel import hide_memory
from mosaic.cli.console import display, new_console
from mosaic.home import home_directory
from mosaic.hosting.logs import configure_logs
from mosaic.hosting.signals import StopSignal
from mosaic.processes import has_given_up_privileges
from mosaic_embedded.platform import Platform

_PREFERRED = "reference"


def serve(
    home: Path, *, slots: int, health: str, console: str, log_level: str, detach: Callable[[], None] | None = None
) -> None:
    """Run the platform in *home* until a signal ends it; once it is up, *detach* takes it off the terminal."""
    env = {**os.environ, "MOSAIC_HOME": str(home)}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    hide_memory()
    if not has_given_up_privileges(os.getpid()):
        adopt_strays()
    terminal = new_console()
    with _journal(home) as journal:
        configure_logs("mosaic", level=log_level, as_json=True, stream=journal)
        platform = Platform(home, env, slots=slots, health_address=health, console_address=console)
        terminal.print("[dim]starting …[/]")
        try:
            platform.start()
            stopping = StopSignal()
            _greet(terminal, platform, in_background=detach is not None)
            if detach is not None:
                detach()
                terminal = new_console()
            platform.tell = partial(_tell, terminal)
            stopping.wait()
            _say(terminal, "\n[dim]stopping; what runs now continues at the next `mosaic up` …[/]")
        finally:
            platform.stop()
    _say(terminal, "stopped")


@contextmanager
def _journal(home: Path) -> Iterator[TextIO]:
    journal = (home / "platform.log").open("a", encoding="utf-8")
    try:
        yield journal
    finally:
        # A full disk takes its last lines no more, and who stops the platform then is to see that it stopped.
        with suppress(OSError):
            journal.close()


def _greet(console: Console, platform: Platform, *, in_background: bool) -> None:
    # Whoever stops reading, as in `mosaic up -d | head -2`, still wants the platform.
    with suppress(BrokenPipeError):
        for line in _greeting(platform, in_background=in_background):
            console.print(line, soft_wrap=True)


def _tell(console: Console, news: str) -> None:
    _say(console, display(news, console))


def _say(console: Console, words: str) -> None:
    # In the background they go to a file: a full disk, which may be the news, takes none.
    with suppress(OSError):
        console.print(words, soft_wrap=True)


def _greeting(platform: Platform, *, in_background: bool) -> Iterator[str]:
    machine = platform.machine
    assert platform.console is not None
    has = f"{machine.cpus} CPUs, {machine.memory_mb / 1024:.1f} GiB, {len(machine.gpus)} GPUs"
    yield f"[green]✓[/] MOSAIC Fleet is up: {has}"
    facts = {
        "state": platform.home,
        "console": platform.console.login.url,
        "health": f"http://{platform.health.address}/readyz",
        "metrics": f"http://{platform.health.address}/metrics",
        "log": platform.home / "platform.log",
        "process": os.getpid(),
        "workers": ", ".join(sorted(platform.agents)) or "none yet",
    }
    for title, value in facts.items():
        yield f"  {title:10} {display(value)}"
    for name, why in sorted(platform.broken.items()):
        yield f"  [yellow]![/] {display(name)} cannot be used: {display(why)}"
    yield from _advice(platform, in_background=in_background)
    yield f"In the browser, once: [bold]{platform.console.new_link()}[/] (`mosaic console` makes another link)"


def _advice(platform: Platform, *, in_background: bool) -> Iterator[str]:
    """Say what to type next, so that it works as it stands."""
    is_default = platform.home == home_directory(os.environ).absolute()
    if not is_default:
        yield f"First [bold]export MOSAIC_HOME={display(platform.home)}[/]: it is not where the other verbs look."
    where = "" if in_background else " in another terminal"
    if platform.agents:
        worker = _PREFERRED if _PREFERRED in platform.agents else min(platform.agents)
        yield f"Try [bold]mosaic submit {display(worker)} --follow[/]{where}."
    else:
        yield f"Next [bold]mosaic workers install {_PREFERRED}[/]{where}: it can be used as soon as it is there."
    yield "[bold]mosaic down[/] ends it." if in_background else "Ctrl-C ends it."

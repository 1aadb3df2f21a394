"""``mosaic up``: the platform in the foreground until Ctrl-C."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mosaic.cli.render import out, shown
from mosaic.hosting.logs import configure_logs
from mosaic.hosting.settings import home_directory
from mosaic.hosting.signals import StopSignal
from mosaic_embedded.platform import Platform


def command(
    home: Annotated[Path | None, typer.Option(help="State directory; default MOSAIC_HOME, or ~/.mosaic.")] = None,
    slots: Annotated[int, typer.Option(min=0, help="Runs at once for each worker; 0 = one per CPU.")] = 0,
    health: Annotated[str, typer.Option(help="host:port of /healthz, /readyz and /metrics.")] = "127.0.0.1:0",
    log_level: Annotated[str, typer.Option(help="How much is written to platform.log.")] = "info",
) -> None:
    """Run the whole platform on this machine: services and an agent for each installed worker.

    All state is in one directory. Ctrl-C ends it cleanly; the next `mosaic up` continues.
    """
    home = (home or home_directory(os.environ)).absolute()
    home.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "MOSAIC_HOME": str(home)}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    with (home / "platform.log").open("a", encoding="utf-8") as journal:
        configure_logs("mosaic", level=log_level, as_json=True, stream=journal)
        platform = Platform(home, env, slots=slots, health_address=health)
        out.print("[dim]starting …[/]")
        try:
            platform.start()
            stopping = StopSignal()
            _greet(platform)
            stopping.wait()
            out.print("\n[dim]stopping; what runs now continues at the next `mosaic up` …[/]")
        finally:
            platform.stop()
    out.print("stopped")


def _greet(platform: Platform) -> None:
    machine, endpoints = platform.machine, platform.endpoints
    assert endpoints is not None
    has = f"{machine.cpus} CPUs, {machine.memory_mb / 1024:.1f} GiB, {len(machine.gpus)} GPUs"
    out.print(f"[green]✓[/] MOSAIC Fleet is up: {has}")
    out.print(f"  state      {shown(platform.home)}")
    for name, address in asdict(endpoints).items():
        out.print(f"  {name:10} {address}")
    out.print(f"  health     http://{platform.health.address}/readyz")
    out.print(f"  metrics    http://{platform.health.address}/metrics")
    names = ", ".join(sorted(platform.agents)) or "none: `mosaic workers install reference` adds one"
    out.print(f"  workers    {names}")
    for name, why in sorted(platform.broken.items()):
        out.print(f"  [yellow]![/] {shown(name)} cannot be used: {shown(why)}")
    out.print("Try [bold]mosaic submit reference --follow[/] in another terminal. Ctrl-C ends.")

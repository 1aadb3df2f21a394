"""``mosaic up``, ``mosaic down``, ``mosaic console`` and ``mosaic demo`` as they are typed.

Only what is typed is declared here: `mosaic --help` imports it, and must not wait for a whole platform.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mosaic.home import home_directory

_Home = Annotated[Path | None, typer.Option(help="State directory; default MOSAIC_HOME, or ~/.mosaic.")]


def up(
    home: _Home = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Go on in the background once it is up.")] = False,
    slots: Annotated[int, typer.Option(min=0, help="Runs at once for each worker; 0 = one per CPU.")] = 0,
    health: Annotated[str, typer.Option(help="host:port of /healthz, /readyz and /metrics.")] = "127.0.0.1:0",
    console: Annotated[
        str, typer.Option(help="host:port of pages and REST, on loopback; the next free port if it is taken.")
    ] = "127.0.0.1:7420",
    log_level: Annotated[str, typer.Option(help="How much is written to platform.log.")] = "info",
) -> None:
    """Run the whole platform on this machine: services and an agent for each installed worker.

    All state is in one directory. Ctrl-C or `mosaic down` ends it cleanly; the next `mosaic up` continues.
    """
    where = _made(_absolute(home))
    on_ready = None
    if detach:
        from mosaic_embedded.background import go_on_in_background

        on_ready = go_on_in_background(where / "up.log")
    from mosaic_embedded.up import serve

    serve(where, slots=slots, health=health, console=console, log_level=log_level, detach=on_ready)


def down(
    home: _Home = None,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait for its end.")] = 120.0,
) -> None:
    """Stop the platform of this machine; what runs now continues at the next `mosaic up`."""
    from mosaic_embedded.down import stop

    stop(_absolute(home), timeout_s=timeout_s)


def console(home: _Home = None) -> None:
    """Print a link that opens the console of this machine in a browser; it works once."""
    from mosaic.cli.console import out
    from mosaic_embedded.link import new_link

    out.print(new_link(_absolute(home)), soft_wrap=True, markup=False)


def demo(
    home: _Home = None,
    env: Annotated[str, typer.Option(help="Environment to train on.")] = "CartPole-v1",
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same curve.")] = 1,
) -> None:
    """Install the reference worker, start the platform, train, show the curve, name the manifest."""
    where = _made(_absolute(home))
    from mosaic_embedded.demo import demonstrate

    raise typer.Exit(demonstrate(where, env=env, seed=seed))


def _absolute(home: Path | None) -> Path:
    return (home or home_directory(os.environ)).absolute()


def _made(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    return home

"""``mosaic demo``: the first five minutes in one command."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic.cli.console import display, out
from mosaic.cli.curves import Curves
from mosaic.cli.follow import follow_runs
from mosaic.cli.render import short_id
from mosaic.client import Mosaic, Run
from mosaic.home import home_directory
from mosaic.hosting.logs import configure_logs
from mosaic.installer.environments import install, installed_environments
from mosaic.installer.recipes import find_recipe
from mosaic_embedded.platform import Platform

WORKER = "reference"


def demonstrate(home: Path, *, env: str, seed: int) -> int:
    """Show on this machine, with the state in *home*, what there is to see, and return the exit code."""
    # Who is told to end by `mosaic down` ends as by Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _platform(home) as fleet:
        (run,) = fleet.submit(WORKER, {"env_id": env}, seed=seed, name="demo")
        out.print(f"[green]✓[/] run [bold]{run.run_id}[/] submitted: {WORKER} learns {display(env)}, seed {seed}")
        code = follow_runs(fleet, [run.run_id], quiet=False, hints=False)
        out.print(Curves(fleet, [run]).picture())
        manifest = fleet.manifest(run.run_id, within_s=45)
        out.print(f"\n[green]✓[/] manifest {display(manifest.path)}\n  {manifest.digest}", soft_wrap=True)
    if code == 0:
        for line in _next_steps(home, run):
            out.print(line, soft_wrap=True)
    return code


@contextmanager
def _platform(home: Path) -> Iterator[Mosaic]:
    """Run a platform with the worker installed, as long as the context lasts."""
    with (home / "platform.log").open("a", encoding="utf-8") as journal:
        configure_logs("mosaic", as_json=True, stream=journal)
        _install_worker(home)
        platform = Platform(home, {**os.environ, "MOSAIC_HOME": str(home)})
        try:
            with out.status("starting the platform …"):
                login = platform.start()
            out.print("[green]✓[/] the platform is up: registry, scheduler, telemetry and one agent")
            with Mosaic(login) as fleet:
                yield fleet
        finally:
            platform.stop()


def _next_steps(home: Path, run: Run) -> Iterator[str]:
    """Yield what to type next, in this order; the platform of the demo has ended, its runs are kept."""
    yield "\nThe demo's platform has stopped; what it did is kept. Next:"
    if shutil.which("mosaic") is None:
        yield f"  [bold]source {display(Path(sys.prefix) / 'bin' / 'activate')}[/]"
    if home != home_directory(os.environ).absolute():
        yield f"  [bold]export MOSAIC_HOME={display(home)}[/]"
    yield "  [bold]mosaic up -d[/]"
    yield f"  [bold]mosaic metrics {short_id(run.run_id)}[/]"
    yield f"  [bold]mosaic submit {WORKER} --env FrozenLake-v1 --seed 1..3 --follow[/]"
    yield "  [bold]mosaic down[/]"


def _install_worker(home: Path) -> None:
    if WORKER in {environment.name for environment in installed_environments(home)}:
        return
    out.print("[dim]installing the reference worker into an environment of its own, about half a minute …[/]")
    with out.status("installing") as status:
        recipe = find_recipe(WORKER, start=Path.cwd())
        made = install(recipe, home, progress=lambda line: status.update(f"[dim]{display(line[:90])}[/]"))
    out.print(f"[green]✓[/] worker {WORKER} installed: Python {made.python_version}, {made.size_mb:.0f} MB")

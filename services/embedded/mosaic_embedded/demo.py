"""``mosaic demo``: the first five minutes in one command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from mosaic.agent.environments import install, installed_environments
from mosaic.agent.recipes import find_recipe
from mosaic.cli.follow import follow_runs
from mosaic.cli.reading import picture
from mosaic.cli.render import out, shown
from mosaic.client import Mosaic, Submission
from mosaic.hosting.logs import configure_logs
from mosaic_embedded.platform import Platform

WORKER = "reference"


def command(
    home: Annotated[Path, typer.Option(help="State directory of the demo.")] = Path(".mosaic"),
    env: Annotated[str, typer.Option(help="Environment to train on.")] = "CartPole-v1",
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same curve.")] = 1,
) -> None:
    """Install the reference worker, start the platform, train, show the curve, name the manifest."""
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    _install_worker(home)
    with (home / "platform.log").open("a", encoding="utf-8") as journal:
        configure_logs("mosaic", as_json=True, stream=journal)
        platform = Platform(home, {**os.environ, "MOSAIC_HOME": str(home)})
        try:
            endpoints = platform.start()
            out.print("[green]✓[/] the platform is up: registry, scheduler, telemetry and one agent")
            with Mosaic(endpoints) as fleet:
                code = _train(fleet, env, seed)
        finally:
            platform.stop()
    if code == 0:
        _say_what_is_next(home)
    raise typer.Exit(code)


def _say_what_is_next(home: Path) -> None:
    out.print("\nNext, in two terminals:")
    if shutil.which("mosaic") is None:
        out.print(f"  both     [bold]source {shown(Path(sys.prefix) / 'bin' / 'activate')}[/]", soft_wrap=True)
    out.print(f"  both     [bold]export MOSAIC_HOME={shown(home)}[/]", soft_wrap=True)
    out.print("  first    [bold]mosaic up[/]")
    out.print("  second   [bold]mosaic submit reference --env FrozenLake-v1 --seed 1..3 --follow[/]", soft_wrap=True)


def _install_worker(home: Path) -> None:
    if WORKER in {environment.name for environment in installed_environments(home)}:
        return
    with out.status("installing the reference worker into an environment of its own …") as status:
        recipe = find_recipe(WORKER, start=Path.cwd())
        made = install(recipe, home, progress=lambda line: status.update(f"[dim]{shown(line[:90])}[/]"))
    out.print(f"[green]✓[/] worker {WORKER} installed: Python {made.python_version}, {made.size_mb:.0f} MB")


def _train(fleet: Mosaic, env: str, seed: int) -> int:
    (run,) = fleet.submit(Submission(WORKER, {"env_id": env}, seed=seed, name="demo", user="demo"))
    out.print(f"[green]✓[/] run [bold]{run.run_id}[/] submitted: {WORKER} learns {shown(env)}, seed {seed}")
    code = follow_runs(fleet, [run.run_id], quiet=False)
    out.print(picture(fleet, [run.run_id], None))
    manifest = fleet.manifest(run.run_id, within_s=45)
    out.print(f"\n[green]✓[/] manifest {shown(manifest.path)}\n  {manifest.digest}", soft_wrap=True)
    return code

"""The command line every worker shares, and the whole ``main`` of a well-behaved one.

========  ===============================================================================
exit      meaning
========  ===============================================================================
0         completed, dry run passed, or ended early by its own decision
1         crashed: ``run_failed`` says why, the traceback is on stderr
2         bad input: one message on stderr, nothing was written
130, 143  ended by SIGINT or SIGTERM; ``run_cancelled`` was emitted
========  ===============================================================================

What a launcher wants beyond ``--config`` it says by environment: ``MOSAIC_RUN_DIR`` (where files
go, default the working directory), ``MOSAIC_RESUME_FROM`` (a checkpoint to go on from) and
``MOSAIC_HEARTBEAT_S`` (seconds between signs of life, default 10, 0 for none).
"""

from __future__ import annotations

import argparse
import inspect
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mosaic.errors import BadInput
from mosaic.worker.config import ConfigClassInvalid, ConfigInvalid, load_strictly, read_config_data
from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.plain import plain, to_json
from mosaic.worker.session import EXIT_BAD_INPUT, EXIT_OK, Session
from mosaic.worker.stdout import line_aware_stdout

ConfigT = TypeVar("ConfigT")

DEFAULT_HEARTBEAT_S = 10.0


class WorkerCLI:
    """The parts of a worker's ``main``; `run_worker` is the whole of one."""

    @staticmethod
    def create_base_parser(prog: str, description: str) -> argparse.ArgumentParser:
        """Return a parser with the options every worker has; unknown ones end the process with 2."""
        parser = argparse.ArgumentParser(
            prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--config", type=Path, required=True, help="configuration file (JSON), direct or nested")
        parser.add_argument("-v", "--verbose", action="store_true", help="log debug messages to stderr")
        parser.add_argument("--dry-run", action="store_true", help="check the configuration, train nothing")
        parser.add_argument("--worker-id", help="name of this worker among several of one run")
        parser.add_argument("--grpc", action="store_true", help="accepted for older launchers")
        parser.add_argument("--grpc-target", default="127.0.0.1:50055", help="accepted for older launchers")
        return parser

    @staticmethod
    def setup_logging(verbose: bool = False) -> None:
        """Log to stderr, since stdout is for telemetry."""
        logging.basicConfig(
            level=logging.DEBUG if verbose else logging.INFO,
            format="%(asctime)s - %(name)s - %(levelname)s - %(message)s",
            stream=sys.stderr,
        )

    @staticmethod
    def load_and_validate_config(config_path: Path, config_class: type[ConfigT]) -> ConfigT:
        """Read the configuration and refuse what its schema or the class itself refuses.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError: *config_class* has no ``from_dict``.
            ValueError: anything else, in upstream's words; all faults are listed.

        """
        try:
            return load_strictly(Path(config_path), config_class)
        except ConfigInvalid as error:
            error.args = (f"Failed to load config from {error}",)
            raise


def run_worker(
    config_class: type[Any],
    runtime_class: Callable[..., Any],
    argv: Sequence[str] | None = None,
    *,
    worker_type: str | None = None,
) -> int:
    """Be the ``main`` of a worker: read the command line and the configuration, run, return the exit code.

    *runtime_class* is called with the configuration, and with ``emitter=`` and ``dry_run=`` where it
    takes them. What it does not tell of its life cycle is told for it, its summary becomes
    ``analytics.json`` unless it wrote one, and the optional protocols are honoured: SIGTERM and SIGINT
    reach ``request_stop``, SIGTSTP and SIGCONT ``request_pause``, ``MOSAIC_RESUME_FROM`` ``resume_from``,
    and ``--evaluate`` has ``evaluate`` called instead of ``run``; the manifest of the training is left alone then.

    Raises:
        SystemExit: the command line asked for help (0) or cannot be used (2).

    """
    parser = _parser_for(runtime_class)
    options = parser.parse_args(argv)
    WorkerCLI.setup_logging(options.verbose)
    try:
        config = _checked(load_strictly(options.config, config_class, _overrides(options, config_class)))
        asked = read_config_data(options.config)
        heartbeat_s, checkpoint = _heartbeat_s(os.environ), _checkpoint(os.environ, options)
    except BadInput as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return EXIT_BAD_INPUT
    if options.dry_run and not _takes(runtime_class, "dry_run"):
        return _show_plan(config, options)
    with line_aware_stdout():
        run_dir = Path(os.environ.get("MOSAIC_RUN_DIR") or ".")
        # The fleet knows by which name the worker is registered; the package may be called otherwise.
        name = os.environ.get("MOSAIC_WORKER") or worker_type or _package_of(runtime_class)
        is_training = not getattr(options, "evaluate", None)
        session = Session(
            config, name, run_dir=run_dir, heartbeat_s=heartbeat_s, writes_manifest=is_training, asked=asked
        )
        code = session.execute(lambda: _build(runtime_class, config, session.emitter, options), checkpoint)
        session.emitter.flush()
    if options.emit_summary:
        _print_json({"summary": session.summary})
    return code


def _parser_for(runtime_class: Callable[..., Any]) -> argparse.ArgumentParser:
    package = _package_of(runtime_class)
    description = inspect.getdoc(runtime_class) or f"Run the worker {package}."
    parser = WorkerCLI.create_base_parser(package, description.partition("\n")[0])
    parser.allow_abbrev = False
    parser.add_argument("--emit-summary", action="store_true", help="print the summary as JSON at the end")
    if hasattr(runtime_class, "run_interactive"):
        parser.add_argument("--interactive", action="store_true", help="take commands from stdin instead of training")
    if hasattr(runtime_class, "evaluate"):
        parser.add_argument("--evaluate", type=Path, metavar="CHECKPOINT", help="play its policy instead of training")
        parser.add_argument("--episodes", type=_count, default=10, help="how many to play with --evaluate")
        parser.add_argument("--seed", type=int, default=0, help="of the first episode; each one more for the next")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, is {text!r}")
    return int(text)


def _package_of(runtime_class: Callable[..., Any]) -> str:
    package = runtime_class.__module__.partition(".")[0]
    return package if package != "__main__" else Path(sys.argv[0]).stem


def _overrides(options: argparse.Namespace, config_class: type[Any]) -> Mapping[str, Any]:
    known = getattr(config_class, "__dataclass_fields__", {})
    return {"worker_id": options.worker_id} if options.worker_id and "worker_id" in known else {}


def _checked(config: Any) -> Any:
    """Return *config*, or raise `ConfigClassInvalid` when its class lacks what every run needs of it."""
    missing = [name for name in ("run_id", "seed", "to_dict", "from_dict") if not hasattr(config, name)]
    if missing:
        kind = type(config).__name__
        raise ConfigClassInvalid(f"config class {kind}", [f"has no {name!r}; add it" for name in missing])
    return config


def _heartbeat_s(environment: Mapping[str, str]) -> float:
    given = environment.get("MOSAIC_HEARTBEAT_S") or str(DEFAULT_HEARTBEAT_S)
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadInput("MOSAIC_HEARTBEAT_S", [f"must be a number of seconds, 0 or more, is {given!r}"])
    return seconds


def _checkpoint(environment: Mapping[str, str], options: argparse.Namespace) -> Path | None:
    """Return what the run goes on from; an evaluation goes on from nothing, but needs its checkpoint all the same."""
    to_play = getattr(options, "evaluate", None)
    if to_play is not None and not to_play.exists():
        raise BadInput("--evaluate", [f"there is no checkpoint at {to_play}"])
    given = environment.get("MOSAIC_RESUME_FROM")
    if not given or to_play is not None:
        return None
    if not Path(given).exists():
        raise BadInput("MOSAIC_RESUME_FROM", [f"there is no checkpoint at {given}"])
    return Path(given)


def _takes(runtime_class: Callable[..., Any], parameter: str) -> bool:
    try:
        return parameter in inspect.signature(runtime_class).parameters
    except (TypeError, ValueError):
        return False


def _build(
    runtime_class: Callable[..., Any], config: Any, emitter: TelemetryEmitter, options: argparse.Namespace
) -> Any:
    offered = {"emitter": emitter, "dry_run": options.dry_run}
    runtime = runtime_class(config, **{name: value for name, value in offered.items() if _takes(runtime_class, name)})
    if getattr(options, "evaluate", None):
        seeds = range(options.seed, options.seed + options.episodes)
        runtime.run = lambda: {"mode": "evaluation", **runtime.evaluate(options.evaluate, list(seeds))}
    elif getattr(options, "interactive", False):
        runtime.run = runtime.run_interactive
    return runtime


def _show_plan(config: Any, options: argparse.Namespace) -> int:
    """Answer a dry run for a runtime that knows none: the configuration is good, and this is it."""
    if options.emit_summary:
        plan = {"config": plain(config.to_dict())}
        _print_json({"summary": {"status": "completed", "dry_run": True, "plan": plan}})
    else:
        sys.stderr.write(f"{options.config}: the configuration can be used\n")
    return EXIT_OK


def _print_json(document: Mapping[str, Any]) -> None:
    # Without a discriminator the line is log text to whoever reads the telemetry.
    sys.stdout.write(f"{to_json(document)}\n")
    sys.stdout.flush()

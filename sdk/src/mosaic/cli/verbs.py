"""Every verb of the ``mosaic`` command by name: its code is imported when the verb is typed, and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import typer

_RUNS = "Runs"
_RESULTS = "Results"
_MACHINES = "Workers and machines"
_PEOPLE = "People"
#: Where help lists what other distributions add.
EXTRA = "This machine"


@dataclass(frozen=True)
class Verb:
    """A verb of our own; `help` is how the first line of its own help begins."""

    module: str
    function: str
    panel: str
    help: str

    def load(self) -> Any:
        """Import its code and return the function, or the group of functions."""
        return getattr(import_module(f"mosaic.cli.{self.module}"), self.function)


VERBS: Mapping[str, Verb] = {
    "submit": Verb("submit", "submit", _RUNS, "Submit a run, or one for each seed."),
    "runs": Verb("runs", "list_runs", _RUNS, "List runs, newest first."),
    "show": Verb("runs", "show", _RUNS, "Show everything about one run: where it stands, its attempts, its history."),
    "cancel": Verb("runs", "cancel", _RUNS, "End runs: SIGTERM, their grace, SIGKILL."),
    "pause": Verb("runs", "pause", _RUNS, "Stop running runs in place; they keep their machine."),
    "resume": Verb("runs", "resume", _RUNS, "Let paused runs go on."),
    "retry": Verb("runs", "retry", _RUNS, "Submit ended runs again, each as a new run labelled `retry_of`."),
    "explain": Verb("runs", "explain", _RUNS, "Say why a run waits, and when it may start."),
    "follow": Verb("follow", "follow", _RUNS, "Watch runs until they end."),
    "logs": Verb("results", "logs", _RESULTS, "Print what a run wrote besides events."),
    "metrics": Verb("results", "metrics", _RESULTS, "Draw curves of one or several runs in the terminal."),
    "compare": Verb(
        "compare",
        "compare",
        _RESULTS,
        "Compare settings over seeds: what they come to, how sure that is, who is missing.",
    ),
    "events": Verb("results", "events", _RESULTS, "Print the events of a run in order."),
    "manifest": Verb("results", "manifest", _RESULTS, "Print the manifest of an ended run."),
    "export": Verb("results", "export", _RESULTS, "Write everything that runs said into files."),
    "workers": Verb("workers", "app", _MACHINES, "Write, check, install, list and show workers."),
    "envs": Verb("envs", "envs", _MACHINES, "List the environments of the catalog."),
    "fleet": Verb("fleet", "fleet", _MACHINES, "Show the machines, their agents and the workers they run."),
    "drain": Verb("fleet", "drain", _MACHINES, "Start nothing new on a node or an agent; what runs there goes on."),
    "agents": Verb("agents", "app", _MACHINES, "Invite agents, list those that joined, put agents out of the fleet."),
    "teams": Verb("fleet", "teams", _MACHINES, "List teams, or set one up."),
    "login": Verb("people", "login", _PEOPLE, "Sign in to a platform: by name and password, or with a token"),
    "logout": Verb("people", "logout", _PEOPLE, "End the token of `mosaic login` and forget it."),
    "whoami": Verb("people", "whoami", _PEOPLE, "Say who you are, in which teams, and by which credential."),
    "users": Verb("people", "users", _PEOPLE, "List, add, change and deactivate people and service accounts."),
    "members": Verb("people", "members", _PEOPLE, "List the members of a team, give somebody a role in it"),
    "tokens": Verb("people", "tokens", _PEOPLE, "List, make and revoke tokens."),
    "secrets": Verb("secrets", "app", _PEOPLE, "Set, list and remove secrets of yours and of your teams."),
    "audit": Verb("audit", "app", _PEOPLE, "Show what was asked of the platform and decided."),
}


class Commands(Mapping[str, Any]):
    """Our verbs and what other distributions offer under ``mosaic.commands``, each built when it is asked for."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            source = VERBS.get(name) or self._extras[name]
            self._built[name] = _build(name, source.load())
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        yield from VERBS
        yield from self._extras

    def __len__(self) -> int:
        return len(VERBS) + len(self._extras)

    def panels(self) -> dict[str, list[tuple[str, str]]]:
        """Return each verb with its one line of help, by panel; of our own verbs nothing is imported."""
        found: dict[str, list[tuple[str, str]]] = {}
        for name, verb in VERBS.items():
            found.setdefault(verb.panel, []).append((name, verb.help))
        for name in self._extras:
            found.setdefault(EXTRA, []).append((name, self._help_of_extra(name)))
        return found

    @cached_property
    def _extras(self) -> dict[str, Any]:
        # Looking through every installed distribution takes time that our own verbs need not spend.
        from importlib.metadata import entry_points

        found = {entry.name: entry for entry in entry_points(group="mosaic.commands") if entry.name not in VERBS}
        return dict(sorted(found.items()))

    def _help_of_extra(self, name: str) -> str:
        try:
            return str(self[name].get_short_help_str(limit=200))
        except ImportError as error:
            return f"broken: {error}"


def _build(name: str, code: Any) -> Any:
    """Return the command of *code*: a function, or a `typer.Typer` with verbs of its own."""
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    holder.callback()(_nothing)
    if isinstance(code, typer.Typer):
        holder.add_typer(code, name=name)
    else:
        holder.command(name)(code)
    return typer.main.get_command(holder).commands[name]  # type: ignore[attr-defined]


def _nothing() -> None:
    """Make a group of *holder*, whose only command would otherwise stand for itself."""

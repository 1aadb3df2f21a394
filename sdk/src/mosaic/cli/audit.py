"""``mosaic audit``: what was asked of the platform and decided."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic.cli.options import AsJson, connect, read_span
from mosaic.cli.render import display, document, out
from mosaic.errors import MosaicError
from mosaic.model.audit import AuditEntry, broken_link

if TYPE_CHECKING:
    from mosaic.client import Mosaic

app = typer.Typer(help="Show what was asked of the platform and decided.")

_SERVICES = ("registry", "scheduler")


class AuditBroken(MosaicError):
    """The audit trail is not what was written."""

    code = "audit_broken"


@app.callback(invoke_without_command=True)
def audit(
    context: typer.Context,
    team: Annotated[str, typer.Option(help="Only what concerns this team.")] = "",
    actor: Annotated[str, typer.Option(help="Only what this user did, or agent:ID.")] = "",
    since: Annotated[str, typer.Option(help="Only what is newer, e.g. 2h or 7d.")] = "",
    export: Annotated[Path | None, typer.Option(help="Write it to this file, one JSON object a line.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was asked of the platform and decided, the oldest first, refusals too."""
    if context.invoked_subcommand:
        return
    begin = datetime.now(timezone.utc) - timedelta(seconds=read_span("--since", since)) if since else None
    with connect() as platform:
        found = _entries(platform, team, actor, begin)
        if export is not None:
            count = _export(found, export)
            out.print(f"{count} entries are in {display(export)}")
        elif as_json:
            document(list(found))
        else:
            for entry in found:
                out.print(_line(entry), soft_wrap=True)


@app.command("verify")
def verify(as_json: AsJson = False) -> None:
    """Recompute the chain of every service: an entry that was changed or taken out shows."""
    counts: dict[str, int] = {}
    with connect() as platform:
        for service in _SERVICES:
            fault = broken_link(_counted(platform.audit(service), service, counts))
            if fault:
                raise AuditBroken(f"the audit trail does not hold: {fault}")
    if as_json:
        document({service: counts.get(service, 0) for service in _SERVICES})
    else:
        for service in _SERVICES:
            out.print(f"{service}: {counts.get(service, 0)} entries, each as it was written")


def _entries(platform: Mosaic, team: str, actor: str, since: datetime | None) -> Iterator[AuditEntry]:
    trails = [platform.audit(service, team=team, actor=actor, since=since) for service in _SERVICES]
    return heapq.merge(*trails, key=lambda entry: entry.time)


def _counted(entries: Iterator[AuditEntry], service: str, counts: dict[str, int]) -> Iterator[AuditEntry]:
    for entry in entries:
        counts[service] = counts.get(service, 0) + 1
        yield entry


def _export(entries: Iterator[AuditEntry], path: Path) -> int:
    from mosaic.client.written import written

    count = 0
    with path.open("w", encoding="utf-8") as file:
        for entry in entries:
            file.write(json.dumps(written(entry), ensure_ascii=False) + "\n")
            count += 1
    return count


def _line(entry: AuditEntry) -> str:
    verdict = "" if entry.allowed else "  [red]refused[/]"
    team = f"  team {display(entry.team)}" if entry.team else ""
    why = f"  {display(entry.reason.splitlines()[0])}" if entry.reason else ""
    when = f"{entry.time.astimezone():%Y-%m-%d %H:%M:%S}"
    return f"{when}  {display(entry.actor)}  {entry.action}  {display(entry.target)}{team}{verdict}{why}"

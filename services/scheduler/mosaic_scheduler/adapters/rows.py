"""Values of the model as table rows: their JSON, and beside it the columns by which runs are found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from mosaic.ids import TeamName, UserName
from mosaic.model.codec import to_json
from mosaic.model.run import MAX_NAME, Run
from mosaic_scheduler.domain.snapshot import Usage

#: Known from the attempt that counts, so they are in its row and not in that of the run.
_PLACEMENT = ("agent_id", "node_id", "gpu_ids")


def run_to_row(run: Run) -> dict[str, Any]:
    """Return *run* as a row of ``runs``."""
    row = to_json(run)
    for name in _PLACEMENT:
        del row[name]
    spec = run.spec
    return {**row, "worker": spec.worker, "team": spec.team, "user_name": spec.user, "name": spec.name[:MAX_NAME]}


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return decayed use as JSON."""
    users = [[team, user, value] for (team, user), value in sorted(usage.users.items())]
    return {"as_of": usage.as_of.timestamp(), "teams": dict(usage.teams), "users": users}


def usage_from_json(data: Mapping[str, Any]) -> Usage:
    """Return the use that `usage_to_json` wrote; an empty document is no use at all."""
    if not data:
        return Usage()
    users = {(TeamName(team), UserName(user)): value for team, user, value in data["users"]}
    teams = {TeamName(team): value for team, value in data["teams"].items()}
    return Usage(datetime.fromtimestamp(data["as_of"], timezone.utc), teams, users)

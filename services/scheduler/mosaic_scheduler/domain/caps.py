"""Caps on how many runs a team and each of its users may have running."""

from __future__ import annotations

from mosaic.ids import TeamName, UserName
from mosaic.model.team import Team
from mosaic_scheduler.domain.amount import GPU, UNITS, Amount, in_people_units
from mosaic_scheduler.domain.quota import Ledger
from mosaic_scheduler.domain.reasons import Reason, ReasonCode


def why_capped(ledger: Ledger, team_name: TeamName, user: UserName, amount: Amount) -> Reason | None:
    """Say which cap keeps *user* of the team from starting one more run; None when none does."""
    team = ledger.teams.get(team_name)
    if team is None:
        return Reason.of(ReasonCode.TEAM_UNKNOWN, team=team_name)
    if team.max_running is not None:
        running = ledger.account(team_name).running
        if running >= team.max_running:
            return Reason.of(ReasonCode.TEAM_RUNNING_CAP, team=team_name, running=running, cap=team.max_running)
    if team.max_running_per_user is None and team.max_gpus_per_user is None:
        return None
    return _why_user_capped(ledger, team, user, amount)


def _why_user_capped(ledger: Ledger, team: Team, user: UserName, amount: Amount) -> Reason | None:
    account = ledger.user_account(team.name, user)
    cap = team.max_running_per_user
    if cap is not None and account.running >= cap:
        running = account.running
        return Reason.of(ReasonCode.USER_RUNNING_CAP, user=user, team=team.name, running=running, cap=cap)
    gpu_cap = team.max_gpus_per_user
    if gpu_cap is not None and amount[GPU] and account.held[GPU] + amount[GPU] > gpu_cap * UNITS[GPU]:
        held = in_people_units(GPU, account.held[GPU])
        return Reason.of(ReasonCode.USER_GPU_CAP, user=user, team=team.name, held=held, cap=gpu_cap)
    return None

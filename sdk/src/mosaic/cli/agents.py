"""``mosaic agents``: who may join the fleet, who did, and who is put out of it."""

from __future__ import annotations

from typing import Annotated

import typer

from mosaic.cli.options import AsJson, connect, read_span
from mosaic.cli.render import display, document, out

app = typer.Typer(no_args_is_help=True, help="Invite agents, list those that joined, put agents out of the fleet.")


@app.command()
def invite(
    uses: Annotated[int, typer.Option(help="How many agents may join with it.")] = 1,
    ttl: Annotated[str, typer.Option(help="For how long, as 30m, 1h or 7d.")] = "1h",
    worker: Annotated[str, typer.Option(help="Agents of this worker only.")] = "",
    as_json: AsJson = False,
) -> None:
    """Print what new agents join with. It is shown this once: keep it as you keep a password."""
    with connect() as platform:
        token, known = platform.invite(uses=uses, ttl_s=read_span("--ttl", ttl), worker=worker)
    if as_json:
        document({"token": token, "invite": known})
    else:
        # Nothing but the token, so that it can be written into a file.
        print(token)


@app.command("list")
def list_admitted(as_json: AsJson = False) -> None:
    """List open invitations and the certificates of agents."""
    with connect() as platform:
        invites, certificates = platform.admitted()
    if as_json:
        document({"invites": invites, "certificates": certificates})
        return
    for one in invites:
        whom = f" of {display(one.worker)}" if one.worker else ""
        until = f"{one.expires_at:%Y-%m-%d %H:%M}"
        out.print(f"invitation {one.invite_id}  for {one.uses} more agents{whom}  until {until}", soft_wrap=True)
    for held in certificates:
        state = "revoked" if held.denied_at else f"until {held.expires_at:%Y-%m-%d %H:%M}"
        out.print(f"{display(held.agent_id)}  {state}  {display(held.via or 'issued elsewhere')}", soft_wrap=True)
    if not invites and not certificates:
        out.print("nobody was invited; `mosaic agents invite` prints an invitation")


@app.command()
def revoke(
    agent: Annotated[str, typer.Argument(help="The agent, or with --invite the invitation.")],
    is_invite: Annotated[bool, typer.Option("--invite", help="Withdraw an invitation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put an agent out of the fleet at once: its certificates are denied everywhere, what it runs starts elsewhere."""
    with connect() as platform:
        if is_invite:
            platform.withdraw_invite(agent)
        else:
            platform.revoke_agent(agent)
    if as_json:
        document({"invite_id" if is_invite else "agent_id": agent})
    else:
        out.print(f"{display(agent)} is {'withdrawn' if is_invite else 'revoked'}")

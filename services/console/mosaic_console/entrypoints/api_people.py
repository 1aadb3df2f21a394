"""People, their roles, tokens and sessions."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from mosaic.hosting.access import needs
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Permission, Role
from mosaic.model.people import CredentialKind, User
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import Name, TheAddress, TheCaller, TheParts, ThePeople

router = APIRouter(prefix="/api/v1", tags=["people"])

#: 366 days.
LONGEST_LIFE_S = 31_622_400.0

_Text = Annotated[str, Field(max_length=200)]
_Password = Annotated[str, Field(max_length=1024)]


class Body(BaseModel):
    """What a request brings, and nothing else: a misspelt field is told, not left out."""

    model_config = ConfigDict(extra="forbid")


class SignIn(Body):
    """Name and password."""

    user: _Text
    password: _Password


class NewUser(Body):
    """A person or, with `owner_team`, a service account."""

    name: Annotated[str, Field(max_length=128)]
    display_name: _Text = ""
    email: _Text = ""
    #: In the fleet.
    roles: list[Role] = []
    teams: dict[str, Role] = {}
    owner_team: str | None = None
    #: Without one they sign in by the identity provider, or by nothing: a service account has tokens.
    password: _Password = ""


class UserChange(Body):
    """What is given changes."""

    display_name: _Text | None = None
    email: _Text | None = None
    #: False ends every session and token.
    active: bool | None = None


class Password(Body):
    """The new password and, for one's own, the current one."""

    password: _Password
    current: _Password = ""


class Roles(Body):
    """Roles in the fleet."""

    roles: list[Role]


class Member(Body):
    """A role in a team."""

    role: Role


class NewToken(Body):
    """What a token is for, and what it may be used for."""

    name: _Text
    #: A service account; empty = one's own.
    user: _Text = ""
    #: Empty = whatever the user may.
    scopes: list[Permission] = []
    #: 90 days where nothing is said, 366 at most.
    life_s: Annotated[float, Field(gt=0, le=LONGEST_LIFE_S)] | None = None


@router.post("/sign-in", response_model=dict[str, str])
@needs(Permission.ANYONE)
def sign_in(parts: TheParts, address: TheAddress, body: SignIn) -> Response:
    """Open a session for a program, which shows it like a token and ends it with `DELETE /api/v1/session`."""
    return answer({"session": parts.identity.sign_in(body.user, body.password, address)})


@router.get("/me", response_model=dict[str, Any])
@needs(Permission.SIGNED_IN)
def me(caller: TheCaller, people: ThePeople) -> Response:
    """Return who asks, and by which credential."""
    return answer({"user": people.user(), "via": caller.via, "scopes": caller.scopes})


@router.get("/users", response_model=list[dict[str, Any]])
@needs(Permission.PEOPLE_READ)
def list_users(people: ThePeople) -> Response:
    """Return everybody whom one may see."""
    return answer(people.users())


@router.post("/users", response_model=dict[str, Any], status_code=HTTPStatus.CREATED)
@needs(Permission.PEOPLE_CHANGE)
def add_user(people: ThePeople, body: NewUser) -> Response:
    """Add a person, or a service account of a team."""
    user = User(
        UserName(body.name),
        body.display_name,
        body.email,
        roles=frozenset(body.roles),
        teams={TeamName(team): role for team, role in body.teams.items()},
        owner_team=TeamName(body.owner_team) if body.owner_team else None,
    )
    return answer(people.add(user, body.password), HTTPStatus.CREATED)


@router.get("/users/{name}", response_model=dict[str, Any])
@needs(Permission.SIGNED_IN)
def show_user(people: ThePeople, name: Name) -> Response:
    """Return one user."""
    return answer(people.user(name))


@router.patch("/users/{name}", response_model=dict[str, Any])
@needs(Permission.SIGNED_IN)
def change_user(people: ThePeople, name: Name, body: UserChange) -> Response:
    """Change display name, e-mail, or whether they may enter; one's own texts, or those of whom one manages."""
    return answer(people.change(name, **body.model_dump(exclude_none=True)))


@router.put("/users/{name}/password", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
@needs(Permission.SIGNED_IN)
def set_password(people: ThePeople, name: Name, body: Password) -> Response:
    """Set a password and end every session of the user."""
    people.set_password(name, body.password, body.current)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.put("/users/{name}/roles", response_model=dict[str, Any])
@needs(Permission.PEOPLE_CHANGE)
def set_roles(people: ThePeople, name: Name, body: Roles) -> Response:
    """Replace the roles in the fleet; nobody gives more than they have."""
    return answer(people.set_roles(name, body.roles))


@router.get("/teams/{team}/members", response_model=list[dict[str, Any]])
@needs(Permission.PEOPLE_READ)
def list_members(people: ThePeople, team: Name) -> Response:
    """Return who has a role in the team, and its service accounts."""
    return answer(people.users(team))


@router.put("/teams/{team}/members/{name}", response_model=dict[str, Any])
@needs(Permission.PEOPLE_CHANGE)
def set_member(people: ThePeople, team: Name, name: Name, body: Member) -> Response:
    """Give a role in the team."""
    return answer(people.set_member(team, name, body.role))


@router.delete("/teams/{team}/members/{name}", response_model=dict[str, Any])
@needs(Permission.PEOPLE_CHANGE)
def remove_member(people: ThePeople, team: Name, name: Name) -> Response:
    """Take the role in the team away."""
    return answer(people.set_member(team, name, None))


@router.get("/tokens", response_model=list[dict[str, Any]])
@needs(Permission.SIGNED_IN)
def list_tokens(people: ThePeople, user: Annotated[str, Query(description="Empty: one's own.")] = "") -> Response:
    """Return tokens; what they are made of is shown once and kept nowhere."""
    return answer(people.credentials(user, CredentialKind.TOKEN))


@router.post("/tokens", response_model=dict[str, Any], status_code=HTTPStatus.CREATED)
@needs(Permission.SIGNED_IN)
def issue_token(people: ThePeople, body: NewToken) -> Response:
    """Make a token for oneself or for a service account; `secret` is in this answer and nowhere else."""
    life = None if body.life_s is None else timedelta(seconds=body.life_s)
    issued = people.issue_token(body.name, user=body.user, scopes=body.scopes, life=life)
    return answer({"token": issued.credential, "secret": issued.secret}, HTTPStatus.CREATED)


@router.delete("/tokens/{credential_id}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
@router.delete("/sessions/{credential_id}", status_code=HTTPStatus.NO_CONTENT, response_class=Response)
@needs(Permission.SIGNED_IN)
def revoke(people: ThePeople, credential_id: Name) -> Response:
    """End a token or session: the next request with it is a stranger's."""
    people.revoke(credential_id)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.get("/sessions", response_model=list[dict[str, Any]])
@needs(Permission.SIGNED_IN)
def list_sessions(people: ThePeople, user: Annotated[str, Query(description="Empty: one's own.")] = "") -> Response:
    """Return the browsers that are signed in."""
    return answer(people.credentials(user, CredentialKind.SESSION))

"""People over gRPC: parse, call the handler, answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from mosaic.errors import BadInput
from mosaic.hosting.access import caller_of, needs
from mosaic.hosting.audit import by, refusals_noted
from mosaic.ids import TeamName, UserName, is_id
from mosaic.model.audit import AuditEntry
from mosaic.model.codec import to_json
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import CredentialKind, User
from mosaic.wire.codec import from_wire, to_timestamp, to_wire
from mosaic.wire.v1 import identity_pb2 as pb
from mosaic.wire.v1 import identity_pb2_grpc
from mosaic_registry.bootstrap import Parts
from mosaic_registry.domain.credential import KeptCredential
from mosaic_registry.handlers import people, sign_in
from mosaic_registry.handlers.recorded import RecordedPeople
from mosaic_registry.handlers.sign_in import SignedIn, Vouched

WordT = TypeVar("WordT", bound=Enum)

#: Of IPv6 with a scope, and then some.
_LONGEST_ADDRESS = 64
#: Characters of a token's name that the audit trail keeps.
_LONGEST_NAME = 200


class IdentityApi(identity_pb2_grpc.IdentityServicer):
    """One method per call of ``identity.proto``; errors become statuses in the server's interceptor."""

    def __init__(self, parts: Parts) -> None:
        self._people = parts.people
        self._passwords = parts.passwords
        self._clock = parts.clock
        self._note = parts.catalog.note

    @needs(Permission.CONSOLE)
    def Authenticate(self, request: pb.AuthenticateRequest, context: Any) -> pb.AuthenticateResponse:
        """Say for whom a credential stands."""
        caller = sign_in.authenticate(
            request.credential, people=self._people, now=self._clock(), address=_address(request)
        )
        return pb.AuthenticateResponse(caller_json=json.dumps(to_json(caller)))

    @needs(Permission.CONSOLE)
    def SignIn(self, request: pb.SignInRequest, context: Any) -> pb.SignedIn:
        """Open a session for who knows the password."""
        with self._sign_in_noted(request.user, "password", request):
            opened = sign_in.sign_in(
                request.user,
                request.password,
                people=self._people,
                passwords=self._passwords,
                now=self._clock(),
                address=_address(request),
            )
        return _signed_in(opened)

    @needs(Permission.CONSOLE)
    def RedeemCode(self, request: pb.RedeemCodeRequest, context: Any) -> pb.SignedIn:
        """Open a session with a one-time code."""
        return _signed_in(
            sign_in.redeem(request.code, people=self._people, now=self._clock(), address=_address(request))
        )

    @needs(Permission.CONSOLE)
    def SignInByProvider(self, request: pb.SignInByProviderRequest, context: Any) -> pb.SignedIn:
        """Open a session for whom a provider vouches."""
        teams = {TeamName(team): _word(Role, role) for team, role in request.provided.teams.items()}
        user = User(UserName(request.name), request.display_name, request.email, teams=teams)
        vouched = Vouched(request.issuer, request.subject, user, gives_teams=request.HasField("provided"))
        with self._sign_in_noted(request.name, "provider", request):
            opened = sign_in.sign_in_by_provider(
                vouched, people=self._people, now=self._clock(), address=_address(request)
            )
        return _signed_in(opened)

    @needs(Permission.CONSOLE)
    def SignOut(self, request: pb.SignOutRequest, context: Any) -> pb.SignOutResponse:
        """End a session."""
        sign_in.sign_out(request.session, people=self._people, now=self._clock())
        return pb.SignOutResponse()

    @needs(Permission.SIGNED_IN)
    def NewCode(self, request: pb.NewCodeRequest, context: Any) -> pb.IssuedCredential:
        """Make a code that opens one session, once."""
        return _issued(*sign_in.new_code(caller_of(context), people=self._people, now=self._clock()))

    @needs(Permission.SIGNED_IN)
    def GetUser(self, request: pb.GetUserRequest, context: Any) -> pb.User:
        """Return one user."""
        return _user(people.get_user(caller_of(context), UserName(request.name), people=self._people))

    @needs(Permission.PEOPLE_READ)
    def ListUsers(self, request: pb.ListUsersRequest, context: Any) -> pb.ListUsersResponse:
        """Return everybody whom the caller may see."""
        found = people.list_users(caller_of(context), request.team, people=self._people)
        return pb.ListUsersResponse(users=map(_user, found))

    @needs(Permission.PEOPLE_CHANGE)
    def AddUser(self, request: pb.AddUserRequest, context: Any) -> pb.User:
        """Add a person or a service account."""
        user = from_wire(request.user, User)
        with self._recorded(context, "people:add", user.name, user.owner_team or "") as (caller, kept):
            added = people.add_user(caller, user, request.password, people=kept, passwords=self._passwords)
        return _user(added)

    @needs(Permission.SIGNED_IN)
    def ChangeUser(self, request: pb.ChangeUserRequest, context: Any) -> pb.User:
        """Change what is given."""
        given = {name: getattr(request, name) for name in ("display_name", "email", "active") if request.HasField(name)}
        with self._recorded(context, "people:change", request.name, **given) as (caller, kept):
            changed = people.change_user(caller, UserName(request.name), people=kept, **given)
        return _user(changed)

    @needs(Permission.SIGNED_IN)
    def SetPassword(self, request: pb.SetPasswordRequest, context: Any) -> pb.SetPasswordResponse:
        """Set a password."""
        with self._recorded(context, "people:set-password", request.name) as (caller, kept):
            people.set_password(
                caller,
                UserName(request.name),
                request.password,
                request.current,
                people=kept,
                passwords=self._passwords,
            )
        return pb.SetPasswordResponse()

    @needs(Permission.PEOPLE_CHANGE)
    def SetRoles(self, request: pb.SetRolesRequest, context: Any) -> pb.User:
        """Replace the roles in the fleet."""
        roles = frozenset(_words(Role, request.roles))
        with self._recorded(context, "people:set-roles", request.name, roles=sorted(request.roles)) as (caller, kept):
            changed = people.set_roles(caller, UserName(request.name), roles, people=kept)
        return _user(changed)

    @needs(Permission.PEOPLE_CHANGE)
    def SetMember(self, request: pb.SetMemberRequest, context: Any) -> pb.User:
        """Give a role in a team, or take it away."""
        role = _word(Role, request.role) if request.role else None
        name, team = UserName(request.name), TeamName(request.team)
        with self._recorded(context, "people:set-member", name, team, role=request.role) as (caller, kept):
            changed = people.set_member(caller, team, name, role, people=kept)
        return _user(changed)

    @needs(Permission.SIGNED_IN)
    def IssueToken(self, request: pb.IssueTokenRequest, context: Any) -> pb.IssuedCredential:
        """Make a token."""
        told: dict[str, Any] = {"name": request.name[:_LONGEST_NAME], "scopes": sorted(request.scopes)}
        with self._recorded(context, "tokens:issue", request.user, **told) as (caller, kept):
            made = people.issue_token(
                caller,
                UserName(request.user),
                request.name,
                frozenset(_words(Permission, request.scopes)) or None,
                _life(request.life_s),
                people=kept,
                now=self._clock(),
            )
        return _issued(*made)

    @needs(Permission.SIGNED_IN)
    def ListCredentials(self, request: pb.ListCredentialsRequest, context: Any) -> pb.ListCredentialsResponse:
        """Return tokens and sessions."""
        kind = _word(CredentialKind, request.kind) if request.kind else None
        found = people.list_credentials(caller_of(context), UserName(request.user), kind, people=self._people)
        return pb.ListCredentialsResponse(credentials=[to_wire(one, pb.Credential) for one in found])

    @needs(Permission.SIGNED_IN)
    def Revoke(self, request: pb.RevokeRequest, context: Any) -> pb.RevokeResponse:
        """End a token or session."""
        with self._recorded(context, "credentials:revoke", request.credential_id) as (caller, kept):
            people.revoke(caller, request.credential_id, people=kept)
        return pb.RevokeResponse()

    @needs(Permission.SIGNED_IN)
    def NoteRefusal(self, request: pb.NoteRefusalRequest, context: Any) -> pb.NoteRefusalResponse:
        """Write down that the console refused the caller."""
        facts = {
            "target": request.target,
            "allowed": False,
            "reason": f"forbidden: it takes {request.permission[:100]}",
        }
        self._note(by(caller_of(context), request.permission[:100], at=self._clock(), **facts))
        return pb.NoteRefusalResponse()

    @contextmanager
    def _sign_in_noted(self, name: str, via: str, request: Any) -> Iterator[None]:
        """Write down that somebody signs in, or is refused; what is no user's name may be a password."""
        with self._people.read() as view:
            known = name if is_id(name) and view.account(UserName(name)) else "?"
        asked = AuditEntry(self._clock(), f"user:{known}", "sign-in", known, via=via, address=_address(request))
        with refusals_noted(asked, self._note):
            yield
        self._note(asked)

    @contextmanager
    def _recorded(
        self, context: Any, action: str, target: str, team: str = "", **after: Any
    ) -> Iterator[tuple[Caller, RecordedPeople]]:
        """Yield who asks, and people whose change is written down as what they ask; a refusal is too."""
        caller = caller_of(context)
        asked = by(caller, action, at=self._clock(), target=target or caller.user, team=team, after=after)
        with refusals_noted(asked, self._note):
            yield caller, RecordedPeople(self._people, asked)


def _address(request: Any) -> str:
    told: str = request.address
    return told[:_LONGEST_ADDRESS]


def _user(user: User) -> pb.User:
    return to_wire(user, pb.User)


def _issued(secret: str, kept: KeptCredential) -> pb.IssuedCredential:
    return pb.IssuedCredential(credential=to_wire(kept, pb.Credential), secret=secret)


def _signed_in(opened: SignedIn) -> pb.SignedIn:
    return pb.SignedIn(session=opened.session, user=opened.user, expires_at=to_timestamp(opened.expires_at))


def _life(seconds: float) -> timedelta | None:
    try:
        return timedelta(seconds=seconds) if seconds else None
    except (OverflowError, ValueError):
        raise BadInput("token", [f"{seconds} s is no time that anything lives"]) from None


def _words(kind: type[WordT], words: Iterable[str]) -> list[WordT]:
    return [_word(kind, word) for word in words]


def _word(kind: type[WordT], word: str) -> WordT:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise BadInput(kind.__name__.lower(), [f"{word[:100]!r} is not one of {known}"]) from None

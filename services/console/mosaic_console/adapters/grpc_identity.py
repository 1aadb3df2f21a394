"""Who shows a credential, and people: the registry over gRPC."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import grpc

from mosaic.errors import Unauthenticated
from mosaic.hosting.access import speak_for
from mosaic.model.codec import from_json
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import Credential as KnownCredential
from mosaic.model.people import CredentialKind, User
from mosaic.wire.channel import open_channel
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.status import error_from
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import identity_pb2 as pb
from mosaic.wire.v1 import identity_pb2_grpc
from mosaic_console.domain.provider import Vouched
from mosaic_console.ports import Credential, Issued

_TIMEOUT_S = 10.0


class GrpcIdentity:
    """The registry's word on who somebody is; nothing is kept, so what it takes back is gone at once."""

    def __init__(self, address: str, tls: TlsFiles) -> None:
        self._address = address
        self._channel = open_channel(address, "registry", tls)
        self._stub = identity_pb2_grpc.IdentityStub(self._channel)

    def authenticate(self, credential: Credential) -> Caller | None:
        """Return who shows it; None for a stranger."""
        request = pb.AuthenticateRequest(credential=credential.secret, address=credential.address)
        try:
            answer = self.ask(self._stub.Authenticate, request)
        except Unauthenticated:
            return None
        return from_json(Caller, json.loads(answer.caller_json))

    def sign_in(self, user: str, password: str, address: str) -> str:
        """Return the secret of a new session."""
        request = pb.SignInRequest(user=user, password=password, address=address)
        return str(self.ask(self._stub.SignIn, request).session)

    def sign_in_by_provider(self, vouched: Vouched, address: str) -> str:
        """Return the secret of a new session."""
        request = pb.SignInByProviderRequest(
            issuer=vouched.issuer,
            subject=vouched.subject,
            name=vouched.name,
            display_name=vouched.display_name,
            email=vouched.email,
            address=address,
        )
        if vouched.teams is not None:
            told = {str(team): role.value for team, role in vouched.teams.items()}
            request.provided.CopyFrom(pb.ProvidedTeams(teams=told))
        return str(self.ask(self._stub.SignInByProvider, request).session)

    def redeem(self, code: str, address: str) -> str | None:
        """Return the secret of a new session, or None: *code* is unknown, used or too old."""
        try:
            return str(self.ask(self._stub.RedeemCode, pb.RedeemCodeRequest(code=code, address=address)).session)
        except Unauthenticated:
            return None

    def end_session(self, secret: str) -> None:
        """Close that session."""
        self.ask(self._stub.SignOut, pb.SignOutRequest(session=secret))

    def note_refusal(self, caller: Caller, permission: str, target: str) -> None:
        """Write down that *caller* asked for *target* without that *permission*."""
        request = pb.NoteRefusalRequest(permission=permission, target=target)
        self.ask(self._stub.NoteRefusal, request, metadata=speak_for(caller))

    def new_code(self, caller: Caller) -> str:
        """Return a code that opens one session for *caller*, once."""
        return str(self.ask(self._stub.NewCode, pb.NewCodeRequest(), metadata=speak_for(caller)).secret)

    def people(self, caller: Caller) -> GrpcPeople:
        """Return people as *caller* may see and change them."""
        return GrpcPeople(self, self._stub, caller)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def ask(self, method: Any, request: Any, **how: Any) -> Any:
        """Return the answer of one call, or raise our error."""
        try:
            return method(request, timeout=_TIMEOUT_S, **how)
        except grpc.RpcError as error:
            raise error_from(error, service="registry", address=self._address) from error


class GrpcPeople:
    """People in the name of one caller."""

    def __init__(self, identity: GrpcIdentity, stub: Any, caller: Caller) -> None:
        self._identity, self._stub = identity, stub
        self._metadata = speak_for(caller)

    def user(self, name: str = "") -> User:
        """Return one user; without a name, the caller."""
        return from_wire(self._ask("GetUser", pb.GetUserRequest(name=name)), User)

    def users(self, team: str = "") -> list[User]:
        """Return everybody whom the caller may see."""
        return [from_wire(user, User) for user in self._ask("ListUsers", pb.ListUsersRequest(team=team)).users]

    def add(self, user: User, password: str = "") -> User:
        """Add a person or a service account."""
        return from_wire(self._ask("AddUser", pb.AddUserRequest(user=to_wire(user, pb.User), password=password)), User)

    def change(self, name: str, **given: Any) -> User:
        """Change display name, e-mail or whether they are active."""
        return from_wire(self._ask("ChangeUser", pb.ChangeUserRequest(name=name, **given)), User)

    def set_password(self, name: str, password: str, current: str = "") -> None:
        """Set a password."""
        self._ask("SetPassword", pb.SetPasswordRequest(name=name, password=password, current=current))

    def set_roles(self, name: str, roles: Collection[Role]) -> User:
        """Replace the roles in the fleet."""
        request = pb.SetRolesRequest(name=name, roles=sorted(role.value for role in roles))
        return from_wire(self._ask("SetRoles", request), User)

    def set_member(self, team: str, name: str, role: Role | None) -> User:
        """Give a role in a team, or take it away."""
        request = pb.SetMemberRequest(team=team, name=name, role=role.value if role else "")
        return from_wire(self._ask("SetMember", request), User)

    def issue_token(
        self, name: str, *, user: str = "", scopes: Collection[Permission] = (), life: timedelta | None = None
    ) -> Issued:
        """Make a token for the caller or for a service account."""
        request = pb.IssueTokenRequest(
            user=user,
            name=name,
            scopes=sorted(scope.value for scope in scopes),
            life_s=life.total_seconds() if life else 0,
        )
        answer = self._ask("IssueToken", request)
        return Issued(from_wire(answer.credential, KnownCredential), answer.secret)

    def credentials(self, user: str, kind: CredentialKind) -> list[KnownCredential]:
        """Return tokens or sessions."""
        request = pb.ListCredentialsRequest(user=user, kind=kind.value)
        return [from_wire(one, KnownCredential) for one in self._ask("ListCredentials", request).credentials]

    def revoke(self, credential_id: str) -> None:
        """End a token or session."""
        self._ask("Revoke", pb.RevokeRequest(credential_id=credential_id))

    def _ask(self, method: str, request: Any) -> Any:
        return self._identity.ask(getattr(self._stub, method), request, metadata=self._metadata)

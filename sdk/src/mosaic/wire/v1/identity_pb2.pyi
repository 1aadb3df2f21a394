import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NoteRefusalRequest(_message.Message):
    __slots__ = ("permission", "target")
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    permission: str
    target: str
    def __init__(self, permission: _Optional[str] = ..., target: _Optional[str] = ...) -> None: ...

class NoteRefusalResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class User(_message.Message):
    __slots__ = ("name", "display_name", "email", "active", "roles", "teams", "owner_team")
    class TeamsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    TEAMS_FIELD_NUMBER: _ClassVar[int]
    OWNER_TEAM_FIELD_NUMBER: _ClassVar[int]
    name: str
    display_name: str
    email: str
    active: bool
    roles: _containers.RepeatedScalarFieldContainer[str]
    teams: _containers.ScalarMap[str, str]
    owner_team: str
    def __init__(self, name: _Optional[str] = ..., display_name: _Optional[str] = ..., email: _Optional[str] = ..., active: _Optional[bool] = ..., roles: _Optional[_Iterable[str]] = ..., teams: _Optional[_Mapping[str, str]] = ..., owner_team: _Optional[str] = ...) -> None: ...

class Credential(_message.Message):
    __slots__ = ("credential_id", "kind", "user", "created_at", "expires_at", "name", "scopes", "last_used_at", "address")
    CREDENTIAL_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    credential_id: str
    kind: str
    user: str
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    name: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    last_used_at: _timestamp_pb2.Timestamp
    address: str
    def __init__(self, credential_id: _Optional[str] = ..., kind: _Optional[str] = ..., user: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., name: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., last_used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., address: _Optional[str] = ...) -> None: ...

class AuthenticateRequest(_message.Message):
    __slots__ = ("credential", "address")
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    credential: str
    address: str
    def __init__(self, credential: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class AuthenticateResponse(_message.Message):
    __slots__ = ("caller_json",)
    CALLER_JSON_FIELD_NUMBER: _ClassVar[int]
    caller_json: str
    def __init__(self, caller_json: _Optional[str] = ...) -> None: ...

class SignInRequest(_message.Message):
    __slots__ = ("user", "password", "address")
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    user: str
    password: str
    address: str
    def __init__(self, user: _Optional[str] = ..., password: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class RedeemCodeRequest(_message.Message):
    __slots__ = ("code", "address")
    CODE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    code: str
    address: str
    def __init__(self, code: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class SignInByProviderRequest(_message.Message):
    __slots__ = ("issuer", "subject", "name", "display_name", "email", "provided", "address")
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    PROVIDED_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    issuer: str
    subject: str
    name: str
    display_name: str
    email: str
    provided: ProvidedTeams
    address: str
    def __init__(self, issuer: _Optional[str] = ..., subject: _Optional[str] = ..., name: _Optional[str] = ..., display_name: _Optional[str] = ..., email: _Optional[str] = ..., provided: _Optional[_Union[ProvidedTeams, _Mapping]] = ..., address: _Optional[str] = ...) -> None: ...

class ProvidedTeams(_message.Message):
    __slots__ = ("teams",)
    class TeamsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEAMS_FIELD_NUMBER: _ClassVar[int]
    teams: _containers.ScalarMap[str, str]
    def __init__(self, teams: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SignedIn(_message.Message):
    __slots__ = ("session", "user", "expires_at")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    session: str
    user: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, session: _Optional[str] = ..., user: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SignOutRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class SignOutResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NewCodeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class IssuedCredential(_message.Message):
    __slots__ = ("credential", "secret")
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    credential: Credential
    secret: str
    def __init__(self, credential: _Optional[_Union[Credential, _Mapping]] = ..., secret: _Optional[str] = ...) -> None: ...

class GetUserRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListUsersRequest(_message.Message):
    __slots__ = ("team",)
    TEAM_FIELD_NUMBER: _ClassVar[int]
    team: str
    def __init__(self, team: _Optional[str] = ...) -> None: ...

class ListUsersResponse(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[User]
    def __init__(self, users: _Optional[_Iterable[_Union[User, _Mapping]]] = ...) -> None: ...

class AddUserRequest(_message.Message):
    __slots__ = ("user", "password")
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    user: User
    password: str
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ..., password: _Optional[str] = ...) -> None: ...

class ChangeUserRequest(_message.Message):
    __slots__ = ("name", "display_name", "email", "active")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    display_name: str
    email: str
    active: bool
    def __init__(self, name: _Optional[str] = ..., display_name: _Optional[str] = ..., email: _Optional[str] = ..., active: _Optional[bool] = ...) -> None: ...

class SetPasswordRequest(_message.Message):
    __slots__ = ("name", "password", "current")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    password: str
    current: str
    def __init__(self, name: _Optional[str] = ..., password: _Optional[str] = ..., current: _Optional[str] = ...) -> None: ...

class SetPasswordResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetRolesRequest(_message.Message):
    __slots__ = ("name", "roles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ...) -> None: ...

class SetMemberRequest(_message.Message):
    __slots__ = ("team", "name", "role")
    TEAM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    team: str
    name: str
    role: str
    def __init__(self, team: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class IssueTokenRequest(_message.Message):
    __slots__ = ("user", "name", "scopes", "life_s")
    USER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIFE_S_FIELD_NUMBER: _ClassVar[int]
    user: str
    name: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    life_s: float
    def __init__(self, user: _Optional[str] = ..., name: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., life_s: _Optional[float] = ...) -> None: ...

class ListCredentialsRequest(_message.Message):
    __slots__ = ("user", "kind")
    USER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    user: str
    kind: str
    def __init__(self, user: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class ListCredentialsResponse(_message.Message):
    __slots__ = ("credentials",)
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    credentials: _containers.RepeatedCompositeFieldContainer[Credential]
    def __init__(self, credentials: _Optional[_Iterable[_Union[Credential, _Mapping]]] = ...) -> None: ...

class RevokeRequest(_message.Message):
    __slots__ = ("credential_id",)
    CREDENTIAL_ID_FIELD_NUMBER: _ClassVar[int]
    credential_id: str
    def __init__(self, credential_id: _Optional[str] = ...) -> None: ...

class RevokeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

"""People over gRPC, as the console calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput, Unauthenticated
from mosaic.hosting.access import declared_methods, speak_for
from mosaic.model.codec import from_json
from mosaic.model.identity import Caller, Permission, Role
from mosaic.testing.certificates import shown
from mosaic.wire.v1 import identity_pb2 as pb
from mosaic_registry.bootstrap import build
from mosaic_registry.entrypoints.identity_api import IdentityApi
from mosaic_registry.settings import Settings
from tests.fakes.databases import migrated_file

PASSWORD = "correct horse battery"


class ConsolesCall:
    """A call of the console's, for somebody."""

    def __init__(self, caller: Caller | None = None) -> None:
        self._metadata = speak_for(caller) if caller else ()

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        return {"x509_pem_cert": [shown("service/console")]}

    def invocation_metadata(self) -> Sequence[tuple[str, Any]]:
        return self._metadata


@pytest.fixture
def api(tmp_path: Path) -> IdentityApi:
    url = migrated_file("mosaic_registry.adapters.migrations", tmp_path / "registry.db")
    return IdentityApi(build(Settings(url, admin="root", admin_password=PASSWORD)))


def caller_of(api: IdentityApi, credential: str) -> Caller:
    told = api.Authenticate(pb.AuthenticateRequest(credential=credential), ConsolesCall())
    return from_json(Caller, json.loads(told.caller_json))


def test_every_method_declares_what_it_needs(api: IdentityApi) -> None:
    declared = declared_methods(api, "mosaic.wire.v1.Identity")

    assert declared
    assert [] == [method for method, permission in declared.items() if permission in (None, Permission.ANYONE)]


def test_a_person_is_added_signs_in_makes_a_token_and_is_locked_out(api: IdentityApi) -> None:
    root = caller_of(api, api.SignIn(pb.SignInRequest(user="root", password=PASSWORD), ConsolesCall()).session)
    admins = ConsolesCall(root)
    api.AddUser(pb.AddUserRequest(user=pb.User(name="ada", active=True), password=PASSWORD), admins)
    api.SetMember(pb.SetMemberRequest(team="vision", name="ada", role="researcher"), admins)

    ada = caller_of(api, api.SignIn(pb.SignInRequest(user="ada", password=PASSWORD), ConsolesCall()).session)
    assert {"vision": Role.RESEARCHER} == ada.teams
    asked = pb.IssueTokenRequest(name="ci", scopes=["runs:read"], life_s=3600)
    issued = api.IssueToken(asked, ConsolesCall(ada))
    assert {Permission.RUNS_READ} == caller_of(api, issued.secret).scopes
    listed = api.ListCredentials(pb.ListCredentialsRequest(kind="token"), ConsolesCall(ada))
    assert [issued.credential.credential_id] == [one.credential_id for one in listed.credentials]
    assert ["ada", "root"] == [user.name for user in api.ListUsers(pb.ListUsersRequest(), admins).users]

    api.ChangeUser(pb.ChangeUserRequest(name="ada", active=False), admins)

    with pytest.raises(Unauthenticated):
        caller_of(api, issued.secret)


def test_codes_sessions_and_passwords(api: IdentityApi) -> None:
    root = caller_of(api, api.SignIn(pb.SignInRequest(user="root", password=PASSWORD), ConsolesCall()).session)
    code = api.NewCode(pb.NewCodeRequest(), ConsolesCall(root)).secret
    session = api.RedeemCode(pb.RedeemCodeRequest(code=code), ConsolesCall()).session
    assert "root" == api.GetUser(pb.GetUserRequest(), ConsolesCall(caller_of(api, session))).name

    api.SignOut(pb.SignOutRequest(session=session), ConsolesCall())
    with pytest.raises(Unauthenticated):
        caller_of(api, session)

    api.SetPassword(pb.SetPasswordRequest(password=PASSWORD + "2", current=PASSWORD), ConsolesCall(root))
    with pytest.raises(Unauthenticated):
        api.SignIn(pb.SignInRequest(user="root", password=PASSWORD), ConsolesCall())


def test_a_provider_vouches_and_its_word_on_teams_counts(api: IdentityApi) -> None:
    asked = pb.SignInByProviderRequest(issuer="https://id.example", subject="7", name="eve")
    asked.provided.teams["vision"] = "viewer"

    opened = api.SignInByProvider(asked, ConsolesCall())

    assert {"vision": Role.VIEWER} == caller_of(api, opened.session).teams


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("SetRoles", pb.SetRolesRequest(name="root", roles=["king"])),
        ("SetMember", pb.SetMemberRequest(name="root", team="vision", role="king")),
        ("IssueToken", pb.IssueTokenRequest(name="x", scopes=["everything"])),
        ("IssueToken", pb.IssueTokenRequest(name="x", life_s=float("inf"))),
        ("IssueToken", pb.IssueTokenRequest(name="x", life_s=float("nan"))),
        ("ListCredentials", pb.ListCredentialsRequest(kind="king")),
        ("AddUser", pb.AddUserRequest(user=pb.User(name="eve", roles=["king"]))),
    ],
)
def test_words_that_mean_nothing_are_told(api: IdentityApi, method: str, request_: Any) -> None:
    root = caller_of(api, api.SignIn(pb.SignInRequest(user="root", password=PASSWORD), ConsolesCall()).session)

    with pytest.raises(BadInput):
        getattr(api, method)(request_, ConsolesCall(root))


def test_nobody_in_whose_name_is_nobody(api: IdentityApi) -> None:
    with pytest.raises(Unauthenticated):
        api.ListUsers(pb.ListUsersRequest(), ConsolesCall())

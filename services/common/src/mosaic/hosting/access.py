"""Who is at the other end of a call, and whether its method is open to them.

Every gRPC method declares a permission with `needs`; one that declares none is closed to everybody. What a person may
do to one run or team is decided by the handler that knows whose it is (`mosaic.hosting.rights`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc

from mosaic.errors import BadInput, Forbidden, Unauthenticated
from mosaic.hosting.rights import may_somewhere
from mosaic.hosting.rpc_handlers import behaviour_of, with_behaviour
from mosaic.ids import UserName
from mosaic.model.codec import from_json, to_json
from mosaic.model.identity import Caller, Permission, Role

#: Metadata of a call in which the console says for whom it asks.
CALLER_KEY = "mosaic-caller-bin"
#: The service that people reach, and which alone speaks for them.
CONSOLE = "console"
_SERVICE = "mosaic://service/"
_AGENT = "mosaic://agent/"
#: What a method's permission is called on the function that answers.
_DECLARED = "permission"

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as its certificate names it."""

    service: str = ""
    agent_id: str = ""
    #: Of the certificate.
    serial: str = ""


def needs(permission: Permission) -> Callable[[MethodT], MethodT]:
    """Declare what the decorated method or route needs."""

    def declare(method: MethodT) -> MethodT:
        setattr(method, _DECLARED, permission)
        return method

    return declare


def declared(method: Any) -> Permission | None:
    """Return what *method* declares, or None when it declares nothing."""
    found = getattr(method, _DECLARED, None)
    return found if isinstance(found, Permission) else None


def declared_methods(servicer: Any, full_name: str) -> dict[str, Permission | None]:
    """Return every method of a gRPC service, as calls name it, with what it declares."""
    base = next(kind for kind in type(servicer).__mro__ if kind.__name__ == f"{full_name.rpartition('.')[2]}Servicer")
    names = [name for name in vars(base) if not name.startswith("_")]
    return {f"/{full_name}/{name}": declared(getattr(type(servicer), name)) for name in names}


def speak_for(caller: Caller) -> tuple[tuple[str, bytes], ...]:
    """Return the metadata with which the console says for whom it asks."""
    return ((CALLER_KEY, json.dumps(to_json(caller)).encode()),)


def peer_of(context: Any) -> Peer | None:
    """Return whom the certificate at the other end names; None when there is none."""
    facts = context.auth_context()
    for name in facts.get("x509_subject_alternative_name", ()):
        text = name.decode("utf-8", "replace")
        if text.startswith(_SERVICE):
            return Peer(service=text.removeprefix(_SERVICE))
        if text.startswith(_AGENT):
            return Peer(agent_id=text.removeprefix(_AGENT))
    return None


def caller_of(context: Any) -> Caller:
    """Return the person for whom the console asks.

    Raises:
        Unauthenticated: the call names nobody, or is not the console's.
    """
    peer = peer_of(context)
    if peer is None or peer.service != CONSOLE:
        raise Unauthenticated("only the console speaks for people: send the request there")
    told = next((value for key, value in context.invocation_metadata() if key == CALLER_KEY), None)
    if told is None:
        raise Unauthenticated("the call names nobody in whose name it is made")
    try:
        return from_json(Caller, json.loads(told))
    except (ValueError, RecursionError, BadInput) as error:
        raise Unauthenticated("the name in the call cannot be read") from error


def asking(context: Any, said: str = "") -> Caller:
    """Return who asks: where there are certificates `caller_of`, and else whoever is *said*, who may do everything."""
    facts = context.auth_context()
    if peer_of(context) or facts.get("transport_security_type", (b"insecure",))[0] != b"insecure":
        return caller_of(context)
    told = next((value for key, value in context.invocation_metadata() if key == CALLER_KEY), None)
    if told is not None:
        return from_json(Caller, json.loads(told))
    return Caller(UserName(said or "anonymous"), roles=frozenset({Role.ADMIN}))


class AccessControl(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Lets a call through whose peer may use its method."""

    def __init__(self, permissions: Mapping[str, Permission | None]) -> None:
        """Know what each method needs, by the name that calls have."""
        self._permissions = permissions

    def intercept_service(self, continuation: Any, call_details: Any) -> Any:
        """Put the question before the method itself."""
        handler = continuation(call_details)
        permission = self._permissions.get(call_details.method)
        if handler is None or permission is Permission.ANYONE:
            return handler
        return guarded(handler, lambda context: _check(context, permission, call_details.method))


def _check(context: Any, permission: Permission | None, method: str) -> None:
    peer = peer_of(context)
    if peer is None:
        raise Unauthenticated("who is there? Services and agents show a certificate of the fleet")
    if permission is Permission.AGENT:
        allowed = bool(peer.agent_id)
    elif permission is Permission.SERVICE:
        allowed = bool(peer.service)
    else:
        allowed = permission is not None and may_somewhere(caller_of(context), permission)
    if not allowed:
        name = peer.service or peer.agent_id
        raise Forbidden(name, permission.value if permission else "a declaration", method)


def guarded(handler: Any, check: Callable[[Any], None]) -> Any:
    """Return *handler*, of whatever kind it is, with *check* before it."""
    behaviour = behaviour_of(handler)

    def answer(request: Any, context: Any) -> Any:
        check(context)
        return behaviour(request, context)

    def stream(request: Any, context: Any) -> Iterator[Any]:
        check(context)
        yield from behaviour(request, context)

    return with_behaviour(handler, stream if handler.response_streaming else answer)

"""Who is at the other end of a call, and whether its method is open to them.

Every gRPC method declares a permission with `needs`; one that declares none is closed to everybody. What a person may
do to one run or team is decided by the handler that knows whose it is (`mosaic.hosting.rights`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import grpc

from mosaic.errors import BadInput, Forbidden, Unauthenticated
from mosaic.hosting.pki import AGENT_URI, SERVICE_URI, holder_of, utc_now
from mosaic.hosting.rights import may_somewhere
from mosaic.hosting.rpc_handlers import behaviour_of, with_behaviour
from mosaic.model.codec import from_json
from mosaic.model.identity import Caller, Permission
from mosaic.wire.caller import CALLER_KEY
from mosaic.wire.caller import speak_for as speak_for

#: The service that people reach, and which alone speaks for them.
CONSOLE = "console"
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
    expires: datetime | None = None


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


def peer_of(context: Any) -> Peer | None:
    """Return whom the certificate at the other end names; None when there is none, or it has expired since."""
    shown = context.auth_context().get("x509_pem_cert", ())
    holder = holder_of(bytes(shown[0])) if shown else None
    if holder is None or holder.expires < utc_now():
        return None
    if holder.uri.startswith(SERVICE_URI):
        return Peer(service=holder.uri.removeprefix(SERVICE_URI), serial=holder.serial, expires=holder.expires)
    return Peer(agent_id=holder.uri.removeprefix(AGENT_URI), serial=holder.serial, expires=holder.expires)


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


def person_of(context: Any) -> str:
    """Return the name of the person for whom the console asks, nothing for a service or agent."""
    try:
        return caller_of(context).user
    except Unauthenticated:
        return ""


def nobody(_peer: Peer) -> bool:
    """Deny nobody."""
    return False


def unheard(_peer: Peer, _context: Any, _method: str, _error: Forbidden) -> None:
    """Tell nobody."""


class AccessControl(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Lets a call through whose peer may use its method."""

    def __init__(
        self,
        permissions: Mapping[str, Permission | None],
        is_denied: Callable[[Peer], bool] = nobody,
        on_refused: Callable[[Peer, Any, str, Forbidden], None] = unheard,
    ) -> None:
        """Know what each method needs, by the name that calls have, and whose certificates are revoked.

        Who is refused, in which context and by which method, is told to *on_refused*.
        """
        self._permissions = permissions
        self._is_denied = is_denied
        self._on_refused = on_refused

    def intercept_service(self, continuation: Any, call_details: Any) -> Any:
        """Put the question before the method itself."""
        handler = continuation(call_details)
        permission = self._permissions.get(call_details.method)
        if handler is None or permission is Permission.ANYONE:
            return handler

        def check(request: Any, context: Any) -> None:
            peer = peer_of(context)
            if peer is None:
                raise Unauthenticated("who is there? Services and agents show a certificate of the fleet")
            if self._is_denied(peer):
                raise Unauthenticated(f"the certificate of {_name(peer)} was revoked; ask for a new invitation")
            try:
                _check(peer, permission, request, context, call_details.method)
            except Forbidden as error:
                self._on_refused(peer, context, call_details.method, error)
                raise

        return guarded(handler, check)


def _check(peer: Peer, permission: Permission | None, request: Any, context: Any, method: str) -> None:
    if permission is Permission.AGENT:
        # An agent speaks for itself: a request that names an agent names the one that sends it.
        allowed = bool(peer.agent_id) and getattr(request, "agent_id", peer.agent_id) == peer.agent_id
    elif permission is Permission.SERVICE:
        allowed = bool(peer.service)
    elif permission is Permission.CONSOLE:
        allowed = peer.service == CONSOLE
    else:
        allowed = permission is not None and may_somewhere(caller_of(context), permission)
    if not allowed:
        raise Forbidden(_name(peer), permission.value if permission else "a declaration", method)


def _name(peer: Peer) -> str:
    return peer.service or peer.agent_id


def guarded(handler: Any, check: Callable[[Any, Any], None]) -> Any:
    """Return *handler*, of whatever kind it is, with *check* before it."""
    behaviour = behaviour_of(handler)

    def answer(request: Any, context: Any) -> Any:
        check(request, context)
        return behaviour(request, context)

    def stream(request: Any, context: Any) -> Iterator[Any]:
        check(request, context)
        yield from behaviour(request, context)

    return with_behaviour(handler, stream if handler.response_streaming else answer)

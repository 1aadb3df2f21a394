"""Certificates of a fleet that exists only as long as its tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import grpc

from mosaic.hosting.access import declared
from mosaic.hosting.pki import (
    CA_FILE,
    Authority,
    agent_files,
    identity_files,
    key_pem,
    new_key,
    service_files,
    utc_now,
)
from mosaic.ids import UserName, is_id
from mosaic.model.identity import Caller, Permission, Role
from mosaic.wire.caller import speak_for
from mosaic.wire.channel import open_channel
from mosaic.wire.tls import TlsFiles, server_name

#: Somebody who may do everything.
ROOT = Caller(UserName("root"), roles=frozenset({Role.ADMIN}))


class Certificates:
    """A CA in a folder, and the identities it has issued there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority.load_or_make(folder / CA_FILE, utc_now())

    def service(self, name: str) -> TlsFiles:
        """Return the files of a service."""
        return service_files(self._folder, name, self.authority, utc_now())

    def every(self) -> TlsFiles:
        """Return the files of one server that is all the services."""
        key = new_key()
        hosts = [server_name(name) for name in ("registry", "scheduler", "telemetry")]
        issued = self.authority.issue_service("every", key, now=utc_now(), hosts=hosts)
        made = {"ca": self.authority.ca_pem, "certificate": issued.pem, "key": key_pem(key)}
        return identity_files(self._folder, "every", **made)

    def agent(self, agent_id: str) -> TlsFiles:
        """Return the files of an agent."""
        return agent_files(self._folder / "agents" / agent_id, agent_id, self.authority, utc_now())

    def as_console(self, address: str, service: str, caller: Caller = ROOT) -> grpc.Channel:
        """Return a channel on which the console speaks for *caller*."""
        return open_channel(address, service, self.service("console"), metadata=lambda: speak_for(caller))


@cache
def certificates() -> Certificates:
    """Return those of this process."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Certificates(Path(folder))


@cache
def shown(name: str) -> bytes:
    """Return the certificate of ``service/NAME`` or ``agent/ID``, as gRPC tells of it in ``x509_pem_cert``."""
    kind, _, called = name.partition("/")
    files = certificates().service(called) if kind == "service" else certificates().agent(called)
    return files.read().certificate


def environment(tls: TlsFiles) -> dict[str, str]:
    """Return the variables by which a process finds *tls*."""
    return {
        "MOSAIC_TLS_CA_FILE": tls.ca,
        "MOSAIC_TLS_CERT_FILE": tls.certificate,
        "MOSAIC_TLS_KEY_FILE": tls.key,
    }


class Everybody:
    """A stub that makes each call as who may make it: the agent it names, another service, or the console."""

    def __init__(self, address: str, service: str, stub: type[Any], servicer: type[Any]) -> None:
        self._address, self._service, self._stub, self._servicer = address, service, stub, servicer
        self._channels: dict[str, grpc.Channel] = {}

    def __getattr__(self, method: str) -> Any:
        permission = declared(getattr(self._servicer, method))
        return _AsWhoMay(lambda request: getattr(self._stub(self._channel(permission, request)), method))

    def close(self) -> None:
        """Close every connection."""
        for channel in self._channels.values():
            channel.close()

    def _channel(self, permission: Permission | None, request: Any) -> grpc.Channel:
        named = str(getattr(request, "agent_id", ""))
        agent_id = (named if is_id(named) else "agent-1") if permission is Permission.AGENT else ""
        name = agent_id or (permission.value if permission else "")
        if name not in self._channels:
            self._channels[name] = self._open(permission, agent_id)
        return self._channels[name]

    def _open(self, permission: Permission | None, agent_id: str) -> grpc.Channel:
        if agent_id:
            return open_channel(self._address, self._service, certificates().agent(agent_id))
        if permission is Permission.SERVICE:
            return open_channel(self._address, self._service, certificates().service("scheduler"))
        return certificates().as_console(self._address, self._service)


class _AsWhoMay:
    def __init__(self, bind: Any) -> None:
        self._bind = bind

    def __call__(self, request: Any, **how: Any) -> Any:
        return self._bind(request)(request, **how)

    def future(self, request: Any, **how: Any) -> Any:
        return self._bind(request).future(request, **how)

"""The files with which a process shows who it is and knows whom to believe."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from mosaic.errors import BadInput

#: Which version of some files one has seen.
Stamp = tuple[tuple[int, int], ...]
#: Every service certificate names its service in this domain, wherever the service runs.
DOMAIN = "mosaic.internal"


def server_name(service: str) -> str:
    """Return the host name by which the certificate of *service* is known."""
    return f"{service}.{DOMAIN}"


@dataclass(frozen=True, slots=True)
class TlsPem:
    """What the files hold."""

    ca: bytes
    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where CA, certificate and key are; certificate and key may stand in one file, which then changes as a whole."""

    ca: str
    certificate: str
    key: str

    def read(self) -> TlsPem:
        """Return what they hold.

        Raises:
            BadInput: lists every file that cannot be read, is no certificate, or does not fit the others.
        """
        faults = list(self._faults())
        if faults:
            raise BadInput("TLS", faults)
        return TlsPem(*(_bytes(path) for path in (self.ca, self.certificate, self.key)))

    def stamp(self) -> Stamp | None:
        """Return what changes whenever one of them is replaced; None while one is missing."""
        try:
            return tuple(_stamp(path) for path in (self.ca, self.certificate, self.key))
        except OSError:
            return None

    def _faults(self) -> Iterator[str]:
        named = {"CA": self.ca, "CERT": self.certificate, "KEY": self.key}
        missing = [f"MOSAIC_TLS_{what}_FILE is not set" for what, path in named.items() if not path]
        yield from missing or self._unusable()

    def _unusable(self) -> Iterator[str]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(self.ca)
        except (OSError, ssl.SSLError) as error:
            yield f"MOSAIC_TLS_CA_FILE={self.ca}: {_why(error, 'it holds no certificate')}"
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            names = f"MOSAIC_TLS_CERT_FILE={self.certificate} and MOSAIC_TLS_KEY_FILE={self.key}"
            yield f"{names}: {_why(error, 'they hold no certificate with its key')}"


def _why(error: OSError, otherwise: str) -> str:
    return otherwise if isinstance(error, ssl.SSLError) else f"cannot be read: {error.strerror}"


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _stamp(path: str) -> tuple[int, int]:
    facts = os.stat(path)
    return facts.st_ino, facts.st_mtime_ns

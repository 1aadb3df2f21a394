"""The fleet's certificates: who issues them, and what they say.

A certificate names its holder in a URI: ``mosaic://service/<name>`` or ``mosaic://agent/<agent_id>``. What else may
stand in one (subject, DNS names) is nobody's identity.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mosaic.errors import BadInput
from mosaic.wire.tls import TlsFiles, server_name

SERVICE_URI = "mosaic://service/"
AGENT_URI = "mosaic://agent/"

#: Of the CA, and of the services' certificates on one machine.
CA_LIFETIME = timedelta(days=3650)
SERVICE_LIFETIME = timedelta(days=365)
AGENT_LIFETIME = timedelta(hours=24)
#: Clocks of machines differ: a certificate is good a little before it was made.
_SKEW = timedelta(minutes=5)
_OWNER_ONLY = 0o600
#: Where the CA's certificate and key stand, and an agent's.
CA_FILE = "ca-key.pem"
AGENT_FILE = "identity"


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a certificate names."""

    uri: str
    serial: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class Issued:
    """A new certificate; *pem* is what the holder shows."""

    pem: bytes
    serial: str
    expires: datetime
    #: SHA-256 of its public key.
    key_digest: str


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a fresh key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return *key* as it stands in a file."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Return the key that stands in *pem*.

    Raises:
        BadInput: there is none.
    """
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise BadInput("key", ["it cannot be read"]) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadInput("key", ["it is not an elliptic-curve key"])
    return key


def request_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the request with which the owner of *key* asks for a certificate; the issuer knows what to write in it."""
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


@lru_cache(maxsize=4096)
def holder_of(pem: bytes) -> Holder | None:
    """Return whom the certificate *pem* names; None when it names nobody of the fleet, or more than one."""
    certificate = x509.load_pem_x509_certificate(pem)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    if len(uris) != 1 or not uris[0].startswith((SERVICE_URI, AGENT_URI)):
        return None
    return Holder(uris[0], f"{certificate.serial_number:x}", certificate.not_valid_after_utc)


def validity_of(pem: bytes) -> tuple[datetime, datetime]:
    """Return from when until when the certificate *pem* is good."""
    certificate = x509.load_pem_x509_certificate(pem)
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


class Authority:
    """Issues the certificates of one fleet."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def new(cls, now: datetime) -> Authority:
        """Return one that nobody knows yet."""
        key = new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"MOSAIC Fleet {secrets.token_hex(4)}")])
        builder = _builder(name, name, key.public_key(), now, CA_LIFETIME)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = builder.add_extension(own, critical=False)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, path: Path) -> Authority:
        """Return the one whose certificate and key stand in the file *path*.

        Raises:
            BadInput: they do not, or the key is not the certificate's.
        """
        try:
            pem = path.read_bytes()
            certificate = x509.load_pem_x509_certificate(pem)
            key = serialization.load_pem_private_key(pem, None)
        except OSError as error:
            raise BadInput("CA", [f"{path} cannot be read: {error.strerror}"]) from error
        except (ValueError, TypeError) as error:
            raise BadInput("CA", [f"{path} does not hold a certificate and its key in PEM"]) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise BadInput("CA", [f"{path} does not hold an elliptic-curve key that is its certificate's"])
        return cls(certificate, key)

    @classmethod
    def load_or_make(cls, path: Path, now: datetime) -> Authority:
        """Return the one in the file *path*; made, for its owner's eyes only, if there is none yet."""
        if not path.exists():
            made = cls.new(now)
            # Two that start together both make one; the first to name it has made it.
            draft = _write_new(path.with_name(f".{path.name}.{secrets.token_hex(8)}"), made.ca_pem + key_pem(made._key))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return cls.load(path)

    @property
    def ca_pem(self) -> bytes:
        """The certificate that everybody believes."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue_service(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        *,
        now: datetime,
        hosts: Iterable[str] = (),
        lifetime: timedelta = SERVICE_LIFETIME,
    ) -> Issued:
        """Return a certificate for the service *name*, which is also found under the names or addresses *hosts*."""
        names = [x509.UniformResourceIdentifier(SERVICE_URI + name), x509.DNSName(server_name(name))]
        names += [_host(host) for host in hosts]
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issue(names, both, key.public_key(), now, lifetime)

    def issue_agent(
        self, agent_id: str, request: bytes, *, now: datetime, lifetime: timedelta = AGENT_LIFETIME
    ) -> Issued:
        """Return a certificate that names *agent_id*; of *request* (PEM) nothing is believed but its key.

        Raises:
            BadInput: *request* is none, its key is not P-256, or whoever sent it does not have the key.
        """
        uri = x509.UniformResourceIdentifier(AGENT_URI + agent_id)
        return self._issue([uri], [ExtendedKeyUsageOID.CLIENT_AUTH], _key_of(request), now, lifetime)

    def _issue(
        self,
        names: list[x509.GeneralName],
        usages: list[x509.ObjectIdentifier],
        key: ec.EllipticCurvePublicKey,
        now: datetime,
        lifetime: timedelta,
    ) -> Issued:
        ca = self._certificate
        builder = _builder(x509.Name([]), ca.subject, key, now, lifetime)
        # A certificate without a subject says who it is in its alternative names, which are then critical.
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=True)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        pem = made.public_bytes(serialization.Encoding.PEM)
        return Issued(pem, f"{made.serial_number:x}", made.not_valid_after_utc, _digest(key))


def service_files(folder: Path, name: str, authority: Authority, now: datetime) -> TlsFiles:
    """Issue a certificate for the service *name* and return the files it stands in, both in *folder*."""
    key = new_key()
    issued = authority.issue_service(name, key, now=now, lifetime=CA_LIFETIME)
    return identity_files(folder, name, ca=authority.ca_pem, certificate=issued.pem, key=key_pem(key))


def agent_files(folder: Path, agent_id: str, authority: Authority, now: datetime) -> TlsFiles:
    """Issue a certificate for an agent of this machine and return the files it stands in, both in *folder*."""
    key = new_key()
    issued = authority.issue_agent(agent_id, request_pem(key), now=now, lifetime=CA_LIFETIME)
    return identity_files(folder, AGENT_FILE, ca=authority.ca_pem, certificate=issued.pem, key=key_pem(key))


def identity_files(folder: Path, name: str, *, ca: bytes, certificate: bytes, key: bytes) -> TlsFiles:
    """Write an identity into *folder* for its owner's eyes only, replacing the one before as a whole."""
    files = tls_files(folder, name)
    replace_file(Path(files.ca), ca)
    replace_file(Path(files.certificate), key + certificate)
    return files


def tls_files(folder: Path, name: str) -> TlsFiles:
    """Return where `identity_files` writes."""
    return TlsFiles(str(folder / "ca.pem"), str(folder / f"{name}.pem"), str(folder / f"{name}.pem"))


def replace_file(path: Path, content: bytes) -> None:
    """Write *content* for the owner's eyes only; readers see the old file or the new one, never half."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.replace(_write_new(path.with_name(f".{path.name}.{secrets.token_hex(8)}"), content), path)


def _write_new(path: Path, content: bytes) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb") as file:
        file.write(content)
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - _SKEW).not_valid_after(now + lifetime)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_of(request: bytes) -> ec.EllipticCurvePublicKey:
    try:
        asked = x509.load_pem_x509_csr(request)
        key, is_signed = asked.public_key(), asked.is_signature_valid
    except (ValueError, TypeError, InvalidSignature) as error:
        raise BadInput("certificate request", ["it cannot be read; send a PKCS #10 request in PEM"]) from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise BadInput("certificate request", ["its key is not P-256"])
    if not is_signed:
        raise BadInput("certificate request", ["it is not signed with its own key"])
    return key


def _digest(key: ec.EllipticCurvePublicKey) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def utc_now() -> datetime:
    """Return the time of day, aware."""
    return datetime.now(timezone.utc)

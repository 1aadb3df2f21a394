"""The fleet's CA, and what it puts its name to."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mosaic.errors import BadInput
from mosaic.hosting.pki import Authority, agent_files, holder_of, key_pem, new_key, request_pem, service_files, utc_now

NOW = utc_now()


def test_a_ca_is_made_once_and_for_its_owners_eyes(tmp_path: Path) -> None:
    path = tmp_path / "ca-key.pem"
    with ThreadPoolExecutor(8) as pool:
        made = {authority.ca_pem for authority in pool.map(lambda _: Authority.load_or_make(path, NOW), range(8))}

    assert {Authority.load(path).ca_pem} == made
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert ["ca-key.pem"] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize("content", [b"", b"nonsense", Authority.new(NOW).ca_pem, key_pem(new_key())])
def test_a_file_that_holds_no_ca_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ca-key.pem"
    path.write_bytes(content)

    with pytest.raises(BadInput, match=r"ca-key\.pem"):
        Authority.load(path)


def test_the_key_of_another_ca_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "ca-key.pem"
    path.write_bytes(Authority.new(NOW).ca_pem + key_pem(new_key()))

    with pytest.raises(BadInput, match="its certificate's"):
        Authority.load(path)


def test_of_a_request_nothing_is_believed_but_its_key() -> None:
    key = new_key()
    asked = x509.CertificateSigningRequestBuilder(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "console")]),
        [
            x509.Extension(
                x509.SubjectAlternativeName.oid,
                True,
                x509.SubjectAlternativeName([x509.UniformResourceIdentifier("mosaic://service/console")]),
            ),
            x509.Extension(x509.BasicConstraints.oid, True, x509.BasicConstraints(ca=True, path_length=None)),
        ],
    ).sign(key, hashes.SHA256())

    issued = Authority.new(NOW).issue_agent("a1", asked.public_bytes(Encoding.PEM), now=NOW)

    certificate = x509.load_pem_x509_certificate(issued.pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert ["mosaic://agent/a1"] == [name.value for name in names]
    assert [ExtendedKeyUsageOID.CLIENT_AUTH] == list(usages)
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not list(certificate.subject)
    assert key.public_key() == certificate.public_key()
    assert timedelta(hours=24) >= certificate.not_valid_after_utc - NOW > timedelta(hours=23)


def signed_by_another() -> bytes:
    """Return a request whose signature is another's."""
    one, other = (request_pem(new_key()).decode().splitlines() for _ in range(2))
    return "\n".join([*one[:-3], *other[-3:]]).encode()


def of_another_kind(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "request_pem",
    [
        b"",
        b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        signed_by_another(),
        of_another_kind(rsa.generate_private_key(65537, 1024)),
        of_another_kind(ec.generate_private_key(ec.SECP384R1())),
    ],
    ids=["empty", "nonsense", "signed by another", "RSA", "another curve"],
)
def test_a_request_that_proves_nothing_gets_nothing(request_pem: bytes) -> None:
    with pytest.raises(BadInput, match="certificate request"):
        Authority.new(NOW).issue_agent("a1", request_pem, now=NOW)


def test_files_of_a_service_and_of_an_agent_can_be_read_by_their_owner_alone(tmp_path: Path) -> None:
    authority = Authority.new(NOW)
    service, agent = (
        service_files(tmp_path / "pki", "registry", authority, NOW),
        agent_files(tmp_path / "agent", "a1", authority, NOW),
    )

    named = [holder_of(files.read().certificate) for files in (service, agent)]
    assert ["mosaic://service/registry", "mosaic://agent/a1"] == [holder.uri for holder in named if holder]
    assert {0o600} == {stat.S_IMODE(Path(files.key).stat().st_mode) for files in (service, agent)}
    assert {0o700} == {stat.S_IMODE(Path(files.key).parent.stat().st_mode) for files in (service, agent)}

"""Make the passwords and certificates of a stack: one folder for each part, with nothing that the part does not need.

    python make_secrets.py FOLDER           # make what is missing; a complete set is left as it is
    python make_secrets.py FOLDER --given   # make nothing: refuse a set that is incomplete or weak

It needs only Python and openssl, so that it also runs on a host that keeps the secrets of a production stack.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import secrets
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

SERVICES = ("registry", "scheduler", "telemetry")
#: Each library's agents have an account of their own at the broker.
AGENTS = ("reference", "cleanrl", "xuance", "rllib", "sb3")
#: Everybody with a certificate -> what it says: who it is (a URI), and where else it is found.
IDENTITIES = {
    **{
        name: f"URI:mosaic://service/{name},DNS:{name}.mosaic.internal"
        for name in ("registry", "scheduler", "telemetry", "console")
    },
    **{f"agent-{agent}": f"URI:mosaic://agent/compose-{agent}" for agent in AGENTS},
}
#: What nobody could use: the oldest go when there is more of it, before it fills the broker's disk.
_DEAD_BYTES = 256 * 1024 * 1024
#: Everybody in the container may read them: who gets which folder is decided by what is mounted.
_FILE_MODE = 0o444
_FOLDER_MODE = 0o755
#: On the host, nobody but who made the set comes as far as that.
_SET_MODE = 0o700
_WEAKEST = 16
#: Nobody renews the certificates of one machine.
_DAYS = "3650"
#: Where passwords stand: in an address, and in the words of PostgreSQL. RabbitMQ and Redis get digests of them.
_PASSWORDS = re.compile(r"://[^:/@\s]*:([^:/@\s]*)@|PASSWORD '([^']*)'", re.MULTILINE)


def secret_files(password: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> dict[str, str]:
    """Return every file of a set by its path; each *password* is used for one account."""
    databases = {service: password() for service in SERVICES}
    brokers = {user: password() for user in ("scheduler", "telemetry", *(f"agent-{agent}" for agent in AGENTS))}
    redis_password, event_key = password(), password()
    urls = {service: f"postgresql://{service}:{own}@postgres/{service}" for service, own in databases.items()}
    return {
        "postgres/password": password(),
        "postgres/databases.sql": "".join(_database(service, own) for service, own in databases.items()),
        "rabbitmq/definitions.json": json.dumps(_definitions(brokers), indent=2) + "\n",
        "redis/redis.conf": _redis_users(redis_password),
        **{f"{service}/database-url": url for service, url in urls.items()},
        **{f"{user}/broker-url": f"amqp://{user}:{own}@rabbitmq:5672/" for user, own in brokers.items()},
        **{f"{reader}/event-key": event_key for reader in ("scheduler", "telemetry")},
        "scheduler/secrets-key": base64.b64encode(secrets.token_bytes(32)).decode(),
        "telemetry/redis-url": f"redis://telemetry:{redis_password}@redis:6379/0",
        "registry/admin-token": f"{_token()}\n",
    }


def _token() -> str:
    """Return a token as `python -m mosaic_registry token` prints one; the registry takes no weaker one."""
    body = f"mosaic_pat_{secrets.token_hex(8)}_{secrets.token_hex(32)}"
    return f"{body}_{zlib.crc32(body.encode()):08x}"


def faults_of(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the set in *folder*: files that are missing and passwords that can be guessed."""
    return [fault for name, text in wanted.items() if (fault := _fault_of(folder / name, name, text))]


def passwords_in(text: str, name: str) -> list[str]:
    """Return the passwords in the file called *name* that holds *text*."""
    if name.endswith(("/password", "/event-key")):
        return [text.strip()]
    return [found[found.lastindex or 0] for found in _PASSWORDS.finditer(text)]


def make(folder: Path, *, given: bool) -> list[str]:
    """Make the set in *folder* unless it is *given* or there already; return what is wrong with it."""
    wanted = secret_files()
    if not given and not any((folder / name).exists() for name in (*wanted, *certificate_names())):
        for name, text in {**wanted, **certificates()}.items():
            _write(folder, name, text)
    return faults_of(folder, wanted) + [fault for part in IDENTITIES for fault in _certificate_faults(folder, part)]


def certificate_names() -> list[str]:
    """Return the paths of `certificates`."""
    return [*(f"{part}/{file}" for part in IDENTITIES for file in ("ca.pem", "identity.pem")), "registry/ca-key.pem"]


def certificates() -> dict[str, str]:
    """Return certificates of a new CA by their paths, each with its key; the CA's own key is for the registry alone."""
    with tempfile.TemporaryDirectory() as folder:
        openssl = _Openssl(Path(folder))
        ca, key = openssl.authority()
        files = {f"{part}/ca.pem": ca for part in IDENTITIES}
        files |= {f"{part}/identity.pem": openssl.identity(names) for part, names in IDENTITIES.items()}
        return files | {"registry/ca-key.pem": key + ca}


def main() -> int:
    """Do what the command line says; 1 when the set cannot be used."""
    parser = argparse.ArgumentParser(description="Make the passwords and certificates of a stack.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--given", action="store_true", help="make nothing, only check")
    asked = parser.parse_args()
    faults = make(asked.folder, given=asked.given)
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if faults:
        sys.stderr.write("a part of a set is never made: complete it, or remove all of it\n")
    return 1 if faults else 0


def rights(role: str, queues: str = "") -> dict[str, str]:
    """Return what the RabbitMQ user of *role* may configure, write and read; *queues* are those of an agent."""
    events, dead = r"mosaic\.events(\..+)?", r"dispatch\.dead"
    configure, write, read = {
        # Through the default exchange it reaches every agent's queue, and it alone does.
        "scheduler": (dead, rf"amq\.default|mosaic\.events|{dead}", dead),
        "telemetry": (events, events, events),
        "agent": (queues, rf"mosaic\.events|{dead}", queues),
    }[role]
    return {"configure": f"^({configure})$", "write": f"^({write})$", "read": f"^({read})$"}


def _definitions(passwords: Mapping[str, str]) -> dict[str, Any]:
    """Return the users of RabbitMQ: none of them is an administrator."""
    policy = {"max-length-bytes": _DEAD_BYTES, "overflow": "drop-head"}
    return {
        "vhosts": [{"name": "/"}],
        "users": [_user(name, password) for name, password in passwords.items()],
        "permissions": [{"user": name, "vhost": "/", **_rights_of(name)} for name in passwords],
        "policies": [
            {
                "vhost": "/",
                "name": "dead-events",
                "pattern": r"^mosaic\.events\.dead$",
                "apply-to": "queues",
                "priority": 0,
                "definition": policy,
            }
        ],
    }


def _rights_of(user: str) -> dict[str, str]:
    role, _, library = user.partition("-")
    return rights(role, rf"dispatch\.{library}\..+")


def _user(name: str, password: str) -> dict[str, Any]:
    salt = secrets.token_bytes(4)
    digest = base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()
    algorithm = "rabbit_password_hashing_sha256"
    return {"name": name, "password_hash": digest, "hashing_algorithm": algorithm, "tags": []}


def _redis_users(password: str) -> str:
    """Return the only user of Redis, who may pass on news on one channel and nothing else."""
    may = "resetchannels &mosaic:live -@all +publish +subscribe +unsubscribe +ping"
    return f"user default off\nuser telemetry on #{hashlib.sha256(password.encode()).hexdigest()} {may}\n"


def _database(service: str, password: str) -> str:
    return f"CREATE ROLE {service} LOGIN PASSWORD '{password}';\nCREATE DATABASE {service} OWNER {service};\n"


def _fault_of(path: Path, name: str, wanted: str) -> str:
    """Return what is wrong with one file, which needs as many passwords as the *wanted* text has."""
    try:
        found = passwords_in(path.read_text(encoding="utf-8"), name)
    except FileNotFoundError:
        return f"{path} is missing"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror}): it and its folder must be readable for all"
    if len(found) < len(passwords_in(wanted, name)):
        return f"{path} lacks a password, or has one that cannot be read: an address has %2F, %3A, %40 for /, :, @"
    if any(len(password) < _WEAKEST for password in found):
        return f"{path} has a password of fewer than {_WEAKEST} characters"
    return ""


class _Openssl:
    """A CA in a folder that is thrown away."""

    _CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
[ca]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[holder]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = {usage}
authorityKeyIdentifier = keyid
subjectAltName = critical, {names}
"""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def authority(self) -> tuple[str, str]:
        """Make the CA; return its certificate and its key."""
        subject = f"/CN=MOSAIC Fleet {secrets.token_hex(4)}"
        self._configure("URI:mosaic://nobody")
        self._run(
            "req",
            "-x509",
            *self._new_key("ca"),
            "-extensions",
            "ca",
            "-days",
            _DAYS,
            "-subj",
            subject,
            "-out",
            "ca.pem",
        )
        return self._text("ca.pem"), self._text("ca.key")

    def identity(self, names: str) -> str:
        """Return a new key and the certificate that says *names* of its holder."""
        self._configure(names)
        self._run("req", "-new", *self._new_key("own"), "-subj", "/", "-out", "own.csr")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", f"0x{secrets.token_hex(16)}", "-days", _DAYS)
        told = ("-extfile", "openssl.conf", "-extensions", "holder")
        self._run("x509", "-req", "-in", "own.csr", "-sha256", *signed, *told, "-out", "own.pem")
        return self._text("own.key") + self._text("own.pem")

    def _configure(self, names: str) -> None:
        # Who serves is a service; an agent only asks.
        usage = "serverAuth, clientAuth" if "DNS:" in names else "clientAuth"
        (self._folder / "openssl.conf").write_text(self._CONFIG.format(names=names, usage=usage), encoding="utf-8")

    @staticmethod
    def _new_key(name: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        return ("-config", "openssl.conf", "-sha256", *curve, "-keyout", f"{name}.key")

    def _run(self, *command: str) -> None:
        done = subprocess.run(["openssl", *command], cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"openssl {command[0]} failed: {done.stderr}")

    def _text(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")


def _certificate_faults(folder: Path, part: str) -> Iterator[str]:
    ca, identity, key = folder / part / "ca.pem", folder / part / "identity.pem", folder / "registry" / "ca-key.pem"
    missing = [path for path in (ca, identity, *([key] if part == "registry" else [])) if not path.is_file()]
    yield from (f"{path} is missing" for path in missing)
    if missing:
        return
    done = subprocess.run(["openssl", "verify", "-CAfile", ca, identity], capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"{identity} is no certificate of the CA in {ca}, or has expired: {done.stderr.strip()}"


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    folder.mkdir(_SET_MODE, parents=True, exist_ok=True)
    if not path.parent.exists():
        path.parent.mkdir()
        path.parent.chmod(_FOLDER_MODE)
    path.write_text(text, encoding="utf-8")
    path.chmod(_FILE_MODE)


if __name__ == "__main__":
    sys.exit(main())

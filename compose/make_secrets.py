"""Make the passwords of a stack: one folder for each part, with nothing in it that the part does not need.

    python make_secrets.py FOLDER           # make what is missing; a complete set is left as it is
    python make_secrets.py FOLDER --given   # make nothing: refuse a set that is incomplete or weak

It needs only Python, so that it also runs on a host that keeps the secrets of a production stack.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

SERVICES = ("registry", "scheduler", "telemetry")
#: Everybody in the container may read them: who gets which folder is decided by what is mounted.
_FILE_MODE = 0o444
_FOLDER_MODE = 0o755
#: On the host, nobody but who made the set comes as far as that.
_SET_MODE = 0o700
_WEAKEST = 16
#: Where passwords stand: in an address, and in the words of RabbitMQ, Redis and PostgreSQL.
_PASSWORDS = re.compile(
    r"://[^:/@\s]*:([^:/@\s]*)@|^default_pass *= *(\S*)|^requirepass +(\S*)|PASSWORD '([^']*)'", re.MULTILINE
)


def secret_files(password: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> dict[str, str]:
    """Return every file of a set by its path; each *password* is used for one account."""
    databases = {service: password() for service in SERVICES}
    broker_password, redis_password = password(), password()
    event_key = password()
    broker_url = f"amqp://mosaic:{broker_password}@rabbitmq:5672/"
    urls = {service: f"postgresql://{service}:{own}@postgres/{service}" for service, own in databases.items()}
    return {
        "postgres/password": password(),
        "postgres/databases.sql": "".join(_database(service, own) for service, own in databases.items()),
        "rabbitmq/credentials.conf": f"default_user = mosaic\ndefault_pass = {broker_password}\n",
        "redis/redis.conf": f"requirepass {redis_password}\n",
        **{f"{service}/database-url": url for service, url in urls.items()},
        **{f"{reader}/broker-url": broker_url for reader in ("scheduler", "telemetry", "agent")},
        **{f"{reader}/event-key": event_key for reader in ("scheduler", "telemetry")},
        "telemetry/redis-url": f"redis://:{redis_password}@redis:6379/0",
    }


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
    if not given and not any((folder / name).exists() for name in wanted):
        for name, text in wanted.items():
            _write(folder, name, text)
    return faults_of(folder, wanted)


def main() -> int:
    """Do what the command line says; 1 when the set cannot be used."""
    parser = argparse.ArgumentParser(description="Make the passwords of a stack.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--given", action="store_true", help="make nothing, only check")
    asked = parser.parse_args()
    faults = make(asked.folder, given=asked.given)
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if faults:
        sys.stderr.write("a part of a set is never made: complete it, or remove all of it\n")
    return 1 if faults else 0


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

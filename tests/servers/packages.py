"""The servers' programs: those installed, else the distribution's packages unpacked into a cache.

Unpacking (``apt-get download`` and ``dpkg -x``) needs no root, changes nothing on the machine and
starts no service, so it is done for root as well.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.handle import Kind, ServerMissing

#: Package and programs of each server.
NEEDED: Mapping[Kind, tuple[str, tuple[str, ...]]] = {
    "rabbitmq": ("rabbitmq-server", ("rabbitmq-server", "epmd")),
    "postgres": ("postgresql", ("postgres", "initdb")),
    "redis": ("redis-server", ("redis-server",)),
}

#: Before PATH: Debian's rabbitmq-server in /usr/sbin insists on the rabbitmq user.
_FOLDERS = (
    "usr/lib/rabbitmq/bin",
    "usr/lib/erlang/bin",
    "usr/lib/postgresql/*/bin",
    "usr/bin",
    "usr/local/bin",
)


@dataclass(frozen=True)
class Programs:
    """Paths of a server's programs and the environment they need to start."""

    paths: Mapping[str, Path]
    environment: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return str(self.paths[name])


def find_programs(kind: Kind) -> Programs:
    """Return the programs of *kind*, unpacking the distribution's packages when none are installed.

    Raises:
        ServerMissing: neither is possible here.
    """
    found = _look_under(Path("/"), kind) or _look_on_path(kind)
    return Programs(found) if found else _unpacked(kind)


def _look_under(root: Path, kind: Kind) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name in NEEDED[kind][1]:
        for folder in _FOLDERS:
            hits = sorted(root.glob(f"{folder}/{name}"))
            if hits:
                found.setdefault(name, hits[-1])
    return found if len(found) == len(NEEDED[kind][1]) else {}


def _look_on_path(kind: Kind) -> dict[str, Path]:
    found = {name: Path(hit) for name in NEEDED[kind][1] if (hit := shutil.which(name))}
    return found if len(found) == len(NEEDED[kind][1]) else {}


def _unpacked(kind: Kind) -> Programs:
    package = NEEDED[kind][0]
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise ServerMissing(_advice(kind, "no apt-get here to fetch it with"))
    root = _cache() / package
    with _locked(_cache() / f"{package}.lock"):
        if not (root / "complete").exists():
            _unpack(kind, root)
    found = _look_under(root, kind)
    if not found:
        raise ServerMissing(_advice(kind, f"the package {package} holds no such program"))
    return Programs(found, _environment(kind, root))


def _unpack(kind: Kind, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    debs = root / "debs"
    debs.mkdir(parents=True)
    try:
        subprocess.run(
            ["apt-get", "download", *_missing_packages(kind)],
            cwd=debs,
            check=True,
            capture_output=True,
            text=True,
        )
        for deb in debs.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise ServerMissing(_advice(kind, error.stderr.strip())) from error
    _relocate_erlang(root)
    shutil.rmtree(debs)
    (root / "complete").touch()


def _missing_packages(kind: Kind) -> list[str]:
    """Ask apt what an install would bring; a simulation needs no root."""
    command = ["apt-get", "-s", "install", "--no-install-recommends", NEEDED[kind][0]]
    plan = subprocess.run(command, check=True, capture_output=True, text=True)
    names = [line.split()[1] for line in plan.stdout.splitlines() if line.startswith("Inst ")]
    return names or [NEEDED[kind][0]]


def _relocate_erlang(root: Path) -> None:
    launcher = root / "usr/lib/erlang/bin/erl"
    if launcher.exists():
        launcher.write_text(launcher.read_text().replace("/usr/lib/erlang", f"{root}/usr/lib/erlang"))


def _environment(kind: Kind, root: Path) -> dict[str, str]:
    libraries = ":".join(str(folder) for folder in sorted((root / "usr/lib").glob("*-linux-gnu*")))
    environment = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    if kind == "rabbitmq":
        home = max((root / "usr/lib/rabbitmq/lib").glob("rabbitmq_server-*"))
        environment |= {
            "RABBITMQ_HOME": str(home),
            "RABBITMQ_PLUGINS_DIR": str(home / "plugins"),
            "PATH": f"{root}/usr/lib/erlang/bin:{os.environ['PATH']}",
        }
    return environment


def _cache() -> Path:
    """Return a folder that the unprivileged user PostgreSQL runs as can read too."""
    if os.geteuid() == 0:
        cache = Path("/var/cache/mosaic-test-servers")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mosaic-test-servers"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _advice(kind: Kind, why: str) -> str:
    return (
        f"{kind} is needed by this test and cannot be brought up ({why}); "
        f"install the package {NEEDED[kind][0]}, start Docker, or name a running server in {VARIABLES[kind]}"
    )


#: Environment variable that names an already running server.
VARIABLES: Mapping[Kind, str] = {
    "rabbitmq": "MOSAIC_TEST_AMQP_URL",
    "postgres": "MOSAIC_TEST_POSTGRES_URL",
    "redis": "MOSAIC_TEST_REDIS_URL",
}

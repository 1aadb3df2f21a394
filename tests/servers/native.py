"""Servers started from their programs on private ports, with their data in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from mosaic.testing.ports import free_port
from tests.servers.answers import ANSWERS, listens
from tests.servers.handle import Kind, wait_until
from tests.servers.packages import Programs, find_programs

#: Ends the group when the other end of the pipe closes: also when the test process is killed.
_LIFELINE = 'read -r _; kill -KILL "-$1" 2>/dev/null; rm -rf -- "$2"'

#: Scripts that run before the server refuse to work without these.
_KEPT_VARIABLES = ("PATH", "LANG", "TMPDIR")


class NativeServer(ABC):
    """One server in its own process group; nothing of it survives the test process."""

    kind: Kind
    url: str
    api_url = ""
    #: How an operator ends it.
    stop_signal = signal.SIGTERM
    boot_seconds = 30.0

    def __init__(self) -> None:
        self.port = free_port()
        self.programs: Programs = find_programs(self.kind)
        self.home = Path(tempfile.mkdtemp(prefix=f"mosaic-{self.kind}-"))
        self.home.chmod(0o755)
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that runs the server in the foreground."""

    def prepare(self) -> None:  # noqa: B027 - most servers need nothing
        """Write what the first start needs."""

    def environment(self) -> dict[str, str]:
        """Return what the server's processes find in their environment."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        return {**kept, "HOME": str(self.home), **self.programs.environment}

    def user(self) -> int | None:
        """Return the user id to run as; None means ours."""
        return None

    def start(self) -> None:
        """Bring it up with the data it had; return when it answers."""
        if self._process is not None:
            return
        if not any(self.home.iterdir()):
            self.prepare()
        with (self.home / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                self.command(),
                env=self.environment(),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user(),
            )
        self._tie_lifeline(self._process.pid)
        answers = ANSWERS[self.kind]
        wait_until(lambda: answers(self.url), what=self.kind, seconds=self.boot_seconds, alive=self._last_words)

    def stop(self) -> None:
        """End it as an operator would; data stays."""
        if self._process is None:
            return
        self._process.send_signal(self.stop_signal)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self.kill()

    def kill(self) -> None:
        """End every process of it with SIGKILL; data stays as the crash left it."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._cut_lifeline()
        self._process = None
        # The group's other processes are not our children: the closed port tells that they are gone.
        wait_until(lambda: not listens(self.url), what=f"the end of {self.kind}", seconds=10, alive=str)

    def execute(self, tool: str, *arguments: str) -> str:
        """Run one of the server's own tools against it and return what it printed."""
        beside = Path(next(iter(self.programs.paths.values())))
        command = [str(beside.with_name(tool)), *arguments]
        done = subprocess.run(
            command, env=self.environment(), cwd=self.home, check=True, capture_output=True, text=True
        )
        return done.stdout

    def close(self) -> None:
        """End it and delete its data."""
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def _tie_lifeline(self, group: int) -> None:
        self._lifeline = subprocess.Popen(
            ["sh", "-c", _LIFELINE, "lifeline", str(group), str(self.home)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def _cut_lifeline(self) -> None:
        if self._lifeline is not None and self._lifeline.stdin is not None:
            self._lifeline.kill()
            self._lifeline.wait()
            self._lifeline.stdin.close()
            self._lifeline = None

    def _last_words(self) -> str:
        if self._process is None or self._process.poll() is None:
            return ""
        return (self.home / "output.log").read_text(errors="replace")[-2000:] or "it printed nothing"


class NativeRabbitMQ(NativeServer):
    """A one-node broker with the management API, its statistics switched off."""

    kind: Kind = "rabbitmq"
    boot_seconds = 90.0

    def __init__(self, *, consumer_timeout_ms: int | None = None) -> None:
        super().__init__()
        self.consumer_timeout_ms = consumer_timeout_ms
        self.distribution_port = free_port()
        self.name_service_port = free_port()
        self.api_port = free_port()
        self.url = f"amqp://mosaic:mosaic@127.0.0.1:{self.port}/%2F"
        self.api_url = f"http://mosaic:mosaic@127.0.0.1:{self.api_port}"

    def command(self) -> list[str]:
        """Run the name service in the same group: a daemon of it would outlive the broker."""
        script = '"$0" & until "$0" -names >/dev/null 2>&1; do sleep 0.02; done; exec "$1"'
        return ["sh", "-c", script, self.programs["epmd"], self.programs["rabbitmq-server"]]

    def prepare(self) -> None:
        """Write the configuration."""
        (self.home / "enabled_plugins").write_text("[rabbitmq_management].")
        settings = [
            f"listeners.tcp.1 = 127.0.0.1:{self.port}",
            "management.tcp.ip = 127.0.0.1",
            f"management.tcp.port = {self.api_port}",
            "management_agent.disable_metrics_collector = true",
            "loopback_users = none",
            "default_user = mosaic",
            "default_pass = mosaic",
            "log.file = false",
            "log.console = true",
            "log.console.level = warning",
            "disk_free_limit.absolute = 50MB",
        ]
        if self.consumer_timeout_ms is not None:
            settings.append(f"consumer_timeout = {self.consumer_timeout_ms}")
        (self.home / "rabbitmq.conf").write_text("\n".join(settings) + "\n")

    def environment(self) -> dict[str, str]:
        """Keep the broker off the machine's own RabbitMQ, and off spinning while idle."""
        home = self.home
        return super().environment() | {
            "RABBITMQ_NODENAME": f"t{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution_port),
            "ERL_EPMD_PORT": str(self.name_service_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
            "RABBITMQ_LOG_BASE": str(home / "log"),
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_PID_FILE": str(home / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
        }


class NativePostgres(NativeServer):
    """A fresh cluster; *durable* decides whether commits wait for the disk, as in production.

    Without it a commit still survives ``kill`` of the server, only not the loss of the machine.
    """

    kind: Kind = "postgres"
    #: Fast shutdown: roll back, disconnect, checkpoint.
    stop_signal = signal.SIGINT

    def __init__(self, *, durable: bool = False) -> None:
        super().__init__()
        self.durable = durable
        self.url = f"postgresql+psycopg://mosaic@127.0.0.1:{self.port}/postgres"

    @property
    def _cluster(self) -> Path:
        return self.home / "cluster"

    def user(self) -> int | None:
        """PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return None
        names = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
        return names.get("postgres", names["nobody"])

    def prepare(self) -> None:
        """Create the cluster."""
        self._cluster.mkdir(mode=0o700)
        user = self.user()
        if user is not None:
            os.chown(self._cluster, user, -1)
        command = [
            self.programs["initdb"],
            "-D",
            str(self._cluster),
            "-U",
            "mosaic",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        subprocess.run(
            [*command, "--locale=C", "--no-sync"],
            env=self.environment(),
            cwd=self._cluster,
            user=user,
            check=True,
            capture_output=True,
        )

    def command(self) -> list[str]:
        """Listen on the loopback only; no socket file."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self.durable else "off",
            "max_connections": "200",
        }
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        return [self.programs["postgres"], "-D", str(self._cluster), "-p", str(self.port), *flags]


class NativeRedis(NativeServer):
    """A server that keeps nothing on disk."""

    kind: Kind = "redis"

    def __init__(self) -> None:
        super().__init__()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        """Listen on the loopback only; no snapshots."""
        return [
            *(self.programs["redis-server"], "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--save", "", "--appendonly", "no"),
        ]

"""The console as one thread with one port, in a process of its own or as a part of another."""

from __future__ import annotations

import errno
import socket
import threading
from pathlib import Path

import structlog

from mosaic.client import Login
from mosaic.errors import Refused
from mosaic_console.bootstrap import Parts, build
from mosaic_console.ports import Credential
from mosaic_console.settings import Settings

log = structlog.get_logger(__name__)

#: So many ports after the wanted one are tried before any free one is taken.
_PORTS = 20
_BACKLOG = 1024
_END_S = 3
#: Longer than clients keep a connection that they do not use, or a request would meet its end.
_KEEP_ALIVE_S = 120


class ConsoleServer:
    """Listens as soon as it is made, and answers once its thread has imported what it takes: clients wait for that."""

    def __init__(
        self, settings: Settings, *, home: Path | None = None, token: str = "", parts: Parts | None = None
    ) -> None:
        """Bind the port. With a state directory, *home*, the next free one if it is taken, and say there where it is.

        *token* is what is written there; *parts* take the place of those that the settings name.

        Raises:
            BadInput: the address is none.
            Refused: the address cannot be bound, or would show tokens to the network.
        """
        self._settings, self._home = settings, home
        host, port = settings.listen_address()
        self._socket = _bind(host, port, moves=home is not None)
        port = self._socket.getsockname()[1]
        self.login = Login(f"{'https' if settings.https_cert_file else 'http'}://{host}:{port}", token)
        self._parts = parts or build(settings, port=port)
        self._thread = threading.Thread(target=self._serve, name="console", daemon=True)
        self._stopping = threading.Event()
        self._is_serving = False
        self._broken = ""

    def start(self) -> None:
        """Answer from soon on."""
        if self._home is not None:
            self.login.tell(self._home)
        self._thread.start()

    def stop(self) -> None:
        """End the streams and close the port."""
        if self._home is not None:
            Login.forget(self._home)
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_END_S * 2)
        self._socket.close()
        self._parts.services.close()
        self._parts.identity.close()
        if self._parts.provider is not None:
            self._parts.provider.close()

    def new_link(self) -> str:
        """Return a link that signs one browser in, once."""
        caller = self._parts.identity.authenticate(Credential("token", self.login.token))
        assert caller is not None
        return f"{self.login.url}/sign-in?code={self._parts.identity.new_code(caller)}"

    def fault(self) -> str | None:
        """Return why it does not answer; None when it does."""
        if self._broken:
            return self._broken
        if not self._is_serving:
            return "it is being started"
        return None if self._thread.is_alive() else "it has ended"

    def _serve(self) -> None:
        try:
            self._answer()
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            log.exception("the console ended; runs and the command are not affected")
        finally:
            # Who connects to a port that nobody answers on would wait for ever.
            self._socket.close()

    def _answer(self) -> None:
        # Half a second of imports that nobody who starts the platform should wait for.
        import asyncio

        import uvicorn

        from mosaic_console.entrypoints.app import build_app, door_of
        from mosaic_console.entrypoints.slow_clients import ImpatientProtocol

        async def serve() -> None:
            app = build_app(self._parts)
            config = uvicorn.Config(
                door_of(app, self._parts),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                loop="asyncio",
                http=ImpatientProtocol,
                ws="none",
                proxy_headers=bool(self._settings.trusted_proxies),
                forwarded_allow_ips=self._settings.trusted_proxies,
                timeout_graceful_shutdown=_END_S,
                timeout_keep_alive=_KEEP_ALIVE_S,
                ssl_certfile=self._settings.https_cert_file or None,
                ssl_keyfile=self._settings.https_key_file or None,
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([self._socket]))
            self._is_serving = True
            await asyncio.to_thread(self._stopping.wait)
            app.state.feeds.close()
            app.state.streams.close()
            server.should_exit = True
            await serving

        asyncio.run(serve())


def _bind(host: str, port: int, *, moves: bool) -> socket.socket:
    candidates = [port, *range(port + 1, min(port + _PORTS, 65536)), 0] if port and moves else [port]
    for candidate in candidates:
        # Named, or the event loop does not see that it is TCP, and an answer waits 40 ms for what was sent before it.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE:
                raise Refused(f"the console cannot listen on {host}:{candidate}: {error.strerror}") from error
        else:
            return listening
    raise Refused(f"the console cannot listen on {host}:{port}: somebody else does; choose another port")

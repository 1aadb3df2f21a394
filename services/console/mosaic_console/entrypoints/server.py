"""The console as a part of another process: one thread, one port on loopback."""

from __future__ import annotations

import errno
import socket
import threading

import structlog

from mosaic.client import Endpoints
from mosaic.errors import Refused
from mosaic_console.adapters.token_file import TokenFile
from mosaic_console.bootstrap import build
from mosaic_console.domain.keys import new_secret
from mosaic_console.settings import Settings, read_address

log = structlog.get_logger(__name__)

#: So many ports after the wanted one are tried before any free one is taken.
_PORTS = 20
_BACKLOG = 128
_END_S = 3


class ConsoleServer:
    """Listens as soon as it is made, and answers once its thread has imported what it takes: browsers wait for that."""

    def __init__(self, settings: Settings, endpoints: Endpoints) -> None:
        """Bind the port, or the next free one, and write the token file.

        Raises:
            BadInput: the address is none.
            Refused: the address is not loopback, or cannot be bound.
        """
        self._socket = _bind(*read_address(settings.address))
        host, port = self._socket.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        token = new_secret()
        self._files = TokenFile(settings.home)
        self._files.write(token, self.url)
        self._parts = build(endpoints, token=token, user=settings.user, port=port)
        self._thread = threading.Thread(target=self._serve, name="console", daemon=True)
        self._stopping = threading.Event()
        self._is_serving = False
        self._broken = ""

    def start(self) -> None:
        """Answer from soon on."""
        self._thread.start()

    def stop(self) -> None:
        """End the streams, close the port and remove the token."""
        self._files.remove()
        self._stopping.set()
        self._thread.join(_END_S * 2)
        self._parts.platform.close()

    def new_link(self) -> str:
        """Return a link that signs one browser in, once."""
        return f"{self.url}/sign-in?code={self._parts.keyring.new_code()}"

    def fault(self) -> str | None:
        """Return why it does not answer; None when it does, or is about to."""
        if self._broken:
            return self._broken
        return "it has ended" if self._is_serving and not self._thread.is_alive() else None

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

        async def serve() -> None:
            app = build_app(self._parts)
            config = uvicorn.Config(
                door_of(app, self._parts),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                loop="asyncio",
                http="h11",
                ws="none",
                timeout_graceful_shutdown=_END_S,
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([self._socket]))
            self._is_serving = True
            await asyncio.to_thread(self._stopping.wait)
            app.state.feed.close()
            server.should_exit = True
            await serving

        asyncio.run(serve())


def _bind(host: str, port: int) -> socket.socket:
    candidates = [port, *range(port + 1, min(port + _PORTS, 65536)), 0] if port else [0]
    for candidate in candidates:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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
    raise Refused(f"the console finds no free port on {host}")

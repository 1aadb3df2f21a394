"""A server behind TLS: what a broker with a certificate is to its clients. Run as a program, it takes the TLS off."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from mosaic.hosting.pki import Authority, key_pem, new_key, utc_now


@contextmanager
def behind_tls(url: str, folder: Path, *, names: str = "localhost") -> Iterator[tuple[str, Path]]:
    """Yield the address of *url* behind TLS, on localhost, and the file of the CA; the certificate *names* a host."""
    authority, key = Authority.new(utc_now()), new_key()
    issued = authority.issue_service("broker", key, now=utc_now(), hosts=[names])
    (folder / "ca.pem").write_bytes(authority.ca_pem)
    (folder / "broker.pem").write_bytes(issued.pem + key_pem(key))
    parts = urlsplit(url)
    command = [sys.executable, __file__, str(parts.hostname), str(parts.port), str(folder / "broker.pem")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as proxy:
        try:
            assert proxy.stdout is not None
            login, at, _ = parts.netloc.rpartition("@")
            netloc = f"{login}{at}localhost:{int(proxy.stdout.readline())}"
            yield parts._replace(scheme=parts.scheme + "s", netloc=netloc).geturl(), folder / "ca.pem"
        finally:
            proxy.kill()


async def _serve(host: str, port: int, certificate: str) -> None:
    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    finally:
        target.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))

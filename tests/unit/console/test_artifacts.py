"""The files of a run: what is served, in ranges, and what never is."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from mosaic_console.adapters.run_files import RunFiles
from mosaic_console.entrypoints.app import build_door
from tests.unit.console.conftest import TOKEN, URL, Console

HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def files(tmp_path: Path, console: Console) -> tuple[Path, TestClient]:
    """The directory of run r1, and a script before a console that sees it."""
    console.platform.add("r1")
    console.platform.add("elsewhere")
    folder = tmp_path / "runs" / "r1"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "ü 1.bin").write_bytes(bytes(range(256)) * 1000)
    (folder / "log.html").write_text("<script>alert(1)</script>")
    (tmp_path / "secret").write_text("secret")
    app: Any = console.stranger.app
    door = build_door(replace(app._parts, artifacts=RunFiles(str(tmp_path / "runs"))))
    return folder, TestClient(door, base_url=URL, headers=HEADERS)


def raw_get(app: Any, path: str) -> tuple[int, bytes]:
    """Ask for *path* as it is; a client would tidy it up."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())],
    }

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_files_are_listed_with_their_sizes(files: tuple[Path, TestClient]) -> None:
    _, script = files

    told = script.get("/api/v1/runs/r1/artifacts").json()

    assert [("checkpoints/ü 1.bin", 256_000), ("log.html", 25)] == [(each["path"], each["size"]) for each in told]


def test_a_file_is_downloaded_whole_or_in_ranges_and_never_shown_as_a_page(files: tuple[Path, TestClient]) -> None:
    _, script = files
    path = "/api/v1/runs/r1/artifacts/checkpoints/%C3%BC%201.bin"

    whole = script.get(path)
    part = script.get(path, headers={"Range": "bytes=256-511"})
    page = script.get("/api/v1/runs/r1/artifacts/log.html")

    assert bytes(range(256)) * 1000 == whole.content
    assert (206, bytes(range(256)), "bytes 256-511/256000") == (
        part.status_code,
        part.content,
        part.headers["content-range"],
    )
    assert 416 == script.get(path, headers={"Range": "bytes=900000-"}).status_code
    assert "application/octet-stream" == page.headers["content-type"]
    assert page.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        *("../../secret", "%2e%2e/%2e%2e/secret", "..%2f..%2fsecret", "checkpoints/../../../secret", "./log.html"),
        *("%252e%252e/%252e%252e/secret", "%2fetc/passwd", "/etc/passwd", "log.html%00", "a%5cb", "checkpoints//x"),
    ],
)
def test_no_path_leads_out_of_the_directory(files: tuple[Path, TestClient], path: str) -> None:
    _, script = files

    status, content = raw_get(script.app, f"/api/v1/runs/r1/artifacts/{path}")

    assert status in (400, 404), content
    assert b"secret" != content


def test_links_pipes_and_directories_are_no_files(files: tuple[Path, TestClient], tmp_path: Path) -> None:
    folder, script = files
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")

    for name in ("link", "folder/secret", "pipe", "checkpoints"):
        assert 404 == script.get(f"/api/v1/runs/r1/artifacts/{name}").status_code, name
    listed = [each["path"] for each in script.get("/api/v1/runs/r1/artifacts").json()]
    assert not {"link", "folder/secret", "pipe"} & set(listed)


def test_a_directory_that_is_itself_a_link_is_not_served(files: tuple[Path, TestClient], tmp_path: Path) -> None:
    folder, script = files
    (folder.parent / "elsewhere").symlink_to(tmp_path)

    assert 404 == script.get("/api/v1/runs/elsewhere/artifacts/secret").status_code


def test_where_no_directory_is_seen_it_is_said(files: tuple[Path, TestClient], console: Console) -> None:
    _, script = files

    missing, unseen = script.get("/api/v1/runs/elsewhere/artifacts"), console.script.get("/api/v1/runs/r1/artifacts")

    assert (404, "not_found") == (missing.status_code, missing.json()["code"])
    assert (409, "refused") == (unseen.status_code, unseen.json()["code"])
    assert "MOSAIC_CONSOLE_RUNS_ROOT" in unseen.json()["detail"]
    assert 404 == script.get("/api/v1/runs/nobody/artifacts/log.html").status_code


def test_no_descriptor_is_left_open(files: tuple[Path, TestClient]) -> None:
    _, script = files
    script.get("/api/v1/runs/r1/artifacts/log.html")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(20):
        script.get("/api/v1/runs/r1/artifacts/log.html")
        script.get("/api/v1/runs/r1/artifacts/checkpoints")
        script.get("/api/v1/runs/r1/artifacts")

    assert before == len(os.listdir("/proc/self/fd"))

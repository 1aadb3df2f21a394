"""A browser before the console of a real platform."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mosaic.client import Login
from mosaic.testing.ports import free_port
from tests.stack.embedded import Machine
from tests.stack.reports import pytest_runtest_makereport
from tests.stack.waiting import until

__all__ = ["pytest_runtest_makereport"]

#: Root may not use the sandbox, and the others keep it from talking to its maker.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_PATIENCE_MS = 30_000


@dataclass
class Desk:
    """A person's machine with a platform, and a script of theirs beside the browser."""

    machine: Machine
    url: str

    def link(self) -> str:
        """Return the newest link that `mosaic up` printed."""
        found = until(lambda: re.findall(r"http://\S+/sign-in\?code=\S+", self._printed()), what="the link")
        return str(found[-1])

    def submit(self, **asked: object) -> str:
        """Submit a drill by REST and return its id."""
        body = {"worker": "drill", "seed": 3, "resources": {"cpus": 0.1, "memory_mb": 16}, **asked}
        token = Login.running(self.machine.home).token
        got = httpx2.post(f"{self.url}/api/v1/runs", json=body, headers={"Authorization": f"Bearer {token}"})
        assert 201 == got.status_code, got.text
        return str(got.json()[0]["run_id"])

    def another_link(self) -> str:
        """Return what `mosaic console` prints."""
        return self.machine.type("console").output.strip()

    def _printed(self) -> str:
        return self.machine.platform.log.read_text()


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    address = f"127.0.0.1:{free_port()}"
    machine = Machine(tmp_path_factory.mktemp("machine"), "--console", address)
    machine.up()
    yield Desk(machine, f"http://{address}")
    machine.platform.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path, "there is no chromium; tests/browser/chromium.sh says what to do"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(desk: Desk, browser: Browser) -> Iterator[Page]:
    """A signed-in page; a script that fails, or that the policy stops, fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(desk.another_link())
    page.wait_for_url("**/runs")
    yield page
    context.close()
    assert [] == faults

"""Where a client finds the platform."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mosaic.client import Login
from mosaic.errors import BadInput, ServiceUnavailable

HERE = Login("http://127.0.0.1:7420", "of-this-machine")
NAMED = {"MOSAIC_URL": "https://fleet.example.org/", "MOSAIC_TOKEN": "t"}


def test_what_the_environment_names_comes_first(tmp_path: Path) -> None:
    HERE.tell(tmp_path)

    assert Login("https://fleet.example.org", "t") == Login.find(NAMED, tmp_path)


def test_a_token_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")

    found = Login.find({"MOSAIC_URL": "https://x", "MOSAIC_TOKEN_FILE": str(tmp_path / "token")}, tmp_path)

    assert "secret" == found.token
    with pytest.raises(BadInput, match="MOSAIC_TOKEN_FILE"):
        Login.find({"MOSAIC_TOKEN_FILE": str(tmp_path / "none")}, tmp_path)


def test_what_a_login_kept_comes_before_the_platform_of_this_machine(tmp_path: Path) -> None:
    HERE.tell(tmp_path)
    assert HERE == Login.find({}, tmp_path)
    (tmp_path / "login.json").write_text('{"url": "https://x", "token": "kept"}')

    assert Login("https://x", "kept") == Login.find({}, tmp_path)
    assert Login("https://x", "other") == Login.find({"MOSAIC_TOKEN": "other"}, tmp_path)
    (tmp_path / "login.json").write_text("nonsense")
    with pytest.raises(BadInput, match=r"login\.json"):
        Login.find({}, tmp_path)


@pytest.mark.parametrize("url", ["fleet.example.org", "ftp://x", ":7420"])
def test_what_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadInput, match="MOSAIC_URL"):
        Login.find({"MOSAIC_URL": url}, tmp_path)


def test_nothing_anywhere_says_how_to_start_a_platform(tmp_path: Path) -> None:
    with pytest.raises(ServiceUnavailable, match="mosaic up"):
        Login.find({}, tmp_path)


def test_the_token_is_the_owners_alone_whatever_lay_there_before(tmp_path: Path) -> None:
    token, elsewhere = tmp_path / "console.token", tmp_path / "elsewhere"
    elsewhere.touch()
    token.symlink_to(elsewhere)
    before = os.umask(0)
    try:
        HERE.tell(tmp_path)
    finally:
        os.umask(before)

    assert 0o600 == stat.S_IMODE(token.lstat().st_mode)
    assert "" == elsewhere.read_text()
    assert HERE == Login.running(tmp_path)
    Login.forget(tmp_path)
    with pytest.raises(ServiceUnavailable):
        Login.running(tmp_path)


def test_a_token_is_not_shown() -> None:
    assert "of-this-machine" not in repr(HERE)

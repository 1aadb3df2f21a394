"""Where the state directory is hidden from attempts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from mosaic_embedded.home import walls_of


@pytest.mark.parametrize(
    ("home", "setting", "is_hidden"),
    [
        ("/srv/mosaic", "", True),
        ("/srv/mosaic", "false", False),
        ("/home/ada/.mosaic", "", False),
        ("/home/ada/.mosaic", "true", True),
        (f"{tempfile.gettempdir()}/mosaic", "", False),
    ],
)
def test_it_is_hidden_where_nobody_makes_files_beside_it(home: str, setting: str, is_hidden: bool) -> None:
    walls = walls_of(Path(home), {"HOME": "/home/ada", "MOSAIC_AGENT_HIDE_FILES": setting})

    assert is_hidden is bool(walls.hidden)

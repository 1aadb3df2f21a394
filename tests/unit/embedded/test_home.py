"""What a state directory keeps for the platform alone."""

from __future__ import annotations

import stat
from pathlib import Path

from mosaic_embedded.home import event_key


def test_the_event_key_is_made_once_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    made = event_key(tmp_path)

    assert 64 == len(made)
    assert made == event_key(tmp_path)
    assert 0o600 == stat.S_IMODE((tmp_path / "event.key").stat().st_mode)

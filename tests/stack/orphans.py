"""Processes of workers that nobody looks after any more."""

from __future__ import annotations

from pathlib import Path


def worker_processes(folder: Path) -> dict[int, str]:
    """Return the command of every living process whose run directory lies in *folder*, by process id."""
    wanted = f"MOSAIC_RUN_DIR={folder}".encode()
    found: dict[int, str] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and wanted in _read(process / "environ"):
            # A zombie has no command line and harms nobody.
            command = _read(process / "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            if command:
                found[int(process.name)] = command
    return found


def parent_of(process: int) -> int:
    """Return the parent's process id; 0 when the process is gone."""
    fields = _status(process)
    return int(fields[1]) if fields else 0


def is_stopped(process: int) -> bool:
    """Tell whether the process was stopped in place."""
    return _status(process)[:1] == [b"T"]


def _status(process: int) -> list[bytes]:
    # The name of a program may hold spaces and brackets: what follows the last bracket is regular.
    return _read(Path(f"/proc/{process}/stat")).rpartition(b")")[2].split()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""

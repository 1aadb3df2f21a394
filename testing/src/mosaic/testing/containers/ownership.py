"""Whose a container is, and removing what nobody owns any more.

Every container, network and volume of a stack is labelled with the process that made it. A process that is killed
removes nothing; the next stack on the same machine does it for it. Nothing that carries no label of ours, or that
belongs to a living process or to another machine, is ever touched.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STACK_LABEL = "org.mosaic.stack"
OWNER_LABEL = "org.mosaic.stack.owner"
PART_LABEL = "org.mosaic.stack.part"


@dataclass(frozen=True)
class Owner:
    """A process: its number means something only in its own namespace, and only until it is used again."""

    namespace: str
    pid: int
    started: str

    @classmethod
    def current(cls) -> Owner:
        """Return this process."""
        return cls(_namespace(), os.getpid(), _started(os.getpid()))

    @classmethod
    def read(cls, label: str) -> Owner | None:
        """Return the owner that `__str__` wrote; None for anything else."""
        namespace, _, rest = label.partition("|")
        pid, _, started = rest.partition("|")
        return cls(namespace, int(pid), started) if namespace and pid.isdigit() else None

    def __str__(self) -> str:
        return f"{self.namespace}|{self.pid}|{self.started}"

    def is_gone(self) -> bool:
        """Tell whether the process is known to have ended; False where that cannot be known from here."""
        return self.namespace == _namespace() and not self._is_alive()

    def _is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return _started(self.pid) == self.started


def labels_of(stack_id: str, part: str = "") -> dict[str, str]:
    """Return the labels for what this process makes."""
    return {STACK_LABEL: stack_id, OWNER_LABEL: str(Owner.current()), PART_LABEL: part}


def remove_stale(client: Any) -> list[str]:
    """Remove what dead processes left on the engine of *client* and return the names of it."""
    return _remove(client, {"label": OWNER_LABEL}, _is_stale)


def remove_stack(client: Any, stack_id: str) -> list[str]:
    """Remove everything of one stack and return the names of it."""
    return _remove(client, {"label": f"{STACK_LABEL}={stack_id}"}, lambda _labels: True)


def _is_stale(labels: Mapping[str, str]) -> bool:
    owner = Owner.read(labels.get(OWNER_LABEL, ""))
    return owner is not None and owner.is_gone()


def _remove(client: Any, filters: Mapping[str, str], wanted: Callable[[Mapping[str, str]], bool]) -> list[str]:
    from docker.errors import APIError

    removed: list[str] = []

    def each(found: Iterable[Any], labels: Callable[[Any], Mapping[str, str] | None], **how: bool) -> None:
        for one in found:
            if wanted(labels(one) or {}):
                # Another process may be sweeping as well: whoever comes second finds it gone.
                with suppress(APIError):
                    one.remove(**how)
                    removed.append(one.name)

    containers = client.containers.list(all=True, filters=filters, ignore_removed=True)
    each(containers, lambda container: container.labels, force=True, v=True)
    each(client.networks.list(filters=filters), lambda network: network.attrs.get("Labels"))
    each(client.volumes.list(filters=filters), lambda volume: volume.attrs.get("Labels"), force=True)
    return removed


def _namespace() -> str:
    """Return what tells this machine, or this container, from others that use the same engine."""
    try:
        return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str:
    try:
        # The name of a program may hold spaces and brackets: what follows the last bracket is regular.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""

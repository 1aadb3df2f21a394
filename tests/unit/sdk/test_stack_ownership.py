"""What a killed test process left is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.testing.containers.ownership import OWNER_LABEL, STACK_LABEL, Owner, labels_of, remove_stack, remove_stale


@dataclass
class FakeThing:
    """A container, a network or a volume."""

    name: str
    labels: Mapping[str, str]
    shelf: FakeShelf

    @property
    def attrs(self) -> dict[str, Any]:
        return {"Labels": self.labels}

    def remove(self, **_how: bool) -> None:
        self.shelf.things.remove(self)


@dataclass
class FakeShelf:
    """All things of one kind, found by a label as the engine finds them."""

    things: list[FakeThing] = field(default_factory=list)

    def put(self, name: str, labels: Mapping[str, str]) -> None:
        self.things.append(FakeThing(name, labels, self))

    def list(self, *, filters: Mapping[str, str], **_how: bool) -> list[FakeThing]:
        key, _, value = filters["label"].partition("=")
        return [thing for thing in self.things if key in thing.labels and (not value or thing.labels[key] == value)]

    def names(self) -> list[str]:
        return [thing.name for thing in self.things]


@dataclass
class FakeEngine:
    containers: FakeShelf = field(default_factory=FakeShelf)
    networks: FakeShelf = field(default_factory=FakeShelf)
    volumes: FakeShelf = field(default_factory=FakeShelf)


def a_dead_owner() -> Owner:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return replace(Owner.current(), pid=process.pid)


def labels(owner: Owner | str) -> dict[str, str]:
    return {STACK_LABEL: "abc", OWNER_LABEL: str(owner)}


def test_this_process_lives() -> None:
    assert not Owner.current().is_gone()


def test_an_ended_process_is_gone() -> None:
    assert a_dead_owner().is_gone()


def test_a_number_that_was_used_again_is_another_process() -> None:
    assert replace(Owner.current(), started="1").is_gone()


def test_nothing_is_known_about_processes_of_other_machines() -> None:
    assert not replace(a_dead_owner(), namespace="elsewhere").is_gone()


def test_an_owner_is_read_as_it_was_written() -> None:
    assert Owner.current() == Owner.read(str(Owner.current()))
    assert os.getpid() == Owner.current().pid


def test_a_label_of_somebody_else_is_no_owner() -> None:
    assert (None, None) == (Owner.read("me"), Owner.read("host|many|1"))


def test_what_a_dead_process_made_is_removed_and_all_else_stays() -> None:
    engine, dead = FakeEngine(), a_dead_owner()
    for shelf in (engine.containers, engine.networks, engine.volumes):
        shelf.put("stale", labels(dead))
        shelf.put("in use", labels(Owner.current()))
        shelf.put("of another machine", labels(replace(dead, namespace="elsewhere")))
        shelf.put("unreadable", labels("?"))
        shelf.put("of others", {})

    removed = remove_stale(engine)

    assert ["stale"] * 3 == removed
    for shelf in (engine.containers, engine.networks, engine.volumes):
        assert ["in use", "of another machine", "unreadable", "of others"] == shelf.names()


def test_closing_a_stack_removes_only_what_is_its_own() -> None:
    engine = FakeEngine()
    engine.containers.put("mine", labels_of("one", "redis"))
    engine.containers.put("neighbour", labels_of("two", "redis"))

    remove_stack(engine, "one")

    assert ["neighbour"] == engine.containers.names()

"""People whose every change is written down in the transaction that makes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from mosaic.model.audit import AuditEntry
from mosaic_registry.ports import People, PeopleDraft, PeopleView


class RecordedPeople:
    """The store of people, for one request: what it changes is told as *asked*."""

    def __init__(self, people: People, asked: AuditEntry) -> None:
        self._people = people
        self._asked = asked

    def read(self) -> AbstractContextManager[PeopleView]:
        """Open a transaction that only reads."""
        return self._people.read()

    @contextmanager
    def change(self) -> Iterator[PeopleDraft]:
        """Open a transaction whose end writes down what was asked."""
        with self._people.change() as draft:
            yield draft
            draft.audit(self._asked)

    def touch(self, credential_id: str, at: datetime) -> None:
        """Note when a credential was used."""
        self._people.touch(credential_id, at)

    def forget(self, *, expired_before: datetime, failed_before: datetime) -> None:
        """Remove what is of no use any more."""
        self._people.forget(expired_before=expired_before, failed_before=failed_before)

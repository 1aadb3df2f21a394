"""The registry's people, in memory; passwords that cost nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime

from mosaic.ids import TeamName, UserName
from mosaic.model.audit import AuditEntry
from mosaic_registry.domain.credential import KeptCredential
from mosaic_registry.domain.guessing import Failures
from mosaic_registry.domain.people import Account


class InMemoryPeopleDraft:
    """Works on copies, so that an exception leaves everybody as they were."""

    def __init__(self, before: InMemoryPeopleDraft | None = None) -> None:
        self.account_by_name: dict[UserName, Account] = copy(before.account_by_name) if before else {}
        self.credential_by_id: dict[str, KeptCredential] = copy(before.credential_by_id) if before else {}
        self.identities: dict[tuple[str, str], UserName] = copy(before.identities) if before else {}
        self.failures_by_key: dict[str, Failures] = copy(before.failures_by_key) if before else {}

    def account(self, name: UserName) -> Account | None:
        return self.account_by_name.get(name)

    def accounts(self, team: TeamName | None = None) -> Sequence[Account]:
        everybody = [self.account_by_name[name] for name in sorted(self.account_by_name)]
        return [one for one in everybody if team is None or team in one.teams or team == one.owner_team]

    def credential(self, credential_id: str) -> KeptCredential | None:
        return self.credential_by_id.get(credential_id)

    def credentials(self, user: UserName) -> Sequence[KeptCredential]:
        theirs = [one for one in self.credential_by_id.values() if one.user == user]
        return sorted(theirs, key=lambda one: (one.created_at, one.credential_id))

    def identity(self, issuer: str, subject: str) -> UserName | None:
        return self.identities.get((issuer, subject))

    def failures(self, key: str) -> Failures | None:
        return self.failures_by_key.get(key)

    def put_account(self, account: Account) -> None:
        self.account_by_name[account.name] = account

    def put_credential(self, credential: KeptCredential) -> None:
        self.credential_by_id[credential.credential_id] = credential

    def remove_credential(self, credential_id: str) -> None:
        self.credential_by_id.pop(credential_id, None)

    def put_identity(self, issuer: str, subject: str, user: UserName) -> None:
        self.identities[issuer, subject] = user

    def audit(self, entry: AuditEntry) -> None: ...

    def put_failures(self, failures: Failures) -> None:
        self.failures_by_key[failures.key] = failures

    def forget_failures(self, key: str) -> None:
        self.failures_by_key.pop(key, None)


class InMemoryPeople:
    """People for tests that are not about the database."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now = InMemoryPeopleDraft()

    @contextmanager
    def read(self) -> Iterator[InMemoryPeopleDraft]:
        yield self._now

    @contextmanager
    def change(self) -> Iterator[InMemoryPeopleDraft]:
        with self._lock:
            draft = InMemoryPeopleDraft(self._now)
            yield draft
            self._now = draft

    def touch(self, credential_id: str, at: datetime) -> None:
        with self.change() as draft:
            kept = draft.credential(credential_id)
            if kept is not None:
                draft.put_credential(replace(kept, last_used_at=at))

    def forget(self, *, expired_before: datetime, failed_before: datetime) -> None:
        with self.change() as draft:
            for kept in list(draft.credential_by_id.values()):
                if kept.expires_at < expired_before:
                    draft.remove_credential(kept.credential_id)
            for failures in list(draft.failures_by_key.values()):
                if failures.last_at < failed_before:
                    draft.forget_failures(failures.key)


class PlainPasswords:
    """Keeps a password as it is."""

    def hash(self, password: str) -> str:
        return f"plain:{password}"

    def is_right(self, password: str, kept: str) -> bool:
        return kept == f"plain:{password}"

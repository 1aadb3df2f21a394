"""Wake followers when a run has news: in this process, or in every replica through Redis."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import redis
import structlog

log = structlog.get_logger(__name__)

_CHANNEL = "mosaic:live"
_RECONNECT_S = 1.0
_LOOK_UP_S = 0.5


class _Ear:
    """The subscription of one follower."""

    def __init__(self) -> None:
        self._news = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        heard = self._news.wait(timeout_s)
        self._news.clear()
        return heard

    def wake(self) -> None:
        self._news.set()


class InProcessFeed:
    """A `LiveFeed` for one process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._ears: dict[str, set[_Ear]] = {}

    def publish(self, run_ids: Collection[str]) -> None:
        """Wake everybody who follows one of *run_ids*."""
        with self._guard:
            ears = [ear for run_id in run_ids for ear in self._ears.get(run_id, ())]
        for ear in ears:
            ear.wake()

    @contextmanager
    def subscribe(self, run_id: str) -> Iterator[_Ear]:
        """Listen for the news of a run."""
        ear = _Ear()
        with self._guard:
            self._ears.setdefault(run_id, set()).add(ear)
        try:
            yield ear
        finally:
            self._forget(run_id, ear)

    def close(self) -> None:
        """Wake everybody a last time."""
        self.publish(list(self._ears))

    def _forget(self, run_id: str, ear: _Ear) -> None:
        with self._guard:
            self._ears[run_id].discard(ear)
            if not self._ears[run_id]:
                del self._ears[run_id]


class RedisFeed:
    """A `LiveFeed` over Redis: a follower of one replica hears what another one stored.

    Redis carries hints only. While it is away, followers of the same process are still woken, and the
    others find the news at their next look.
    """

    def __init__(self, url: str) -> None:
        self._local = InProcessFeed()
        self._client = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
        self._url = url
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="live feed", daemon=True)
        self._thread.start()

    def publish(self, run_ids: Collection[str]) -> None:
        """Wake everybody who follows one of *run_ids*, here and elsewhere."""
        self._local.publish(run_ids)
        try:
            self._client.publish(_CHANNEL, " ".join(run_ids))
        except redis.RedisError as error:
            log.warning("followers of other replicas hear of news later", reason=str(error))

    @contextmanager
    def subscribe(self, run_id: str) -> Iterator[_Ear]:
        """Listen for the news of a run."""
        with self._local.subscribe(run_id) as ear:
            yield ear

    def close(self) -> None:
        """End the connection; those who wait are woken."""
        self._ending.set()
        self._thread.join()
        self._client.close()
        self._local.close()

    def _listen(self) -> None:
        while not self._ending.is_set():
            try:
                self._listen_once()
            except redis.RedisError:
                self._ending.wait(_RECONNECT_S)
            except Exception:
                log.exception("news of other replicas come later; listening anew")
                self._ending.wait(_RECONNECT_S)

    def _listen_once(self) -> None:
        client = redis.Redis.from_url(self._url, socket_connect_timeout=2)
        try:
            with client.pubsub(ignore_subscribe_messages=True) as pubsub:  # type: ignore[no-untyped-call]
                pubsub.subscribe(_CHANNEL)
                while not self._ending.is_set():
                    message = pubsub.get_message(timeout=_LOOK_UP_S)
                    if message is not None:
                        # Anybody may write to the channel; what is no name of a run wakes nobody.
                        self._local.publish(message["data"].decode(errors="replace").split(" "))
        finally:
            client.close()

"""RabbitMQ and Redis behind TLS: the certificate must be of a CA we know and name the host."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import redis

from mosaic.agent.control.celery_listener import CeleryDispatchListener
from mosaic.errors import BrokerUnavailable
from mosaic.ids import RunId
from mosaic.messaging.connection import declare_once
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import EVENTS, event_topology
from mosaic_scheduler.adapters.celery_dispatcher import CeleryDispatcher, producer_app
from mosaic_telemetry.adapters.live_feed import RedisFeed
from tests.fakes.agent import eventually
from tests.servers.tls import behind_tls

pytestmark = pytest.mark.integration

QUEUE = "dispatch.toy.agent-1"
EVENT = Message(EVENTS, "shard.0", b"event")


@pytest.fixture
def secured(rabbitmq_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker with a certificate of a CA of our own, which the environment names."""
    with behind_tls(rabbitmq_url, tmp_path) as (url, ca):
        monkeypatch.setenv("SSL_CERT_FILE", str(ca))
        yield url


@contextmanager
def listening(url: str) -> Iterator[tuple[CeleryDispatchListener, list[str]]]:
    listener, heard = CeleryDispatchListener(url), list[str]()
    listener.listen(QUEUE, lambda run_id, _attempt: heard.append(run_id))
    listener.start(ready_timeout_s=3)
    try:
        yield listener, heard
    finally:
        listener.stop()


def test_events_and_dispatches_go_through_tls(secured: str) -> None:
    declare_once(secured, event_topology(1))

    with closing(Publisher(secured)) as publisher, listening(secured) as (_, heard):
        CeleryDispatcher(producer_app(secured)).dispatch(QUEUE, RunId("run-1"), 1)

        assert [0] == publisher.publish([EVENT])
        eventually(lambda: heard)


@pytest.fixture(params=["unknown CA", "another host"])
def impostor(
    request: pytest.FixtureRequest, rabbitmq_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """What answers in the broker's place, with a certificate that does not prove it."""
    names = "localhost" if request.param == "unknown CA" else "elsewhere.example"
    with behind_tls(rabbitmq_url, tmp_path, names=names) as (url, ca):
        if request.param == "another host":
            monkeypatch.setenv("SSL_CERT_FILE", str(ca))
        yield url


def test_no_event_is_given_to_an_impostor(impostor: str) -> None:
    with closing(Publisher(impostor)) as publisher, pytest.raises(BrokerUnavailable, match=r"SSL|certificate"):
        publisher.publish([EVENT], timeout_s=3)


def test_no_dispatch_is_taken_from_an_impostor_or_given_to_one(impostor: str) -> None:
    with listening(impostor) as (listener, _):
        assert listener.fault is not None
    with pytest.raises(BrokerUnavailable):
        CeleryDispatcher(producer_app(impostor)).dispatch(QUEUE, RunId("run-1"), 1)


def test_news_of_runs_go_through_tls(redis_url: str, tmp_path: Path) -> None:
    with behind_tls(redis_url, tmp_path) as (url, ca):
        one, other = (RedisFeed(f"{url}?ssl_ca_certs={ca}") for _ in range(2))
        try:
            with other.subscribe("run-1") as ear:
                eventually(lambda: one.publish({"run-1"}) or ear.wait(0.2))
        finally:
            one.close()
            other.close()


@pytest.mark.parametrize("names", ["localhost", "elsewhere.example"])
def test_news_are_not_given_to_an_impostor(redis_url: str, tmp_path: Path, names: str) -> None:
    with behind_tls(redis_url, tmp_path, names=names) as (url, ca):
        address = url if names == "localhost" else f"{url}?ssl_ca_certs={ca}"
        with redis.Redis.from_url(address) as client, pytest.raises((redis.ConnectionError, ssl.SSLError)):
            client.publish("mosaic:live", "run-1")

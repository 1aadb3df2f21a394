"""What each user of RabbitMQ and Redis may do, with the rights that a stack is made with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pika
import pytest
import redis
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from compose.make_secrets import AGENTS, rights, secret_files
from mosaic.agent.control.celery_listener import CeleryDispatchListener, dispatch_queue
from mosaic.ids import RunId
from mosaic.messaging.connection import declare_once
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import DEAD_DISPATCHES, DEAD_EVENTS, EVENTS, event_topology
from mosaic_scheduler.adapters.celery_dispatcher import CeleryDispatcher, producer_app
from mosaic_telemetry.adapters.live_feed import RedisFeed
from tests.fakes.agent import eventually
from tests.servers.choice import ServerSet
from tests.servers.fresh import fresh_user
from tests.servers.handle import Server

pytestmark = pytest.mark.integration

OWN, OTHER = "dispatch.toy.agent-1", "dispatch.toy.agent-2"
SHARD = f"{EVENTS}.0"


@dataclass(frozen=True)
class Users:
    """The address of one virtual host for each role, and for who owns it."""

    admin: str
    scheduler: str
    telemetry: str
    agent: str
    neighbour: str


@pytest.fixture
def users(shared_servers: ServerSet, rabbitmq_url: str) -> Iterator[Users]:
    """A virtual host in which telemetry has declared its queues, and two agents theirs."""
    with ExitStack() as made:

        def user(role: str, queue: str = "") -> str:
            allowed = rights(role, queue.replace(".", r"\."))
            return made.enter_context(fresh_user(shared_servers.rabbitmq, rabbitmq_url, allowed))

        users = Users(rabbitmq_url, user("scheduler"), user("telemetry"), user("agent", OWN), user("agent", OTHER))
        declare_once(users.telemetry, event_topology(2))
        for url, queue in ((users.agent, OWN), (users.neighbour, OTHER)):
            with channel(url) as broker:
                broker.queue_declare(queue, durable=True, arguments=dispatch_queue(queue).queue_arguments)
        yield users


@contextmanager
def channel(url: str) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        connection.close()


def test_each_role_can_do_its_work(users: Users) -> None:
    listener, heard = CeleryDispatchListener(users.agent), list[tuple[str, int]]()
    listener.listen(OWN, lambda run_id, attempt: heard.append((run_id, attempt)))
    listener.start()
    publishers = [Publisher(url) for url in (users.agent, users.scheduler)]
    try:
        CeleryDispatcher(producer_app(users.scheduler)).dispatch(OWN, RunId("run-1"), 1)
        sent = [publisher.publish([Message(EVENTS, "shard.0", b"event")]) for publisher in publishers]
        eventually(lambda: heard)
    finally:
        listener.stop()
        for publisher in publishers:
            publisher.close()

    assert ([[0], [0]], [("run-1", 1)]) == (sent, heard)
    with channel(users.telemetry) as broker:
        assert b"event" == next(broker.consume(SHARD, auto_ack=True, inactivity_timeout=10))[2]
        broker.basic_publish(DEAD_EVENTS, "shard.0", b"bad", mandatory=True)
    with channel(users.admin) as broker:
        broker.queue_declare(DEAD_DISPATCHES, passive=True)


def dead_letter_everywhere(broker: BlockingChannel) -> None:
    """Make the own queue anew, so that what it refuses goes to the queue of one's choice."""
    broker.queue_delete(OWN)
    chosen = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": OTHER}
    broker.queue_declare(OWN, durable=True, arguments=chosen)


Deed = Callable[[BlockingChannel], object]

READ_EVENTS: Deed = lambda broker: broker.basic_get(SHARD)  # noqa: E731
DEEDS: dict[str, dict[str, Deed]] = {
    "agent": {
        "read events": READ_EVENTS,
        "read the dead": lambda broker: broker.basic_get(DEAD_EVENTS),
        "tap events": lambda broker: broker.queue_bind(OWN, EVENTS, "#"),
        "write the dead": lambda broker: broker.basic_publish(DEAD_EVENTS, "x", b"x"),
        "delete events": lambda broker: broker.queue_delete(SHARD),
        "purge events": lambda broker: broker.queue_purge(SHARD),
        "delete the exchange": lambda broker: broker.exchange_delete(EVENTS),
        "read another's dispatches": lambda broker: broker.basic_get(OTHER),
        "dispatch to another": lambda broker: broker.basic_publish("", OTHER, b"x"),
        "dispatch to itself": lambda broker: broker.basic_publish("", OWN, b"x"),
        "delete another's queue": lambda broker: broker.queue_delete(OTHER),
        "declare a queue": lambda broker: broker.queue_declare("mine", durable=True),
        "declare a longer name": lambda broker: broker.queue_declare(OWN + "0", durable=True),
        "let the broker dispatch for it": lambda broker: dead_letter_everywhere(broker),
    },
    "scheduler": {
        "read events": READ_EVENTS,
        "read dispatches": lambda broker: broker.basic_get(OWN),
        "delete events": lambda broker: broker.queue_delete(SHARD),
        "delete an agent's queue": lambda broker: broker.queue_delete(OWN),
    },
    "telemetry": {
        "read dispatches": lambda broker: broker.basic_get(OWN),
        "dispatch": lambda broker: broker.basic_publish("", OWN, b"x"),
        "delete an agent's queue": lambda broker: broker.queue_delete(OWN),
    },
}


@pytest.mark.parametrize(("role", "deed"), [(role, deed) for role, deeds in DEEDS.items() for deed in deeds])
def test_no_role_can_do_what_is_anothers(users: Users, role: str, deed: str) -> None:
    with (
        channel(getattr(users, role)) as broker,
        pytest.raises(ChannelClosedByBroker, match="ACCESS_REFUSED"),
    ):
        DEEDS[role][deed](broker)


def test_a_stack_is_made_with_these_rights_and_nobody_is_an_administrator() -> None:
    made = json.loads(secret_files()["rabbitmq/definitions.json"])
    granted = {one["user"]: {name: one[name] for name in ("configure", "write", "read")} for one in made["permissions"]}

    assert [[]] * len(granted) == [user["tags"] for user in made["users"]]
    assert granted == {
        "scheduler": rights("scheduler"),
        "telemetry": rights("telemetry"),
        **{f"agent-{library}": rights("agent", rf"dispatch\.{library}\..+") for library in AGENTS},
    }


def test_the_user_of_redis_passes_on_news_and_can_do_nothing_else(redis_server: Server) -> None:
    files = secret_files()
    password = files["telemetry/redis-url"].partition("telemetry:")[2].partition("@")[0]
    own = redis_server.url.replace("redis://", f"redis://telemetry:{password}@")
    with redis.Redis.from_url(redis_server.url) as admin:
        words = files["redis/redis.conf"].splitlines()[1].split()
        assert words[:2] == ["user", "telemetry"]
        admin.execute_command("ACL", "SETUSER", *words[1:])
        feed, other = RedisFeed(own), RedisFeed(own)
        try:
            with other.subscribe("run-1") as ear:
                eventually(lambda: feed.publish({"run-1"}) or ear.wait(0.2))
        finally:
            feed.close()
            other.close()
        with redis.Redis.from_url(own) as telemetry:
            for deed in (telemetry.dbsize, telemetry.flushall, telemetry.acl_list, lambda: telemetry.set("a", "b")):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    deed()
            with pytest.raises(redis.exceptions.NoPermissionError):
                telemetry.publish("other", "x")

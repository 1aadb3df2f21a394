from __future__ import annotations

import time

import pika
import psycopg
import pytest
import redis

from tests.servers.answers import plain_postgres_url
from tests.servers.choice import NamedServer, ServerSet
from tests.servers.fresh import fresh_vhost
from tests.servers.handle import Server, ServerMissing


def declare(url: str, queue: str, *, passive: bool = False) -> None:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        connection.channel().queue_declare(queue, passive=passive, durable=True, arguments={"x-queue-type": "quorum"})
    finally:
        if connection.is_open:
            connection.close()


def test_a_test_gets_a_broker_where_it_can_declare_quorum_queues(rabbitmq_url: str) -> None:
    declare(rabbitmq_url, "mine")

    declare(rabbitmq_url, "mine", passive=True)


def test_two_virtual_hosts_do_not_see_each_others_queues(rabbitmq_url: str, shared_servers: ServerSet) -> None:
    declare(rabbitmq_url, "mine")

    with fresh_vhost(shared_servers.rabbitmq) as other, pytest.raises(pika.exceptions.ChannelClosedByBroker):
        declare(other, "mine", passive=True)


def test_a_test_gets_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(plain_postgres_url(postgres_url)) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()

    assert tables == (0,)


def test_a_test_gets_an_empty_redis(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


def test_what_a_quorum_queue_confirmed_survives_the_death_of_the_broker(rabbitmq_server: Server) -> None:
    """RabbitMQ 3.10 forgets a queue younger than half a second, so this one is given a second to settle."""
    connection = pika.BlockingConnection(pika.URLParameters(rabbitmq_server.url))
    channel = connection.channel()
    channel.queue_declare("survivors", durable=True, arguments={"x-queue-type": "quorum"})
    time.sleep(1)
    channel.confirm_delivery()
    channel.basic_publish("", "survivors", b"one", pika.BasicProperties(delivery_mode=2))
    connection.close()

    rabbitmq_server.kill()
    rabbitmq_server.start()

    connection = pika.BlockingConnection(pika.URLParameters(rabbitmq_server.url))
    _, _, body = connection.channel().basic_get("survivors", auto_ack=True)
    connection.close()
    assert body == b"one"


def test_what_was_committed_survives_the_death_of_the_database(postgres_server: Server) -> None:
    with psycopg.connect(plain_postgres_url(postgres_server.url)) as connection:
        connection.execute("CREATE TABLE survivors AS SELECT 1 AS number")

    postgres_server.kill()
    postgres_server.start()

    with psycopg.connect(plain_postgres_url(postgres_server.url)) as connection:
        assert connection.execute("SELECT number FROM survivors").fetchone() == (1,)


def test_a_stopped_redis_refuses_and_a_started_one_answers_at_the_same_address(redis_server: Server) -> None:
    redis_server.stop()
    with redis.Redis.from_url(redis_server.url) as client, pytest.raises(redis.ConnectionError):
        client.ping()

    redis_server.start()

    with redis.Redis.from_url(redis_server.url) as client:
        assert client.ping()


def test_a_named_server_that_does_not_answer_is_a_failure_that_names_the_variable() -> None:
    named = NamedServer("postgres", "postgresql://nobody@127.0.0.1:1/none")

    with pytest.raises(ServerMissing, match="MOSAIC_TEST_POSTGRES_URL does not answer"):
        named.start()

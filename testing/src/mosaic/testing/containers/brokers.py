"""What the platform stands on: RabbitMQ, Redis and PostgreSQL, as their official images run without root."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from mosaic.model.people import CredentialKind, new_text
from mosaic.testing.containers.answers import postgres_answers, rabbitmq_answers, redis_answers
from mosaic.testing.containers.recipe import Recipe

AMQP_PORT = 5672
MANAGEMENT_PORT = 15672
REDIS_PORT = 6379
POSTGRES_PORT = 5432

USER = "mosaic"

#: The user of all three official images.
_UID = "999:999"
_OWN = "uid=999,gid=999,mode=0700"
#: Erlang's schedulers spin while they wait; on a machine that trains beside it that costs more than it saves.
_CALM = "+sbwt none +sbwtdcpu none +sbwtdio none"


@dataclass(frozen=True)
class Passwords:
    """New ones for every stack, so that nothing else finds its way in by chance."""

    rabbitmq: str = field(default_factory=lambda: secrets.token_hex(12))
    redis: str = field(default_factory=lambda: secrets.token_hex(12))
    postgres: str = field(default_factory=lambda: secrets.token_hex(12))
    event_key: str = field(default_factory=lambda: secrets.token_hex(32))
    #: Whoever shows it at the console is an admin.
    admin_token: str = field(default_factory=lambda: new_text(CredentialKind.TOKEN))


def rabbitmq(image: str, passwords: Passwords) -> Recipe:
    """Return the message broker; its queues outlive the container's processes."""
    return Recipe(
        name="rabbitmq",
        image=image,
        answers_on=AMQP_PORT,
        answers=rabbitmq_answers,
        ports=(MANAGEMENT_PORT,),
        environment={
            "RABBITMQ_DEFAULT_USER": USER,
            "RABBITMQ_DEFAULT_PASS": passwords.rabbitmq,
            "RABBITMQ_LOGS": "-",
            # The node's name, hence the name of its data, must be the same after a restart.
            "RABBITMQ_NODENAME": "rabbit@rabbitmq",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _CALM,
        },
        volumes={"rabbitmq": "/var/lib/rabbitmq"},
        # Some entry points write what the environment says into the first; 3.10 opens a file in the second.
        tmpfs={"/tmp": "mode=1777", "/etc/rabbitmq/conf.d": _OWN, "/var/log/rabbitmq": _OWN},
        user=_UID,
    )


def redis(image: str, passwords: Passwords) -> Recipe:
    """Return the live values; they are gone with the container's processes, as they may be."""
    return Recipe(
        name="redis",
        image=image,
        answers_on=REDIS_PORT,
        answers=redis_answers,
        command=("redis-server", "--save", "", "--appendonly", "no", "--requirepass", passwords.redis),
        volumes={"redis": "/data"},
        user=_UID,
    )


def postgres(image: str, passwords: Passwords) -> Recipe:
    """Return the database server; what is committed outlives the container, not a fall of the machine."""
    return Recipe(
        name="postgres",
        image=image,
        answers_on=POSTGRES_PORT,
        answers=postgres_answers,
        environment={"POSTGRES_USER": USER, "POSTGRES_PASSWORD": passwords.postgres, "POSTGRES_DB": USER},
        command=("postgres", "-c", "fsync=off", "-c", "max_connections=200"),
        volumes={"postgres": "/var/lib/postgresql/data"},
        tmpfs={"/tmp": "mode=1777", "/var/run/postgresql": _OWN},
        user=_UID,
    )

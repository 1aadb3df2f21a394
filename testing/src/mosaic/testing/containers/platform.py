"""The services and agents of a stack, each with the settings that join them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mosaic.errors import BadInput, did_you_mean
from mosaic.hosting.settings import SHARED, variable_of
from mosaic.testing.containers.answers import service_is_ready
from mosaic.testing.containers.brokers import AMQP_PORT, POSTGRES_PORT, REDIS_PORT, USER, Passwords
from mosaic.testing.containers.images import SERVICES
from mosaic.testing.containers.recipe import SECRETS, Recipe
from mosaic.wire.tls import TlsFiles

GRPC_PORTS = {"registry": 50051, "scheduler": 50052, "telemetry": 50053}
CONSOLE_PORT = 7420
HEALTH_PORTS = {"registry": 8081, "scheduler": 8082, "telemetry": 8083, "console": 8084}
AGENT_HEALTH_PORT = 8080

RUNS_ROOT = "/var/lib/mosaic/runs"
MANIFEST_ROOT = "/var/lib/mosaic/manifests"
AGENT_HOME = "/var/lib/mosaic/agent"

#: Where a part finds who it is, and whom to believe.
_IDENTITY = {
    "tls_ca_file": f"{SECRETS}/ca.pem",
    "tls_cert_file": f"{SECRETS}/identity.pem",
    "tls_key_file": f"{SECRETS}/identity.pem",
}

_PREFIXES = (*(f"MOSAIC_{name.upper()}_" for name in SERVICES), "MOSAIC_AGENT_", "MOSAIC_GPUS", *SHARED.values())


@dataclass(frozen=True)
class Addresses:
    """Where the parts of a stack find each other."""

    passwords: Passwords

    @property
    def broker_url(self) -> str:
        """The message broker."""
        return f"amqp://{USER}:{self.passwords.rabbitmq}@rabbitmq:{AMQP_PORT}/%2F"

    @property
    def redis_url(self) -> str:
        """The live values."""
        return f"redis://:{self.passwords.redis}@redis:{REDIS_PORT}/0"

    def database_url(self, service: str) -> str:
        """Return the database of *service*."""
        return f"postgresql://{USER}:{self.passwords.postgres}@postgres:{POSTGRES_PORT}/{service}"

    def grpc(self, service: str) -> str:
        """Return where *service* is called."""
        return f"{service}:{GRPC_PORTS[service]}"


def service(name: str, image: str, addresses: Addresses, settings: Mapping[str, str]) -> Recipe:
    """Return one of the services that keep something."""
    chosen = {"database_url": addresses.database_url(name)}
    if name == "registry":
        chosen["admin_token"] = addresses.passwords.admin_token
    else:
        chosen |= {"broker_url": addresses.broker_url, "event_key": addresses.passwords.event_key}
    if name == "scheduler":
        chosen["registry_address"] = addresses.grpc("registry")
    if name == "telemetry":
        chosen |= {"redis_url": addresses.redis_url, "manifest_root": MANIFEST_ROOT}
    return Recipe(
        name=name,
        image=image,
        answers_on=HEALTH_PORTS[name],
        answers=service_is_ready,
        ports=(GRPC_PORTS[name],),
        environment=_environment(f"MOSAIC_{name.upper()}", chosen, settings),
        volumes={"manifests": MANIFEST_ROOT} if name == "telemetry" else {},
    )


def console(image: str, addresses: Addresses, settings: Mapping[str, str]) -> Recipe:
    """Return the front door."""
    chosen = {
        **{f"{name}_address": addresses.grpc(name) for name in GRPC_PORTS},
        "http_address": f"0.0.0.0:{CONSOLE_PORT}",
        # The port is published on loopback alone.
        "insecure_listen": "true",
        "runs_root": RUNS_ROOT,
    }
    return Recipe(
        name="console",
        image=image,
        answers_on=HEALTH_PORTS["console"],
        answers=service_is_ready,
        ports=(CONSOLE_PORT,),
        environment=_environment("MOSAIC_CONSOLE", chosen, settings),
        volumes={"runs": RUNS_ROOT},
    )


def agent(name: str, worker: str, image: str, addresses: Addresses, settings: Mapping[str, str]) -> Recipe:
    """Return an agent of *worker*; all agents of a stack see the same run directories."""
    chosen = {
        "registry_address": addresses.grpc("registry"),
        "scheduler_address": addresses.grpc("scheduler"),
        "broker_url": addresses.broker_url,
        "home": AGENT_HOME,
        "runs_root": RUNS_ROOT,
        "worker": worker,
        "agent_id": name,
        "image": image,
    }
    recipe = Recipe(
        name=name,
        image=image,
        answers_on=AGENT_HEALTH_PORT,
        answers=service_is_ready,
        environment=_environment("MOSAIC_AGENT", chosen, settings),
        volumes={name: AGENT_HOME, "runs": RUNS_ROOT},
        # Frameworks hand data from process to process through shared memory.
        shared_memory_mb=1024,
    )
    gpus = settings.get("MOSAIC_GPUS", "none")
    return replace(recipe, environment={**recipe.environment, "MOSAIC_GPUS": gpus})


def with_identity(recipe: Recipe, tls: TlsFiles) -> Recipe:
    """Return *recipe* with the certificate and key in *tls*."""
    pem = tls.read()
    return replace(recipe, secrets={"ca.pem": pem.ca, "identity.pem": pem.certificate})


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse variables that no part of a stack would read; a part itself checks the rest of their names.

    Raises:
        BadInput: names them all.
    """
    strangers = [name for name in settings if not name.startswith(_PREFIXES)]
    if strangers:
        faults = [f"{name} is read by no part of a stack{did_you_mean(name, _PREFIXES)}" for name in strangers]
        raise BadInput("settings of the stack", faults)


def _environment(prefix: str, chosen: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    named = {variable_of(prefix, key): value for key, value in {**_IDENTITY, **chosen}.items()}
    own = (prefix + "_", *SHARED.values())
    return named | {name: value for name, value in settings.items() if name.startswith(own)}

"""All that can be set from outside, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mosaic.hosting.settings import TlsSettings, read_settings


@dataclass(frozen=True)
class Settings(TlsSettings):
    """The registry's settings, from variables ``MOSAIC_REGISTRY_*``."""

    database_url: str  #: ``sqlite:///file`` or ``postgresql://...``
    grpc_address: str = "0.0.0.0:50051"
    health_address: str = "0.0.0.0:8081"
    #: How often agents are told to call.
    heartbeat_interval_s: float = 5.0
    #: An agent not heard for so long counts as dead.
    heartbeat_timeout_s: float = 20.0
    #: A dead agent is shown for so long before it is forgotten.
    forget_after_s: float = 86_400.0
    #: The CA's certificate and its key in one file, with which agents that join are given certificates; empty = agents
    #: get theirs elsewhere.
    ca_key_file: str = ""
    #: Where agents join: HTTPS, without a certificate of theirs; empty = nowhere.
    join_address: str = ""
    #: The keys with which a Kubernetes cluster signs the tokens of its pods: a file, or where the cluster tells them
    #: (`https://kubernetes.default.svc/openid/v1/jwks`); empty = pods join with invitations.
    kubernetes_jwks: str = ""
    #: As the cluster calls itself in its tokens.
    kubernetes_issuer: str = "https://kubernetes.default.svc.cluster.local"
    #: Whose pods may join as agents: `namespace/service-account`, separated by commas.
    kubernetes_accounts: str = ""
    #: Who becomes the first admin.
    admin: str = "admin"
    #: Of the first admin; better `MOSAIC_REGISTRY_ADMIN_PASSWORD_FILE`. Read only while there is no admin.
    admin_password: str = field(default="", repr=False)
    #: A token of the admin, for who sets up the fleet by program; better `MOSAIC_REGISTRY_ADMIN_TOKEN_FILE`.
    #: ``mosaic_pat_`` as `python -m mosaic_registry token` prints one. Another one ends the one before.
    admin_token: str = field(default="", repr=False)
    log_level: str = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*; every missing or unreadable variable is reported in one error."""
        return read_settings(cls, "MOSAIC_REGISTRY", env)

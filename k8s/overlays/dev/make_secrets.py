"""Write the Secrets of the dev overlay into files beside this one, with new passwords; existing files stay.

    python make_secrets.py [FOLDER]

The databases keep the password they were made with, so a file is never written twice.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

_BESIDE = Path(__file__).parent / "secrets"
_LENGTH_BYTES = 24


def write_secrets(folder: Path) -> list[Path]:
    """Write what is missing below *folder*, readable by its owner only, and return it."""
    if (folder / "postgres" / "password").exists():
        return []
    postgres, rabbitmq, redis = (secrets.token_urlsafe(_LENGTH_BYTES) for _ in range(3))
    broker = f"amqp://mosaic:{rabbitmq}@rabbitmq:5672/%2F"
    contents = {
        "registry/database-url": _database("registry", postgres),
        "scheduler/database-url": _database("scheduler", postgres),
        "telemetry/database-url": _database("telemetry", postgres),
        "scheduler/broker-url": broker,
        "telemetry/broker-url": broker,
        "agent/broker-url": broker,
        "telemetry/redis-url": f"redis://:{redis}@redis:6379/0",
        "rabbitmq/rabbitmq.conf": f"default_user = mosaic\ndefault_pass = {rabbitmq}\n",
        "redis/redis.conf": f"requirepass {redis}\ndir /data\nappendonly no\n",
        "postgres/password": postgres,
    }
    return [_write(folder / name, text) for name, text in contents.items()]


def _database(service: str, password: str) -> str:
    return f"postgresql://mosaic:{password}@postgres:5432/{service}"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    for written in write_secrets(Path(sys.argv[1]) if len(sys.argv) > 1 else _BESIDE):
        sys.stdout.write(f"wrote {written}\n")

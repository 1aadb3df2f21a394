"""Which RabbitMQ a test runs on. Tests with the same fleet run in a row, so each broker boots once.

On both: everything that a broker takes part in, which is faults, rolling restarts and the training of every library.
On RabbitMQ 4 alone: what would be no different, such as images, GPUs, the registry's protocol and the stack itself.
"""

from __future__ import annotations

import pytest

RABBITMQ_4 = "rabbitmq:4-management"
RABBITMQ_3 = "rabbitmq:3.10-management"

on_rabbitmq_4 = pytest.mark.parametrize("fleet", [RABBITMQ_4], indirect=True, scope="session")
on_every_rabbitmq = pytest.mark.parametrize("fleet", [RABBITMQ_4, RABBITMQ_3], indirect=True, scope="session")

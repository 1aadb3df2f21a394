"""How much the platform adds to what everybody has."""

from __future__ import annotations

from contextlib import closing

import pytest

from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.images import SERVICES, image_of

PYTHON = "python:3.11-slim-bookworm"
MEGABYTE = 1_000_000


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_adds_less_than_200_mb_to_python(service: str) -> None:
    added_mb = _size_mb(image_of(service)) - _size_mb(PYTHON)

    assert 0 < added_mb < 200


def test_the_agent_adds_less_than_120_mb_to_python() -> None:
    added_mb = _size_mb(image_of("base")) - _size_mb(PYTHON)

    assert 0 < added_mb < 120


def _size_mb(image: str) -> float:
    with closing(connect().client) as client:
        return float(client.images.get(image).attrs["Size"]) / MEGABYTE

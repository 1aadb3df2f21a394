from __future__ import annotations

import pytest

from mosaic.client import Endpoints
from mosaic.errors import BadInput, ServiceUnavailable

NAMED = {
    "MOSAIC_ENDPOINT_REGISTRY": "r:1",
    "MOSAIC_ENDPOINT_SCHEDULER": "s:2",
    "MOSAIC_ENDPOINT_TELEMETRY": "t:3",
}
PUBLISHED = Endpoints("127.0.0.1:50051", "127.0.0.1:50052", "127.0.0.1:50053")


def test_what_the_environment_names_comes_first(tmp_path):
    Endpoints("a:1", "b:2", "c:3").write(tmp_path)
    assert Endpoints("r:1", "s:2", "t:3") == Endpoints.find(NAMED, tmp_path, listens=lambda _address: True)


def test_a_platform_in_the_state_directory_comes_before_published_ports(tmp_path):
    Endpoints("a:1", "b:2", "c:3").write(tmp_path)
    assert Endpoints("a:1", "b:2", "c:3") == Endpoints.find({}, tmp_path, listens=lambda _address: True)


def test_a_compose_stack_on_this_host_is_found_without_being_named(tmp_path):
    assert PUBLISHED == Endpoints.find({}, tmp_path, listens=lambda _address: True)


def test_a_named_state_directory_means_no_other_platform(tmp_path):
    with pytest.raises(ServiceUnavailable, match="mosaic up"):
        Endpoints.find({"MOSAIC_HOME": str(tmp_path)}, tmp_path, listens=lambda _address: True)


def test_ports_of_which_only_some_are_open_are_no_platform(tmp_path):
    with pytest.raises(ServiceUnavailable, match="mosaic up"):
        Endpoints.find({}, tmp_path, listens=lambda address: address.endswith("50051"))


def test_naming_some_services_only_is_refused(tmp_path):
    with pytest.raises(BadInput, match="MOSAIC_ENDPOINT_TELEMETRY"):
        Endpoints.find({"MOSAIC_ENDPOINT_REGISTRY": "r:1", "MOSAIC_ENDPOINT_SCHEDULER": "s:2"}, tmp_path)

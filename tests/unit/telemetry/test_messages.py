from __future__ import annotations

import pytest

from mosaic.errors import BadInput
from mosaic.messaging.connection import connection_parameters, pauses
from mosaic.messaging.event_messages import frame_message, read_run_finished, run_finished_message
from mosaic.messaging.topology import event_queue, event_routing_key, event_topology
from mosaic_telemetry.settings import Settings
from tests.fakes.telemetry import KEY, RUN, a_finished_run, encoded, metrics


def test_a_run_has_one_shard_and_runs_are_spread_over_all() -> None:
    keys = [event_routing_key(f"run-{number}", 4) for number in range(200)]

    assert {"shard.0", "shard.1", "shard.2", "shard.3"} == set(keys)
    assert keys == [event_routing_key(f"run-{number}", 4) for number in range(200)]


def test_every_routing_key_has_its_queue() -> None:
    topology = event_topology(3)

    assert ["mosaic.events.0", "mosaic.events.1", "mosaic.events.2"] == [
        event_queue(topology, shard).name for shard in range(3)
    ]


def test_events_wait_in_bounded_quorum_queues_that_refuse_rather_than_drop() -> None:
    arguments = event_queue(event_topology(max_shard_bytes=77), 0).arguments

    assert ("quorum", 77, "reject-publish", "mosaic.events.dead", True) == (
        arguments["x-queue-type"], arguments["x-max-length-bytes"], arguments["x-overflow"],
        arguments["x-dead-letter-exchange"], arguments["x-single-active-consumer"],
    )  # fmt: skip


def test_the_end_of_a_run_goes_the_way_of_its_events() -> None:
    frame, end = frame_message(encoded(metrics(2), first_seq=5)), run_finished_message(a_finished_run(6), KEY)

    without_proof = {name: value for name, value in frame.headers.items() if name != "proof"}

    assert frame.routing_key == end.routing_key
    assert {"kind": "frame", "run_id": RUN, "attempt": 1, "first_seq": 5, "count": 2} == without_proof
    assert end.headers["kind"] == "run_finished"


def test_the_end_of_a_run_survives_its_way() -> None:
    finished = a_finished_run(6, 9)

    assert finished == read_run_finished(run_finished_message(finished, KEY).body)


def test_an_end_that_cannot_be_read_says_everything_that_is_wrong() -> None:
    with pytest.raises(BadInput) as caught:
        read_run_finished(b'{"run": {"run_id": "a", "state": "sealed"}, "attempts": [{"state": 3}]}')

    assert {"run.state", "attempts.state"} == {fault.partition(":")[0] for fault in caught.value.faults}


@pytest.mark.parametrize("body", [b"not json", b"[]", b"3"])
def test_an_end_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="end of a run"):
        read_run_finished(body)


def test_a_run_id_that_is_a_path_is_refused() -> None:
    with pytest.raises(BadInput, match="is not an id"):
        read_run_finished(run_finished_message(a_finished_run(1, run_id="../etc"), KEY).body)


def test_a_broker_address_that_is_none_says_how_to_write_one() -> None:
    with pytest.raises(BadInput, match="amqp://user:password@host"):
        connection_parameters("http://nowhere", "test")


def test_pauses_grow_to_a_limit() -> None:
    waits = pauses(longest_s=1.0)

    assert [0.1, 0.2, 0.4, 0.8, 1.0, 1.0] == pytest.approx([next(waits) for _ in range(6)])


def test_settings_report_every_fault_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_env({"MOSAIC_TELEMETRY_PREFETCH": "many", "MOSAIC_TELEMETRY_DATABASE_URI": "x"})

    assert len(caught.value.faults) == 5

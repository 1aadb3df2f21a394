"""One behaviour of the live feed, in one process and through Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from mosaic_telemetry.adapters.live_feed import InProcessFeed, RedisFeed
from mosaic_telemetry.ports import LiveFeed
from tests.fakes.agent import eventually


@pytest.fixture(params=["in process", "redis"])
def feed(request: pytest.FixtureRequest) -> Iterator[LiveFeed]:
    feed: LiveFeed = InProcessFeed()
    if request.param == "redis":
        feed = RedisFeed(request.getfixturevalue("redis_url"))
    yield feed
    feed.close()


def test_a_follower_hears_of_its_run(feed: LiveFeed) -> None:
    with feed.subscribe("run-1") as ear:
        feed.publish({"run-1", "run-2"})

        assert ear.wait(5)


def test_every_follower_of_a_run_hears(feed: LiveFeed) -> None:
    with feed.subscribe("run-1") as one, feed.subscribe("run-1") as other:
        feed.publish({"run-1"})

        assert one.wait(5)
        assert other.wait(5)


def test_news_between_two_waits_is_not_missed(feed: LiveFeed) -> None:
    with feed.subscribe("run-1") as ear:
        feed.publish({"run-1"})
        feed.publish({"run-1"})

        assert ear.wait(5)


def test_a_follower_does_not_hear_of_other_runs(feed: LiveFeed) -> None:
    with feed.subscribe("run-1") as ear:
        feed.publish({"run-2"})

        assert not ear.wait(0.05)


def test_publishing_to_nobody_is_harmless(feed: LiveFeed) -> None:
    with feed.subscribe("run-1"):
        pass

    feed.publish({"run-1"})


def test_closing_wakes_those_who_wait(feed: LiveFeed) -> None:
    with feed.subscribe("run-1") as ear:
        feed.close()

        assert ear.wait(0)


def test_a_follower_of_one_replica_hears_what_another_stored(redis_url: str) -> None:
    here, there = RedisFeed(redis_url), RedisFeed(redis_url)
    try:
        with here.subscribe("run-1") as ear:
            heard = False
            # The other side's subscription is made in the background.
            for _ in range(50):
                there.publish({"run-1"})
                heard = heard or ear.wait(0.1)
                if heard:
                    break
    finally:
        here.close()
        there.close()

    assert heard


def test_without_redis_followers_of_the_same_process_still_hear() -> None:
    feed = RedisFeed("redis://127.0.0.1:1/0")
    try:
        with feed.subscribe("run-1") as ear:
            feed.publish({"run-1"})

            assert ear.wait(1)
    finally:
        feed.close()


def test_what_somebody_else_writes_to_the_channel_does_not_end_the_hearing(redis_url: str) -> None:
    here, elsewhere = RedisFeed(redis_url), RedisFeed(redis_url)
    stranger = redis.Redis.from_url(redis_url)
    try:
        with here.subscribe("run-1") as ear:
            eventually(lambda: stranger.publish("mosaic:live", b"\xff") == 2)
            elsewhere.publish({"run-1"})

            assert ear.wait(5)
    finally:
        stranger.close()
        here.close()
        elsewhere.close()

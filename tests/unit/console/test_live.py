"""The live stream: numbered, without loss, and never too often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from mosaic.errors import BadInput
from mosaic.lifecycle import RunState
from mosaic_console.domain.live import Board, Update, pause_s, read_topics
from mosaic_console.entrypoints.feed import Feed
from tests.fakes.console import InMemoryPlatform, a_console_run
from tests.unit.console.conftest import Console


def test_only_what_changed_is_news_under_growing_numbers() -> None:
    board = Board()

    assert [True, False, True] == [board.put("queue", data) for data in ("a", "a", "b")]
    board.put("fleet", "c")

    assert [Update(2, "queue", "b"), Update(3, "fleet", "c")] == board.since(["fleet", "queue"], 0)
    assert [3] == [update.seq for update in board.since(["fleet", "queue"], 2)]


@pytest.mark.parametrize("text", ["", "runs", "run:", ",".join(f"run:{number}" for number in range(21))])
def test_topics_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_topics(text)


def test_no_topic_is_looked_at_more_often_than_four_times_a_second() -> None:
    assert 0.25 <= min(pause_s(topic) for topic in ("run:x", "queue", "fleet"))


async def told(feed: Feed, topics: Sequence[str], after: int, count: int) -> list[Update]:
    """Return the first *count* updates."""
    found: list[Update] = []
    following = feed.follow(topics, after, breath_s=5)
    async for updates in following:
        found += updates
        if len(found) >= count:
            break
    await following.aclose()  # type: ignore[attr-defined]
    return found


def test_a_watcher_hears_how_things_stand_and_then_each_change() -> None:
    platform = InMemoryPlatform()
    platform.add("r1")

    async def watch() -> list[Update]:
        feed = Feed(platform)
        watching = asyncio.create_task(told(feed, ["run:r1"], 0, 2))
        await asyncio.sleep(0.1)
        platform.runs["r1"] = a_console_run("r1", state=RunState.SUCCEEDED)
        return await asyncio.wait_for(watching, 10)

    first, second = asyncio.run(watch())
    assert first.seq < second.seq
    assert ["running", "succeeded"] == [json.loads(each.data)["run"]["state"] for each in (first, second)]


def test_while_nobody_watches_nothing_is_asked() -> None:
    platform = InMemoryPlatform()
    platform.add("r1")

    async def watch() -> bool:
        feed = Feed(platform)
        await asyncio.wait_for(told(feed, ["run:r1"], 0, 1), 10)
        assert feed._looking is not None
        await asyncio.wait_for(feed._looking, 10)
        return feed._looking.done()

    assert asyncio.run(watch())


def test_an_unknown_run_and_an_unknown_topic_are_problems(console: Console) -> None:
    assert 404 == console.script.get("/api/v1/live?topics=run:nobody").status_code
    assert 400 == console.script.get("/api/v1/live?topics=weather").status_code

"""What watchers are told: the newest state of each topic, under numbers that only grow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mosaic.errors import BadInput
from mosaic.model.identity import Permission

#: No topic is told more often than this.
LEAST_PAUSE_S = 0.25
_MOST_TOPICS = 20
_RUN = "run:"
#: What is not about one run, and how often it is looked at.
_PAUSES = {"queue": 1.0, "fleet": 2.0}
#: What each kind of topic needs.
TOPICS = {"run": Permission.RUNS_READ, "queue": Permission.RUNS_READ, "fleet": Permission.FLEET_READ}


@dataclass(frozen=True, slots=True)
class Update:
    """A topic as it stands."""

    seq: int
    topic: str
    #: JSON text.
    data: str


def read_topics(text: str) -> tuple[str, ...]:
    """Return the topics of a list such as ``run:ID,queue,fleet``.

    Raises:
        BadInput: lists those that do not exist.
    """
    topics = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    faults = [f"{topic!r} is no topic (run:ID, queue, fleet)" for topic in topics if not _is_topic(topic)]
    if not topics:
        faults.append("name at least one: run:ID, queue, fleet")
    if len(topics) > _MOST_TOPICS:
        faults.append(f"{len(topics)} topics are too many; {_MOST_TOPICS} fit into one stream")
    if faults:
        raise BadInput("topics", faults)
    return topics


def run_of(topic: str) -> str | None:
    """Return the run that *topic* is about, if it is about one."""
    return topic.removeprefix(_RUN) if topic.startswith(_RUN) else None


def topic_of(run_id: str) -> str:
    """Return the topic about that run."""
    return _RUN + run_id


def permission_of(topic: str) -> Permission:
    """Return what *topic* needs."""
    return TOPICS[topic.partition(":")[0]]


def pause_s(topic: str) -> float:
    """Return how long after one look at *topic* the next may follow."""
    return _PAUSES.get(topic, LEAST_PAUSE_S)


class Board:
    """The newest update of every topic. A watcher who was away reads what is newer than its last number."""

    def __init__(self) -> None:
        self._seq = 0
        self._newest: dict[str, Update] = {}

    def put(self, topic: str, data: str) -> bool:
        """Note how *topic* stands; tell whether that is news."""
        known = self._newest.get(topic)
        if known is not None and known.data == data:
            return False
        self._seq += 1
        self._newest[topic] = Update(self._seq, topic, data)
        return True

    def since(self, topics: Collection[str], seq: int) -> list[Update]:
        """Return what is newer than *seq*, in order."""
        found = [self._newest[topic] for topic in topics if topic in self._newest]
        return sorted((update for update in found if update.seq > seq), key=lambda update: update.seq)

    def forget(self, topic: str) -> None:
        """Drop a topic that nobody watches."""
        self._newest.pop(topic, None)


def _is_topic(topic: str) -> bool:
    return topic in _PAUSES or (topic.startswith(_RUN) and len(topic) > len(_RUN))

"""Every kind of event, one row each. All lists of kinds are derived from these rows, here and nowhere else.

`docs/how-to/add-an-event-kind.md` says how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from mosaic.events import canon
from mosaic.events.attempt import (
    AttemptEnded,
    AttemptStarted,
    ProtocolViolated,
    TelemetryResumed,
    TelemetryStarved,
)
from mosaic.events.envelope import Event
from mosaic.events.lifecycle import (
    CheckpointLoaded,
    CheckpointSaved,
    Heartbeat,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    SettingsResolved,
)
from mosaic.events.tolerant import Fields
from mosaic.events.training import Artifact, Custom, Episode, Log, Metric, Step

#: The keys under which a line may name its kind; the first that holds a word counts.
KIND_KEYS = ("event", "type", "event_type")


class Speaker(Enum):
    """Who may say an event."""

    WORKER = "worker"  #: a worker; the agent may say it for its worker
    AGENT = "agent"  #: the agent alone; from a worker it is a forged event


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of event and all that differs from kind to kind."""

    model: type[Event]
    speaker: Speaker = Speaker.WORKER
    #: Other words for it that workers use.
    aliases: tuple[str, ...] = ()
    #: Makes the fields of a line canonical, in place, and returns every fault; None = they are taken as they are.
    canon: Callable[[Fields], list[str]] | None = None
    #: Telemetry keeps it as a fact, from which manifests are made.
    is_fact: bool = False
    #: The agent itself looks at it when its worker says it.
    is_lifecycle_line: bool = False
    #: The agent looks only at those whose payload has this key.
    lifecycle_key: str = ""
    #: It is how a worker says that its run is over.
    ends_run: bool = False
    #: It may be left out, one of many kept, while the agent has more to send than it may store.
    may_be_thinned: bool = False

    @property
    def name(self) -> str:
        """The word that stands on the wire."""
        return str(self.model.model_fields["event"].default)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that means this kind."""
        return (self.name, *self.aliases)


#: In the order in which the reference lists them.
ROWS: tuple[Kind, ...] = (
    Kind(model=RunStarted, is_fact=True, is_lifecycle_line=True),
    Kind(model=RunCompleted, is_fact=True, is_lifecycle_line=True, ends_run=True),
    Kind(model=RunFailed, is_fact=True, is_lifecycle_line=True, ends_run=True),
    Kind(
        model=RunCancelled,
        aliases=("run_canceled", "cancelled", "canceled"),
        is_fact=True,
        is_lifecycle_line=True,
        ends_run=True,
    ),
    # With this key it says whether the runtime holds still, as it was asked to.
    Kind(model=Heartbeat, is_lifecycle_line=True, lifecycle_key="paused"),
    Kind(model=CheckpointSaved, canon=canon.checkpoint, is_fact=True, is_lifecycle_line=True),
    Kind(model=CheckpointLoaded, canon=canon.checkpoint, is_fact=True),
    Kind(model=SettingsResolved, is_fact=True),
    Kind(model=Metric, canon=canon.metric),
    Kind(model=Episode, aliases=("episode_end", "episode_done"), canon=canon.episode),
    Kind(model=Step, canon=canon.step, may_be_thinned=True),
    Kind(model=Log, canon=canon.log),
    Kind(model=Artifact, canon=canon.artifact, is_fact=True),
    Kind(model=Custom),
    Kind(model=AttemptStarted, speaker=Speaker.AGENT, is_fact=True),
    Kind(model=AttemptEnded, speaker=Speaker.AGENT, is_fact=True),
    Kind(model=TelemetryStarved, speaker=Speaker.AGENT, is_fact=True),
    Kind(model=TelemetryResumed, speaker=Speaker.AGENT, is_fact=True),
    Kind(model=ProtocolViolated, speaker=Speaker.AGENT, is_fact=True),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in ROWS})

#: Other words of kinds -> the kind.
ALIASES: Mapping[str, str] = MappingProxyType({word: kind.name for kind in ROWS for word in kind.aliases})

#: kind -> what makes its fields canonical.
CANON: Mapping[str, Callable[[Fields], list[str]]] = MappingProxyType(
    {kind.name: kind.canon for kind in ROWS if kind.canon is not None}
)

#: Kinds that telemetry keeps as facts. All others are lines, points or episodes only.
FACT_KINDS = frozenset(kind.name for kind in ROWS if kind.is_fact)

#: Kinds only the agent may speak; from a worker's mouth they are violations.
AGENT_KINDS = frozenset(kind.name for kind in ROWS if kind.speaker is Speaker.AGENT)

#: Kinds with which a worker says that its run is over.
ENDING_KINDS = frozenset(kind.name for kind in ROWS if kind.ends_run)

#: Kinds that the agent itself looks at.
LIFECYCLE_KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in ROWS if kind.is_lifecycle_line})

#: Every word for a kind that may be thinned.
THINNED_WORDS = tuple(word for kind in ROWS if kind.may_be_thinned for word in kind.words)


def lifecycle_words() -> Iterator[str]:
    """Yield the words of which one stands, in quotes, in every line that the agent itself looks at."""
    for kind in LIFECYCLE_KINDS.values():
        yield from (kind.lifecycle_key,) if kind.lifecycle_key else kind.words


def kind_of(name: str) -> str:
    """Return our word for a kind, given any spelling of it."""
    word = name.strip().lower()
    return ALIASES.get(word, word)


def _union() -> Any:
    models: list[Any] = [kind.model for kind in ROWS]
    return Annotated[reduce(or_, models), Field(discriminator="event")]


#: Validates the canonical form: the four keys of a line with our payload names.
EVENT: TypeAdapter[Event] = TypeAdapter(_union())

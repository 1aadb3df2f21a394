"""The gRPC API: requests to handlers, values to messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import grpc

from mosaic.errors import RunNotFound
from mosaic.events.episodes import TRAINING
from mosaic.hosting.access import caller_of, needs
from mosaic.model.identity import Permission
from mosaic.wire.codec import to_timestamp
from mosaic.wire.v1 import telemetry_pb2 as pb
from mosaic.wire.v1.telemetry_pb2_grpc import TelemetryServicer
from mosaic_telemetry.bootstrap import Parts
from mosaic_telemetry.domain.facts import Evaluation
from mosaic_telemetry.domain.series import Series, SeriesKey
from mosaic_telemetry.entrypoints.metrics import Metrics
from mosaic_telemetry.handlers.curves import STEP, RunSummary, Wanted, read_curve, run_series, summarise
from mosaic_telemetry.handlers.episodes import StoredEpisode, read_episodes, standing_of
from mosaic_telemetry.handlers.finish import manifest_of
from mosaic_telemetry.handlers.lines import Lines, follow_lines, read_lines
from mosaic_telemetry.handlers.logs import LogEntry, follow_logs, read_logs
from mosaic_telemetry.handlers.owners import is_shown, shown, wait_until_shown
from mosaic_telemetry.ports import Position

#: Lines in one message of a stream.
_LINES_PER_CHUNK = 2000


class TelemetryApi(TelemetryServicer):
    """Answers what people and the console ask."""

    def __init__(
        self, parts: Parts, metrics: Metrics, is_ending: Callable[[], bool], fault: Callable[[], str] = str
    ) -> None:
        """Leave open streams when *is_ending* says so; *fault* tells why nothing new can be stored."""
        self._store = parts.store
        self._feed = parts.feed
        self._metrics = metrics
        self._is_ending = is_ending
        self._fault = fault

    @needs(Permission.RUNS_READ)
    def ReadEvents(self, request: pb.ReadEventsRequest, context: grpc.ServicerContext) -> Iterator[pb.EventChunk]:
        """Stream lines from a position on."""
        start = Position(getattr(request, "from").attempt, getattr(request, "from").seq)
        kinds = frozenset(request.kinds)
        attempt = request.attempt
        if not self._is_readable(request, context):
            return
        if not request.follow:
            lines = read_lines(request.run_id, start, attempt=attempt, kinds=kinds, store=self._store)
            yield from _event_chunks(request.run_id, lines, request.limit)
            return
        with self._metrics.followers.track_inprogress():
            lines = follow_lines(
                request.run_id,
                start,
                attempt=attempt,
                kinds=kinds,
                store=self._store,
                feed=self._feed,
                is_wanted=self._wanted(context),
            )
            yield from _event_chunks(request.run_id, lines, request.limit)

    @needs(Permission.RUNS_READ)
    def ListSeries(self, request: pb.ListSeriesRequest, context: grpc.ServicerContext) -> pb.ListSeriesResponse:
        """Name the series of a run."""
        if not self._is_shown(request.run_id, context):
            return pb.ListSeriesResponse()
        if request.attempt:
            found = self._store.series(request.run_id, attempt=request.attempt)
        else:
            found = run_series(standing_of(request.run_id, self._store), self._store)
        return pb.ListSeriesResponse(series=[_series_info(series) for series in found])

    @needs(Permission.RUNS_READ)
    def ReadSeries(self, request: pb.ReadSeriesRequest, context: grpc.ServicerContext) -> pb.ReadSeriesResponse:
        """Return a curve."""
        if not self._is_shown(request.run_id, context):
            return pb.ReadSeriesResponse()
        wanted = Wanted(
            request.resolution,
            request.from_step if request.HasField("from_step") else None,
            request.to_step if request.HasField("to_step") else None,
            request.x or STEP,
            request.log_x,
            request.smoothing,
        )
        key = SeriesKey(request.key.name, request.key.agent)
        curve = read_curve(request.run_id, key, wanted, attempt=request.attempt, store=self._store)
        buckets = curve.buckets
        return pb.ReadSeriesResponse(
            steps=buckets.middles.tolist(),
            means=buckets.means.tolist(),
            minima=buckets.minima.tolist(),
            maxima=buckets.maxima.tolist(),
            counts=buckets.points.tolist(),
            lasts=buckets.lasts.tolist(),
            smoothed=buckets.smoothed.tolist() if wanted.smoothing else [],
            total_points=curve.total_points,
            unit=curve.unit,
        )

    @needs(Permission.RUNS_READ)
    def ReadEpisodes(self, request: pb.ReadEpisodesRequest, context: grpc.ServicerContext) -> pb.ReadEpisodesResponse:
        """Return episodes."""
        if not self._is_shown(request.run_id, context):
            return pb.ReadEpisodesResponse()
        after = Position(0, -1)
        if request.HasField("after"):
            after = Position(request.after.attempt, request.after.seq)
        found, total = read_episodes(
            request.run_id,
            kind=request.kind or TRAINING,
            attempt=request.attempt,
            include_lost=request.include_lost,
            after=after,
            last=request.last,
            store=self._store,
        )
        return pb.ReadEpisodesResponse(episodes=[_episode(episode) for episode in found], total=total)

    @needs(Permission.RUNS_READ)
    def ReadLogs(self, request: pb.ReadLogsRequest, context: grpc.ServicerContext) -> Iterator[pb.LogChunk]:
        """Stream log lines."""
        if not self._is_readable(request, context):
            return
        if not request.follow:
            found = read_logs(request.run_id, attempt=request.attempt, tail=request.tail, store=self._store)
            for entries in found:
                yield from _log_chunks(entries)
            return
        with self._metrics.followers.track_inprogress():
            is_wanted = self._wanted(context)
            following = follow_logs(
                request.run_id,
                attempt=request.attempt,
                tail=request.tail,
                store=self._store,
                feed=self._feed,
                is_wanted=is_wanted,
            )
            for entries in following:
                yield from _log_chunks(entries)
            yield pb.LogChunk(finished=is_wanted())

    @needs(Permission.RUNS_READ)
    def Summarise(self, request: pb.SummariseRequest, context: grpc.ServicerContext) -> pb.SummariseResponse:
        """Return a row for each run that the caller may see."""
        rows = summarise(shown(request.run_ids, caller_of(context), store=self._store), store=self._store)
        return pb.SummariseResponse(summaries=[_summary(row) for row in rows], fault=self._fault())

    @needs(Permission.RUNS_READ)
    def GetManifest(self, request: pb.GetManifestRequest, context: grpc.ServicerContext) -> pb.Manifest:
        """Return the manifest of an ended run."""
        if not self._is_shown(request.run_id, context):
            raise RunNotFound(request.run_id)
        record = manifest_of(request.run_id, store=self._store)
        return pb.Manifest(run_id=request.run_id, json=record.manifest_json, digest=record.digest, path=record.path)

    def _is_shown(self, run_id: str, context: grpc.ServicerContext) -> bool:
        return is_shown(run_id, caller_of(context), store=self._store)

    def _is_readable(self, request: pb.ReadEventsRequest | pb.ReadLogsRequest, context: grpc.ServicerContext) -> bool:
        """Tell whether there is something to send; who follows waits until it is known whose the run is."""
        if not request.follow:
            return self._is_shown(request.run_id, context)
        wanted = self._wanted(context)
        return wait_until_shown(
            request.run_id, caller_of(context), store=self._store, feed=self._feed, is_wanted=wanted
        )

    def _wanted(self, context: grpc.ServicerContext) -> Callable[[], bool]:
        return lambda: context.is_active() and not self._is_ending()


def _event_chunks(run_id: str, following: Iterator[Lines], limit: int) -> Iterator[pb.EventChunk]:
    left = limit or math.inf
    for lines in following:
        for begin in range(0, len(lines.lines), _LINES_PER_CHUNK):
            part = lines.lines[begin : begin + _LINES_PER_CHUNK][: int(min(left, _LINES_PER_CHUNK))]
            left -= len(part)
            stamped = [pb.StampedLine(seq=seq, time=time, kind=kind, line=line) for seq, time, kind, line in part]
            yield pb.EventChunk(run_id=run_id, attempt=lines.attempt, lines=stamped)
            if left <= 0:
                return
        if lines.is_end:
            yield pb.EventChunk(run_id=run_id, attempt=lines.attempt, finished=True)


def _log_chunks(entries: list[LogEntry]) -> Iterator[pb.LogChunk]:
    attempts = sorted({entry.attempt for entry in entries})
    for attempt in attempts:
        own = [entry for entry in entries if entry.attempt == attempt]
        for begin in range(0, len(own), _LINES_PER_CHUNK):
            part = own[begin : begin + _LINES_PER_CHUNK]
            yield pb.LogChunk(attempt=attempt, entries=[_log_entry(entry) for entry in part])


def _log_entry(entry: LogEntry) -> pb.LogEntry:
    return pb.LogEntry(seq=entry.seq, time=entry.time, stream=entry.stream, level=entry.level, text=entry.text)


def _series_info(series: Series) -> pb.SeriesInfo:
    return pb.SeriesInfo(
        key=pb.SeriesKey(name=series.key.name, agent=series.key.agent),
        attempt=series.stream.attempt,
        count=series.count,
        last_step=series.last_step,
        last_value=series.last_value,
        min_value=series.lowest.value if series.lowest else math.nan,
        max_value=series.highest.value if series.highest else math.nan,
        unit=series.unit,
    )


def _episode(stored: StoredEpisode) -> pb.Episode:
    episode = stored.episode
    return pb.Episode(
        attempt=episode.stream.attempt,
        seq=episode.seq,
        index=-1 if episode.number is None else episode.number,
        agent=episode.agent,
        episode_return=episode.episode_return,
        length=episode.length or 0,
        step=math.nan if episode.step is None else episode.step,
        time=episode.time,
        kind=episode.kind,
        counted=stored.is_counted,
    )


def _summary(row: RunSummary) -> pb.RunSummary:
    returns = row.episodes.training
    seen = None if row.last_event_time is None else datetime.fromtimestamp(row.last_event_time, UTC)
    return pb.RunSummary(
        run_id=row.run_id,
        events=row.events,
        last_step=row.last_step,
        steps_per_s=row.steps_per_s,
        mean_return=returns.mean_return or 0.0,
        episodes=returns.count,
        last_event_at=to_timestamp(seen),
        finished=row.is_finished,
        has_returns=returns.mean_return is not None,
        best_return=returns.best_return,
        returns_of=row.episodes.returns_of,
        evaluation=_evaluation(row.episodes.evaluation),
    )


def _evaluation(told: Evaluation | None) -> pb.EvaluationSummary | None:
    if told is None:
        return None
    step = math.nan if told.step is None else told.step
    return pb.EvaluationSummary(count=told.count, episodes=told.episodes, mean_return=told.mean_return, step=step)

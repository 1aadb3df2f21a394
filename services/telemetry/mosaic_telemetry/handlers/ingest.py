"""Store what agents send, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mosaic.events import AGENT_KINDS, FACT_KINDS, Scan, scan_lines
from mosaic.events import Series as ScannedSeries
from mosaic.events.frame import EncodedFrame, Frame, decode, encode, unpacked_size
from mosaic.events.packing import FrameUnreadable
from mosaic.events.proof import EventKey, FrameForged
from mosaic.events.scan import VIOLATION
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.ranges import Range
from mosaic_telemetry.domain.series import Series, SeriesKey, counts_training_steps
from mosaic_telemetry.domain.tally import tallies_of
from mosaic_telemetry.domain.timeline import Hearing, StreamId, Timeline
from mosaic_telemetry.ports import EventStore, EventWriter, LiveFeed, PointBlock, StoredFrame

#: A worker that breaks the protocol with every line is shown by its first lines and a count.
_VIOLATIONS_KEPT = 3

#: Curves of one attempt. Whoever puts a step number into the name of a metric would make one for every point, and each
#: costs memory here whenever the attempt is heard.
MAX_SERIES = 10_000

#: Facts of one kind of one attempt, and bytes of the line that states one: all of a run's are read for its manifest.
MAX_FACTS = 10_000
MAX_FACT_BYTES = 16_384


#: Frames are unpacked and stored so many bytes at a time: an honest batch at once, one of bombs one by one.
_AT_ONCE_BYTES = 16 * 1024 * 1024


@dataclass
class IngestReport:
    """What became of some frames."""

    stored_lines: int = 0
    #: Lines that were known already.
    repeated_lines: int = 0
    #: Manifests that are to be written again.
    stale_manifests: int = 0
    #: Index of a frame that can never be stored -> why.
    refused: dict[int, str] = field(default_factory=dict)
    #: How many of those carried no proof of who sent them.
    forged: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines that are new, as they will be stored."""

    frame: Frame
    scan: Scan
    body: bytes


def ingest(frames: Sequence[EncodedFrame], *, key: EventKey, store: EventStore, feed: LiveFeed) -> IngestReport:
    """Store frames that prove by *key* whose they are, in any order and however often they come.

    When it returns, everything not refused is durable, and followers have been told.

    Raises:
        DatabaseUnavailable: not all was kept; the same frames may be given again.

    """
    report = IngestReport()
    for portion in _portions(frames):
        pieces = _by_stream(portion, key, report)
        if pieces:
            with store.writing(pieces.keys()) as writer:
                for stream, heard in pieces.items():
                    _absorb(writer, stream, heard, report)
            report.stale_manifests += writer.stale_manifests
            feed.publish({stream.run_id for stream in pieces})
    return report


def _portions(frames: Sequence[EncodedFrame]) -> Iterator[list[tuple[int, EncodedFrame]]]:
    """Yield *frames* with their indexes, as many at a time as may lie in memory unpacked."""
    portion: list[tuple[int, EncodedFrame]] = []
    size = 0
    for index, frame in enumerate(frames):
        size += unpacked_size(frame.body)
        if portion and size > _AT_ONCE_BYTES:
            yield portion
            portion, size = [], unpacked_size(frame.body)
        portion.append((index, frame))
    yield portion


def _by_stream(
    frames: Sequence[tuple[int, EncodedFrame]], key: EventKey, report: IngestReport
) -> dict[StreamId, list[_Piece]]:
    pieces: dict[StreamId, list[_Piece]] = {}
    for index, packed in frames:
        try:
            frame = _opened(packed, key)
        except (FrameForged, FrameUnreadable) as error:
            report.refused[index] = str(error)
            report.forged += isinstance(error, FrameForged)
            continue
        # Scanned here, before the streams are locked: most frames are new.
        piece = _Piece(frame, scan_lines(frame.lines), packed.body)
        pieces.setdefault(StreamId(frame.run_id, frame.attempt), []).append(piece)
    return pieces


def _opened(packed: EncodedFrame, key: EventKey) -> Frame:
    """Unpack a frame; one without proof is not even looked into."""
    key.check_frame(packed)
    frame = decode(packed.body)
    if (frame.run_id, frame.attempt) != (packed.run_id, packed.attempt):
        spoken = f"attempt {frame.attempt} of run {frame.run_id}"
        raise FrameForged(f"the agent of attempt {packed.attempt} of run {packed.run_id} sent it for {spoken}")
    return frame


def _absorb(writer: EventWriter, stream: StreamId, heard: list[_Piece], report: IngestReport) -> None:
    before = timeline = writer.timeline(stream)
    new: list[_Piece] = []
    for piece in sorted(heard, key=lambda piece: piece.frame.first_seq):
        for part in _new_parts(timeline, piece):
            timeline = timeline.hear(_hearing(part))
            new.append(part)
    lines = sum(len(piece.frame.lines) for piece in heard)
    stored = timeline.heard.count - before.heard.count
    report.stored_lines += stored
    report.repeated_lines += lines - stored
    if new:
        writer.put_timeline(timeline)
        _add_series(writer, stream, new)
    seen = Counter(before.counts)
    for piece in new:
        writer.add_frame(_stored(stream, piece))
        _add_rare(writer, stream, piece, seen)
        seen += piece.scan.counts


def _new_parts(timeline: Timeline, piece: _Piece) -> list[_Piece]:
    frame = piece.frame
    missing = timeline.heard.missing(frame.first_seq, frame.last_seq)
    if missing == [(frame.first_seq, frame.last_seq)]:
        return [piece]
    return [_cut(frame, part) for part in missing]


def _cut(frame: Frame, part: Range) -> _Piece:
    begin, end = part[0] - frame.first_seq, part[1] - frame.first_seq + 1
    times = list(frame.line_times())[begin:end]
    lines = frame.lines[begin:end]
    cut = Frame(frame.run_id, frame.attempt, part[0], tuple((1, time) for time in times), lines)
    return _Piece(cut, scan_lines(lines), encode(cut))


def _hearing(piece: _Piece) -> Hearing:
    frame, scan = piece.frame, piece.scan
    steps = [series.steps[-1] for series in scan.series.values() if counts_training_steps(series.unit or "")]
    steps += [row.step for row in scan.episodes[-1:] if row.step is not None]
    return Hearing(
        frame.first_seq,
        frame.last_seq,
        frame.times[0][1],
        frame.times[-1][1],
        scan.counts,
        max(steps, default=None),
        tallies_of(scan.episodes, frame.first_seq),
    )


def _stored(stream: StreamId, piece: _Piece) -> StoredFrame:
    frame = piece.frame
    first, last = frame.times[0][1], frame.times[-1][1]
    return StoredFrame(stream, frame.first_seq, frame.last_seq, piece.scan.counts, first, last, piece.body)


def _add_series(writer: EventWriter, stream: StreamId, pieces: Sequence[_Piece]) -> None:
    """Add the points of all *pieces*, one block per series."""
    told = [piece for piece in pieces if piece.scan.series]
    if not told:
        return
    known = writer.series(stream)
    blocks, refused = _blocks_of(stream, told, known)
    for block in blocks.values():
        series, rollups = block.series.extend(block.steps, block.values)
        writer.add_points(block)
        writer.put_series(series)
        writer.put_rollups(series, rollups)
    if refused is not None and len(known) < MAX_SERIES:
        writer.add_facts([refused])


def _blocks_of(
    stream: StreamId, pieces: Sequence[_Piece], known: Mapping[SeriesKey, Series]
) -> tuple[dict[SeriesKey, PointBlock], Fact | None]:
    """Return the new points by series, and the first of those that are one series too many: they stay lines."""
    blocks: dict[SeriesKey, PointBlock] = {}
    room, refused = MAX_SERIES - len(known), None
    for piece in pieces:
        for points in piece.scan.series.values():
            key = SeriesKey(points.name, points.agent or "")
            if key in blocks:
                blocks[key].steps.extend(points.steps)
                blocks[key].values.extend(points.values)
                blocks[key] = blocks[key]._replace(last_time=piece.frame.times[-1][1])
                continue
            if key not in known:
                if room <= 0:
                    refused = refused or _one_too_many(stream, piece, points)
                    continue
                room -= 1
            series = known.get(key) or Series(stream, key, points.unit or "")
            first_seq = piece.frame.first_seq + points.first_line
            times = (piece.frame.times[0][1], piece.frame.times[-1][1])
            blocks[key] = PointBlock(series, first_seq, points.steps, points.values, *times)
    return blocks, refused


def _one_too_many(stream: StreamId, piece: _Piece, points: ScannedSeries) -> Fact:
    reason = (
        f"{points.name[:100]!r} and other metrics have no curve, only their lines: this attempt has {MAX_SERIES} "
        "curves already; is there a number in the names that belongs into `step`?"
    )
    time = list(piece.frame.line_times())[points.first_line]
    broken = {"kind": "too_many_metrics", "reason": reason}
    return Fact(stream, piece.frame.first_seq + points.first_line, time, "violation", broken)


def _add_rare(writer: EventWriter, stream: StreamId, piece: _Piece, seen: Mapping[str, int]) -> None:
    """Add episodes and facts, the few lines that need their own stamp; *seen* are the lines before, by kind."""
    scan, first_seq = piece.scan, piece.frame.first_seq
    if not (scan.episodes or scan.events or scan.violations):
        return
    times = list(piece.frame.line_times())
    writer.add_episodes(
        [
            Episode(
                stream,
                first_seq + row.line,
                times[row.line],
                row.episode_index,
                row.agent or "",
                row.episode_return,
                row.length,
                row.step,
                row.evaluation,
            )
            for row in scan.episodes
        ]
    )
    facts = [
        Fact(stream, first_seq + line, times[line], event.event, event.payload.model_dump(mode="json"))
        for line, event in scan.events
        if event.event in FACT_KINDS and _is_kept(event.event, len(piece.frame.lines[line]), seen)
    ]
    if seen.get(VIOLATION, 0) < MAX_FACTS:
        facts += [
            Fact(stream, first_seq + line, times[line], "violation", {"kind": broken.kind, "reason": broken.reason})
            for line, broken in scan.violations[:_VIOLATIONS_KEPT]
        ]
    writer.add_facts(facts)


def _is_kept(kind: str, size: int, seen: Mapping[str, int]) -> bool:
    """Tell whether a fact is more than a line; what the agent says always is."""
    return kind in AGENT_KINDS or (size <= MAX_FACT_BYTES and seen.get(kind, 0) < MAX_FACTS)

"""Frames of a running environment in shared memory, for a viewer on the same host.

A ring of slots behind a header, all little endian. A writer never waits: it marks a slot odd,
fills it, marks it even, and moves the head; a reader takes the newest even slot and checks that it
stayed so. Nobody else on the path of telemetry ever sees a frame.
"""

from __future__ import annotations

import struct
import sys
import zlib
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from typing import Any

MAGIC = b"FLAN"
VERSION = 1
#: Set in the header's flags when readers must let go and attach anew.
FLAG_INVALIDATED = 1
DEFAULT_CAPACITY = 128

_HEADER = struct.Struct("<4sIIIIIIIIIQQddd")
_SLOT = struct.Struct("<QII")
_FLAGS_AT = 8
_HEAD_AT = 40
_METRICS_AT = 56
#: Rings of this process, which it removes at its end should nobody else.
_made_here: set[str] = set()


@dataclass(frozen=True)
class FastLaneConfig:
    """The shape of the frames and how many are kept."""

    width: int
    height: int
    channels: int = 3
    pixel_format: str = "RGB"
    capacity: int = DEFAULT_CAPACITY
    metadata_size: int = 0  #: bytes of JSON beside each frame; 0 for none

    @property
    def payload_bytes(self) -> int:
        """The size of one frame."""
        return max(1, self.width * self.height * self.channels)

    @property
    def slot_payload_bytes(self) -> int:
        """The size of one frame and its metadata."""
        return self.payload_bytes + self.metadata_size


@dataclass(frozen=True)
class FastLaneMetrics:
    """The three numbers a viewer shows over the frame."""

    last_reward: float = 0.0
    rolling_return: float = 0.0
    step_rate_hz: float = 0.0


@dataclass(frozen=True)
class FastLaneFrame:
    """One frame as it was read."""

    data: bytes
    width: int
    height: int
    channels: int
    metrics: FastLaneMetrics
    metadata: bytes | None = None


def create_fastlane_name(run_id: str) -> str:
    """Return the name of the shared memory in which the frames of *run_id* are."""
    return f"mosaic.fastlane.{run_id}".replace("/", "_")


def _attached(name: str) -> SharedMemory:
    """Open the memory *name* as a guest: Python would else remove it when this process ends."""
    if sys.version_info >= (3, 13):
        return SharedMemory(name, track=False)
    memory = SharedMemory(name)
    if memory.name not in _made_here:
        resource_tracker.unregister(f"/{memory.name}", "shared_memory")
    return memory


class FastLaneBase:
    """What writer and reader share: the header."""

    def __init__(self, shm: SharedMemory) -> None:
        self._shm = shm
        assert shm.buf is not None
        self._view = memoryview(shm.buf)

    def _header_field(self, index: int) -> Any:
        return _HEADER.unpack_from(self._view)[index]

    @property
    def flags(self) -> int:
        """The header's flags."""
        return int(self._header_field(2))

    @property
    def capacity(self) -> int:
        """How many slots the ring has; 0 until the writer has set it up."""
        return int(self._header_field(3))

    @property
    def slot_size(self) -> int:
        """The bytes from one slot to the next."""
        return int(self._header_field(4))

    @property
    def payload_size(self) -> int:
        """The bytes of a slot that hold frame and metadata."""
        return int(self._header_field(5))

    @property
    def width(self) -> int:
        """Pixels per row."""
        return int(self._header_field(6))

    @property
    def height(self) -> int:
        """Rows per frame."""
        return int(self._header_field(7))

    @property
    def channels(self) -> int:
        """Bytes per pixel."""
        return int(self._header_field(8))

    @property
    def head(self) -> int:
        """How many frames were published so far."""
        return int(self._header_field(10))

    @property
    def is_invalidated(self) -> bool:
        """Tell whether the frames are stale for good."""
        return bool(self.flags & FLAG_INVALIDATED)

    def invalidate(self) -> None:
        """Tell every reader to let go."""
        struct.pack_into("<I", self._view, _FLAGS_AT, self.flags | FLAG_INVALIDATED)

    def metrics(self) -> FastLaneMetrics:
        """Return the numbers published last."""
        return FastLaneMetrics(*struct.unpack_from("<ddd", self._view, _METRICS_AT))

    def close(self) -> None:
        """Let go of the memory; it stays for others."""
        self._view.release()
        self._shm.close()

    def unlink(self) -> None:
        """Remove the memory; removing it again is harmless."""
        try:
            self._shm.unlink()
        except FileNotFoundError:
            return

    def _slot_at(self, number: int) -> int:
        return _HEADER.size + (number - 1) % self.capacity * self.slot_size


class FastLaneWriter(FastLaneBase):
    """The worker's end."""

    def __init__(self, shm: SharedMemory, config: FastLaneConfig) -> None:
        super().__init__(shm)
        self._config = config

    @classmethod
    def create(cls, run_id: str, config: FastLaneConfig, *, capacity: int | None = None) -> FastLaneWriter:
        """Make the ring for *run_id*.

        Raises:
            FileExistsError: there is one already.
        """
        config = replace(config, capacity=max(1, capacity or config.capacity))
        slot_size = _SLOT.size + config.slot_payload_bytes
        size = _HEADER.size + config.capacity * slot_size
        writer = cls(SharedMemory(create_fastlane_name(run_id), create=True, size=size), config)
        _made_here.add(writer._shm.name)
        pixel_format = zlib.crc32(config.pixel_format.encode())
        shape = (config.width, config.height, config.channels, pixel_format)
        sizes = (config.capacity, slot_size, config.slot_payload_bytes)
        _HEADER.pack_into(writer._view, 0, MAGIC, VERSION, 0, *sizes, *shape, 0, 0, 0.0, 0.0, 0.0)
        return writer

    def publish(
        self, frame: Any, *, metrics: FastLaneMetrics | None = None, metadata: bytes | str | None = None
    ) -> int:
        """Publish *frame* (bytes or an array) and return its number; too much metadata is cut off.

        Raises:
            ValueError: the frame is larger than the ring was made for.
        """
        pixels = bytes(frame) if isinstance(frame, (bytes, bytearray, memoryview)) else frame.tobytes()
        if len(pixels) > self._config.payload_bytes:
            raise ValueError(f"frame of {len(pixels)} bytes does not fit {self._config.payload_bytes}")
        text = metadata.encode() if isinstance(metadata, str) else bytes(metadata or b"")
        text = text[: self._config.metadata_size]
        if metrics is not None:
            numbers = (metrics.last_reward, metrics.rolling_return, metrics.step_rate_hz)
            struct.pack_into("<ddd", self._view, _METRICS_AT, *numbers)
        return self._fill(self.head + 1, pixels, text)

    def _fill(self, number: int, pixels: bytes, text: bytes) -> int:
        slot = self._slot_at(number)
        payload = (pixels + text).ljust(self._config.slot_payload_bytes, b"\0")
        _SLOT.pack_into(self._view, slot, 2 * number + 1, len(pixels), len(text))
        self._view[slot + _SLOT.size : slot + _SLOT.size + len(payload)] = payload
        _SLOT.pack_into(self._view, slot, 2 * number + 2, len(pixels), len(text))
        struct.pack_into("<Q", self._view, _HEAD_AT, number)
        return number


class FastLaneReader(FastLaneBase):
    """The viewer's end."""

    @classmethod
    def attach(cls, run_id: str) -> FastLaneReader:
        """Open the ring of *run_id*.

        Raises:
            FileNotFoundError: there is none.
        """
        return cls(_attached(create_fastlane_name(run_id)))

    def latest_frame(self) -> FastLaneFrame | None:
        """Return the newest whole frame, or None while there is none."""
        head, capacity = self.head, self.capacity
        for number in range(head, max(0, head - capacity), -1):
            frame = self._read(self._slot_at(number))
            if frame is not None:
                return frame
        return None

    def _read(self, slot: int) -> FastLaneFrame | None:
        before, frame_size, text_size = _SLOT.unpack_from(self._view, slot)
        start = slot + _SLOT.size
        pixels = bytes(self._view[start : start + frame_size])
        text = bytes(self._view[start + frame_size : start + frame_size + text_size])
        after = _SLOT.unpack_from(self._view, slot)[0]
        if before % 2 or before != after:
            return None
        return FastLaneFrame(pixels, self.width, self.height, self.channels, self.metrics(), text or None)

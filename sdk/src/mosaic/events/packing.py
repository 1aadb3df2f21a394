"""How the content of a frame is packed: by which codec, and how to get it back whatever the bytes are."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress

import zstandard

from mosaic.errors import MosaicError

STORED = b"s"
#: Read for ever, because stores and spools hold it; nothing packs with it.
ZLIB = b"z"
ZSTD = b"Z"

#: Packs telemetry smaller than zlib does at any level worth its time, in a quarter of that time.
_ZSTD_LEVEL = 1

#: A frame that unpacks to more than this is refused. An agent closes one at half a megabyte, and its longest line has
#: one; a few kilobytes that unpack to gigabytes of short lines would fill the memory of the service.
MAX_UNPACKED_BYTES = 8 * 1024 * 1024


class FrameUnreadable(MosaicError):
    """The bytes are not a frame; reading them again will not help."""

    code = "frame_unreadable"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"these bytes are not a frame of telemetry: {why}")


class _Contexts(threading.local):
    """What zstd works with: expensive to make, and not to be shared by threads."""

    def __init__(self) -> None:
        self.packer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
        self.unpacker = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def pack(parts: Sequence[bytes | memoryview]) -> bytes:
    """Return *parts* packed as one, with a checksum. They are not put together first: that would copy them."""
    packer = _contexts.packer.compressobj(size=sum(map(len, parts)))
    return b"".join((*map(packer.compress, parts), packer.flush()))


def unpack(codec: bytes, packed: bytes) -> bytes:
    """Return what was packed.

    Raises:
        FrameUnreadable: the codec is not known, or *packed* is damaged or unpacks to too much.

    """
    if codec == STORED:
        if len(packed) > MAX_UNPACKED_BYTES:
            raise FrameUnreadable(_too_much("is stored as it is"))
        return packed
    if codec == ZSTD:
        return _unpack_zstd(packed)
    if codec == ZLIB:
        return _unpack_zlib(packed)
    raise FrameUnreadable(f"codec {codec!r} is not known here; is this service older than the agent?")


def unpacked_size(codec: bytes, packed: bytes) -> int:
    """Return how many bytes `unpack` would give at the most, without unpacking anything."""
    if codec == ZSTD:
        with suppress(zstandard.ZstdError):
            return min(MAX_UNPACKED_BYTES, max(0, zstandard.frame_content_size(packed)))
    return min(MAX_UNPACKED_BYTES, len(packed)) if codec == STORED else MAX_UNPACKED_BYTES


def _unpack_zstd(packed: bytes) -> bytes:
    try:
        # Known before anything is unpacked; -1 if the packer did not say, and ours says.
        size = zstandard.frame_content_size(packed)
        if not 0 < size <= MAX_UNPACKED_BYTES:
            raise FrameUnreadable(_too_much("is of unknown size, or empty"))
        return _contexts.unpacker.decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise FrameUnreadable(f"it is cut short or damaged ({error})") from error


def _unpack_zlib(packed: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        unpacked = inflater.decompress(packed, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise FrameUnreadable(f"it cannot be unpacked ({error})") from error
    if not inflater.eof:
        raise FrameUnreadable(_too_much("is cut short"))
    return unpacked


def _too_much(otherwise: str) -> str:
    return f"it {otherwise}, or unpacks to more than {MAX_UNPACKED_BYTES} bytes"

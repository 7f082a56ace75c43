"""What emitters and transports put around an event: undone here, and nowhere else."""

from __future__ import annotations

import base64
import zlib

from lineage_adapter.errors import BodyUnreadable, EncodingUnknown, EventTooLarge
from lineage_adapter.limits import MAX_EVENT_BYTES

__all__ = ["from_base64", "unpack"]

_GZIP_MAGIC = b"\x1f\x8b"


def from_base64(text: str) -> bytes:
    """The bytes behind a transport's base64; raises BodyUnreadable."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise BodyUnreadable("the body is neither valid base64 nor text") from None


def unpack(data: bytes, encoding: str = "") -> bytes:
    """The bytes that the emitter wrote, without gzip. `encoding` is the Content-Encoding, in lower case."""
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise EncodingUnknown(f"Content-Encoding {encoding[:40]!r} is not unpacked here; send gzip, or none")
    # The bytes decide: JSON cannot begin with gzip's two, and a proxy may have unpacked and kept the header.
    return _gunzip(data) if data.startswith(_GZIP_MAGIC) else data


def _gunzip(data: bytes) -> bytes:
    """Unpacks every member of a gzip body, and stops as soon as the result is longer than an event may be."""
    unpacked = b""
    while data:
        stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            unpacked += stream.decompress(data, MAX_EVENT_BYTES + 1 - len(unpacked))
        except zlib.error:
            raise BodyUnreadable("the gzip body is broken") from None
        if len(unpacked) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"the event unpacks to more than the {MAX_EVENT_BYTES:,} bytes that DataZone takes")
        if not stream.eof:
            raise BodyUnreadable("the gzip body ends too early")
        data = stream.unused_data
    return unpacked

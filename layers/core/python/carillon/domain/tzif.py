"""Reader of time zone files (TZif, RFC 9636): bytes to changes of the UTC offset."""

import struct
from dataclasses import dataclass

_HEADER = struct.Struct(">4sc15x6l")
_TTINFO = struct.Struct(">lBB")
_WIDE_LEAP_BYTES = 12
_NARROW_LEAP_BYTES = 8


@dataclass(frozen=True, slots=True)
class ZoneFile:
    """What a zone file says.

    Attributes:
        first_offset: Seconds east of UTC before the first change.
        changes: (UTC epoch second, seconds east of UTC from then on), ascending; an entry may repeat the offset.
        footer: The POSIX TZ text that governs after the last change.
    """

    first_offset: int
    changes: tuple[tuple[int, int], ...]
    footer: str


@dataclass(frozen=True, slots=True)
class _Counts:
    ut_flags: int
    standard_flags: int
    leaps: int
    times: int
    types: int
    letters: int

    def body_bytes(self, time_bytes: int, leap_bytes: int) -> int:
        return (
            self.times * (time_bytes + 1)
            + self.types * _TTINFO.size
            + self.letters
            + self.leaps * leap_bytes
            + self.standard_flags
            + self.ut_flags
        )


def read_zone_file(content: bytes) -> ZoneFile:
    """Read the 64-bit part of a TZif file of version 2 or later.

    Raises:
        ValueError: The content is not such a file.
    """
    narrow = _counts(content, 0)
    start = _HEADER.size + narrow.body_bytes(4, _NARROW_LEAP_BYTES)
    wide = _counts(content, start)
    body = start + _HEADER.size
    times = struct.unpack_from(f">{wide.times}q", content, body)
    kinds = content[body + 8 * wide.times : body + 9 * wide.times]
    types_at = body + 9 * wide.times
    offsets = [_TTINFO.unpack_from(content, types_at + i * _TTINFO.size)[0] for i in range(wide.types)]
    footer = content[body + wide.body_bytes(8, _WIDE_LEAP_BYTES) :]
    return ZoneFile(
        first_offset=offsets[0],
        changes=tuple((time, offsets[kind]) for time, kind in zip(times, kinds, strict=True)),
        footer=footer.decode("ascii").strip("\n"),
    )


def _counts(content: bytes, start: int) -> _Counts:
    magic, version, *counts = _HEADER.unpack(content[start : start + _HEADER.size].ljust(_HEADER.size, b"\0"))
    if magic != b"TZif" or version < b"2":
        raise ValueError("not a time zone file of version 2 or later")
    return _Counts(*counts)

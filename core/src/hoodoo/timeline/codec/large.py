"""Parts of a large commit: one of 100,000 files has some 20 MB of Avro, and most callers need
little of it.

Avro has no index, so these functions look for the encoded bytes of a key and decode from there.
They check what they decode; where the check fails, or the file is not as expected, they return
None, and the caller decodes the whole file.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, overload

import fastavro

from hoodoo.model.commit import WriteStat
from hoodoo.timeline import stats
from hoodoo.timeline.codec import avro

# Files of more bytes than this, of some 700 write stats, are decoded in parts.
LARGE = 1 << 17
STATS = "partitionToWriteStats"
_EXTRA = "extraMetadata"
_TRUE = b"\x02\x01"  # of the union of null and boolean
# The extra metadata begins within so many bytes before its entry ``schema``, or is not looked for.
_BEFORE_SCHEMA = 1 << 14
Raw = dict[str, Any]


def is_large(data: bytes) -> bool:
    """Return True if ``data`` is an Avro file that is worth to be decoded in parts."""
    return len(data) > LARGE and data.startswith(avro.MAGIC)


class LazyStats(Sequence[WriteStat]):
    """The write stats of a large commit, decoded when somebody asks for them.

    All members raise :class:`~hoodoo.errors.CorruptTableError` that names ``where``.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self._data, self._where = data, where
        self._whole: tuple[WriteStat, ...] | None = None

    def within(self, partitions: Collection[str]) -> tuple[WriteStat, ...]:
        """Return the write stats of some partition paths, in any order."""
        found = stats_in(self._data, partitions) if self._whole is None else None
        if found is None:
            return tuple(stat for stat in self if stat.partition_path in partitions)
        return self._made(found)

    def first(self, count: int) -> tuple[WriteStat, ...]:
        """Return about ``count`` write stats."""
        found = first_stats(self._data, count) if self._whole is None else None
        if found is None:
            return self.all[:count]
        return tuple(stat for raw in found for stat in self._made({raw["partitionPath"]: [raw]}))

    @property
    def all(self) -> tuple[WriteStat, ...]:
        """All write stats, decoded on first use. Raises CorruptTableError, naming the file."""
        if self._whole is None:
            self._whole = self._made(avro.decode(self._data, self._where)[STATS])
            self._data = b""
        return self._whole

    def _made(self, raw: Mapping[str, Sequence[Raw]]) -> tuple[WriteStat, ...]:
        return stats.write_stats(raw, stats.AVRO, self._where)

    @overload
    def __getitem__(self, at: int) -> WriteStat: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[WriteStat, ...]: ...
    def __getitem__(self, at: int | slice) -> WriteStat | tuple[WriteStat, ...]:
        return self.all[at]

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[WriteStat]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return self.all == (other.all if isinstance(other, LazyStats) else other)


def stats_in(data: bytes, partitions: Collection[str]) -> dict[str, list[Raw]] | None:
    """Return the write stats of some partition paths; a path that the commit does not name is left
    out."""
    opened = _Opened.of(data)
    if opened is None or "" in partitions:  # every byte may be an empty key
        return None
    found: dict[str, list[Raw]] = {}
    for path in partitions:
        key = _text(path)
        at = data.rfind(key, opened.start)  # find takes twice the time
        while at >= 0 and path not in found:
            raw = opened.decoded(at + len(key), opened.values)
            if isinstance(raw, list) and raw and all(s["partitionPath"] == path for s in raw):
                found[path] = raw
            elif (at := data.rfind(key, opened.start, at + len(key) - 1)) < 0:
                return None  # the key is there, and not as expected
    return found


def first_stats(data: bytes, count: int) -> list[Raw] | None:
    """Return write stats of the partition paths that come first in the file, ``count`` or a few
    more."""
    opened = _Opened.of(data)
    found: list[Raw] = []
    for raw in () if opened is None else opened.walk():
        found += raw
        if len(found) >= count:
            return found
    return None


def from_extra(data: bytes) -> Raw | None:
    """Return the fields of the record but its write stats."""
    opened = _Opened.of(data)
    at = data.rfind(_text("schema"))
    if opened is None or at < 0:
        return None
    end = len(data) - avro.SYNC
    for start in range(at - 1, max(opened.start, at - _BEFORE_SCHEMA), -1):
        record = opened.decoded(start, opened.rest)
        if opened.file.tell() == end and "schema" in ((record or {}).get(_EXTRA) or {}):
            return {**record, "compacted": data[start - 2 : start] == _TRUE}
    return None


def _text(value: str) -> bytes:
    """Encode a string as Avro does: its length, zigzag and in groups of seven bits, then its
    bytes."""
    text = value.encode()
    number, size = 2 * len(text), bytearray()
    while number > 0x7F:
        size.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(size) + bytes((number,)) + text


class _Opened:
    """A file that is open at its only record. ``values``: the schema of the write stats of one
    partition path, ``rest``: that of the fields from ``extraMetadata`` on. ``start``: the offset of
    the record."""

    def __init__(self, file: io.BytesIO, values: Any, rest: Any) -> None:
        self.file, self.values, self.rest = file, values, rest
        self.start = file.tell()

    @classmethod
    def of(cls, data: bytes) -> _Opened | None:
        """Open an uncompressed Avro file of commit metadata; None if it has another form."""
        try:
            file, schema, codec = avro.opened(data)
            first, *others = schema["fields"]
            (by_path,) = (t for t in first["type"] if isinstance(t, dict))
            extra = [field["name"] for field in others].index(_EXTRA)
            rest = fastavro.parse_schema({**schema, "name": "Rest", "fields": others[extra:]})
        except Exception:  # whatever the bytes provoke
            return None
        return (
            None
            if codec != b"null" or first["name"] != STATS
            else cls(file, by_path["values"], rest)
        )

    def decoded(self, at: int, schema: Any) -> Any:
        """Decode a value at an offset; None if there is none."""
        self.file.seek(at)
        try:
            return fastavro.schemaless_reader(self.file, schema, None)
        except Exception:
            return None

    def walk(self) -> Iterator[list[Raw]]:
        """Yield the write stats of each partition path, from the first one on; end where the file
        is not as expected."""
        self.file.seek(self.start)
        if _long(self.file) != 1:  # of the union of null and a map
            return
        while count := _long(self.file):
            if count < 0:
                _long(self.file)  # the bytes of this part of the map
            for _ in range(abs(count)):
                self.file.seek(_long(self.file), io.SEEK_CUR)
                raw = self.decoded(self.file.tell(), self.values)
                if not isinstance(raw, list):
                    return
                yield raw


def _long(file: io.BytesIO) -> int:
    shift = number = 0
    while byte := file.read(1):
        number |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (number >> 1) ^ -(number & 1)
        shift += 7
    raise EOFError

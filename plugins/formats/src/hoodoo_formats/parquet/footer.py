"""The footer of a parquet file as a tree, and back.

A footer is Thrift, whose compact protocol says the type of each field: so a tree needs no
definition of what may be in it, and what this module does not know is kept as it is. Numbers of
fields are those of ``parquet.thrift``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer, TTransportBase

# Number of a field -> its Thrift type and its value. A list is the type of its items, and the
# items.
Struct = dict[int, tuple[int, Any]]

MAGIC = b"PAR1"
_TAIL = 8
_PIECE = 64 << 10
# Limits of a text, not an allocation: footers carry bloom filters of many MB.
_LONGEST = 1 << 30

# FileMetaData
VERSION, SCHEMA, ROWS, GROUPS, TEXTS, CREATED_BY, ORDERS, ENCRYPTION, SIGNING_KEY = range(1, 10)
# RowGroup
CHUNKS, GROUP_RAW, GROUP_ROWS, _SORTING, GROUP_START, GROUP_BYTES, ORDINAL = range(1, 8)
# ColumnChunk
FOREIGN_FILE, CHUNK_PLACE, CHUNK_META = range(1, 4)
CRYPTO = frozenset({8, 9})
# ColumnMetaData
PATH, CODEC, VALUES, RAW_BYTES, BYTES = range(3, 8)
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE = 9, 10, 11
PARQUET_BLOOM = frozenset({14, 15})
KNOWN_META = frozenset(range(1, 18))
# SchemaElement
REPETITION, NAME, CHILDREN, FIELD_ID = 3, 4, 5, 9


class NoFooter(Exception):
    """Bytes that are no footer as this module knows them."""


def length(file: pa.NativeFile) -> int:
    """Bytes of the footer of an open parquet file. Raises NoFooter."""
    size = file.size()
    tail = bytes(file.read_at(_TAIL, max(0, size - _TAIL)))
    found = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or found > size - _TAIL - len(MAGIC):
        raise NoFooter("it does not end as a parquet file")
    return found


def read(file: pa.NativeFile) -> tuple[Struct, int]:
    """The footer of an open parquet file, and where it begins. Raises NoFooter."""
    size = length(file)
    start = file.size() - _TAIL - size
    return parsed(bytes(file.read_at(size, start))), start


@frozen
class LongText:
    """A text of a footer that has not been read: where it is in the file, and its bytes."""

    place: int
    size: int

    def read(self, file: pa.NativeFile) -> bytes:
        """The text. Raises NoFooter where the file ends within it."""
        found = bytes(file.read_at(self.size, self.place))
        if len(found) != self.size:
            raise NoFooter("it ends within a text of its footer")
        return found


def read_in_part(file: pa.NativeFile, longest: int) -> Struct:
    """The footer of an open parquet file, in which a text of more than ``longest`` bytes is a
    :class:`LongText`. Raises NoFooter."""
    size = length(file)
    return _parsed(_Pieces(file, file.size() - _TAIL - size, size, longest))


class _Pieces(TTransportBase):  # type: ignore[misc]  # has no types
    """Reads ``size`` bytes of a file from ``place`` on, in pieces, and passes over long texts."""

    def __init__(self, file: pa.NativeFile, place: int, size: int, longest: int) -> None:
        self._file, self._longest = file, longest
        self._place, self._end = place, place + size  # of what is not in the piece
        self._piece, self._at = b"", 0

    def readAll(self, size: int) -> Any:  # noqa: N802 (the name is that of thrift)
        """The next ``size`` bytes."""
        left = len(self._piece) - self._at
        if size > self._longest:
            place = self._place - left
            if place + size > self._end:
                raise EOFError("a text is longer than the footer")
            self._at += min(left, size)
            self._place = max(self._place, place + size)
            return LongText(place, size)
        if size > left:
            more = bytes(
                self._file.read_at(min(_PIECE, self._end - self._place), self._place)
            )
            self._place += len(more)
            self._piece, self._at = self._piece[self._at :] + more, 0
            if size > len(self._piece):
                raise EOFError("the footer ends within a field")
        self._at += size
        return self._piece[self._at - size : self._at]


def parsed(content: bytes) -> Struct:
    """The tree of a footer's bytes, or of another structure's, which may have others behind it.
    Raises NoFooter."""
    return _parsed(TMemoryBuffer(content))


def _parsed(source: TTransportBase) -> Struct:
    try:
        return _read_struct(_protocol(source))
    except (TException, TProtocolException, EOFError, KeyError, AssertionError) as error:
        raise NoFooter(str(error)) from error


def serialized(tree: Struct) -> bytes:
    """The bytes of a tree, with the length and the mark that end a file."""
    sink = TMemoryBuffer()
    _write_struct(_protocol(sink), tree)
    content = sink.getvalue()
    return bytes(content) + len(content).to_bytes(4, "little") + MAGIC


def value(tree: Struct, number: int, default: Any = None) -> Any:
    """The value of a field; of a list, its items."""
    found = tree.get(number)
    if found is None:
        return default
    return found[1][1] if found[0] == TType.LIST else found[1]


def integer(number: int) -> tuple[int, int]:
    """A field of 64 bits."""
    return TType.I64, number


def integer32(number: int) -> tuple[int, int]:
    """A field of 32 bits."""
    return TType.I32, number


def short(number: int) -> tuple[int, int]:
    """A field of 16 bits."""
    return TType.I16, number


def structs(items: list[Struct]) -> tuple[int, tuple[int, list[Struct]]]:
    """A field that is a list."""
    return TType.LIST, (TType.STRUCT, items)


def struct(tree: Struct) -> tuple[int, Struct]:
    """A field that is a structure."""
    return TType.STRUCT, tree


def text_entries(tree: Struct) -> dict[bytes, bytes | LongText]:
    """The key-value metadata of a footer."""
    return {value(entry, 1): value(entry, 2, b"") for entry in value(tree, TEXTS, [])}


def texts(entries: Mapping[str | bytes, str | bytes]) -> tuple[int, tuple[int, list[Struct]]]:
    """The field of key-value metadata."""
    made = [
        {1: (TType.STRING, _bytes(k)), 2: (TType.STRING, _bytes(v))} for k, v in entries.items()
    ]
    return structs(made)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _protocol(transport: Any) -> Any:
    return TCompactProtocol(transport, string_length_limit=_LONGEST)


def _read_struct(source: Any) -> Struct:
    found: Struct = {}
    source.readStructBegin()
    while True:
        _, kind, number = source.readFieldBegin()
        if kind == TType.STOP:
            break
        found[number] = (kind, _read(source, kind))
        source.readFieldEnd()
    source.readStructEnd()
    return found


def _read_list(source: Any) -> tuple[int, list[Any]]:
    kind, count = source.readListBegin()
    items = [_read(source, kind) for _ in range(count)]
    source.readListEnd()
    return kind, items


def _read(source: Any, kind: int) -> Any:
    return _calls(kind)[0](source)


def _write_struct(sink: Any, tree: Struct) -> None:
    sink.writeStructBegin(None)
    for number in sorted(tree):
        kind, found = tree[number]
        sink.writeFieldBegin(None, kind, number)
        _calls(kind)[1](sink, found)
        sink.writeFieldEnd()
    sink.writeFieldStop()
    sink.writeStructEnd()


def _write_list(sink: Any, found: tuple[int, list[Any]]) -> None:
    kind, items = found
    write = _calls(kind)[1]
    sink.writeListBegin(kind, len(items))
    for item in items:
        write(sink, item)
    sink.writeListEnd()


def _calls(kind: int) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """What reads and writes a value of a type. KeyError for one that no footer has."""
    return _CALLS[kind]


_CALLS: dict[int, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    TType.BOOL: (TCompactProtocol.readBool, TCompactProtocol.writeBool),
    TType.BYTE: (TCompactProtocol.readByte, TCompactProtocol.writeByte),
    TType.I16: (TCompactProtocol.readI16, TCompactProtocol.writeI16),
    TType.I32: (TCompactProtocol.readI32, TCompactProtocol.writeI32),
    TType.I64: (TCompactProtocol.readI64, TCompactProtocol.writeI64),
    TType.DOUBLE: (TCompactProtocol.readDouble, TCompactProtocol.writeDouble),
    TType.STRING: (TCompactProtocol.readBinary, TCompactProtocol.writeBinary),
    TType.LIST: (_read_list, _write_list),
    TType.STRUCT: (_read_struct, _write_struct),
}

"""The footer of a parquet file as a tree, and back.

A footer is Thrift, whose compact protocol says the type of each field: so a tree needs no
definition of what may be in it, and what this module does not know is kept as it is. Numbers of
fields are those of ``parquet.thrift``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
from attrs import frozen
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

# Number of a field -> its Thrift type and its value. A list is the type of its items, and the
# items.
Struct = dict[int, tuple[int, Any]]

MAGIC = b"PAR1"
_TAIL = 8
# So much of a footer is looked through for a text: it has the row groups, and then texts.
_HEAD = 256 << 10
# Trees of longer footers are not remembered: they take some 40 times as many bytes.
_REMEMBERED = 64 << 10
# Compact protocol: a text that is the next field of its structure; the most bytes of a number.
_TEXT, _LONGEST_NUMBER = 0x18, 5
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


def read(file: pa.NativeFile, known: bytes | None = None) -> tuple[Struct, int]:
    """The footer of an open parquet file, and where it begins. ``known``: its bytes, if they have
    been read, maybe without a text. Raises NoFooter."""
    start = file.size() - _TAIL - length(file)
    return parsed(content(file) if known is None else known), start


def content(file: pa.NativeFile) -> bytes:
    """The bytes of the footer of an open parquet file. Raises NoFooter."""
    size = length(file)
    return bytes(file.read_at(size, file.size() - _TAIL - size))


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


def without_text(file: pa.NativeFile, key: str) -> tuple[bytes, LongText]:
    """The bytes of a footer whose key-value metadata has an empty text in place of that of ``key``,
    which was not read. Raises NoFooter where the text does not follow its key, near the beginning.

    What is found is a guess: bytes of another field could look like the key and its text. Whoever
    parses the answer sees whether it is a footer."""
    size = length(file)
    start = file.size() - _TAIL - size
    head = bytes(file.read_at(min(size, _HEAD), start))
    name = key.encode()
    mark = bytes([_TEXT, len(name)]) + name + bytes([_TEXT])
    at = head.find(mark)
    if at < 0:
        raise NoFooter(f"the beginning of its footer has no text {key}")
    at += len(mark)
    count = shift = 0
    for place in range(at, min(at + _LONGEST_NUMBER, len(head))):
        count |= (head[place] & 0x7F) << shift
        shift += 7
        if head[place] < 0x80:
            text = LongText(start + place + 1, count)
            after = place + 1 + count
            if after > size:
                break
            more = max(after, len(head))
            rest = head[after:] + bytes(file.read_at(size - more, start + more))
            return head[:at] + b"\0" + rest, text
    raise NoFooter("a text is longer than its footer")


def file_of(content: bytes) -> pa.BufferReader:
    """A file that has the footer ``content``, and nothing before it."""
    return pa.BufferReader(MAGIC + content + len(content).to_bytes(4, "little") + MAGIC)


def known(content: bytes) -> Struct:
    """The same as :func:`parsed`, of a footer that is read again and again. Nobody changes it."""
    return _remembered(content) if len(content) <= _REMEMBERED else parsed(content)


@lru_cache(maxsize=16)
def _remembered(content: bytes) -> Struct:
    return parsed(content)


def parsed(content: bytes) -> Struct:
    """The tree of a footer's bytes, or of another structure's, which may have others behind it.
    Raises NoFooter."""
    try:
        return _read_struct(_protocol(TMemoryBuffer(content)))
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


def texts(entries: dict[str, str | bytes]) -> tuple[int, tuple[int, list[Struct]]]:
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

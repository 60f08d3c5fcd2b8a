"""What is in the files of a folder, looked at without hoodoo-erasure and without Hoodoo's readers:
Parquet by pyarrow, Avro by fastavro, HFiles by a dump, gzip by zlib, wherever they are."""

from __future__ import annotations

import io
import json
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hfile_dump import blocks
from hoodoo.storage.api import Storage

MARK = b"PAR1"
_DEEP = 4


def unpacked(path: str, data: bytes, depth: int = 0) -> Iterator[bytes]:
    """The bytes of a file, and of what is compressed or encoded in them, wherever it lies."""
    yield path.encode()
    yield data
    if depth == _DEEP:
        return
    for match in re.finditer(b"\x1f\x8b\x08", data):
        try:
            yield zlib.decompressobj(31).decompress(data[match.start() :])
        except zlib.error:
            continue  # these bytes are no gzip stream
    marks = [match.start() for match in re.finditer(MARK, data)]
    for start, end in zip(marks, marks[1:], strict=False):
        yield from parquet(path, data[start : end + 4], depth)
    for match in re.finditer(b"Obj\x01", data):
        try:
            for block in fastavro.block_reader(io.BytesIO(data[match.start() :])):
                yield block.bytes_.getvalue()
        except (ValueError, EOFError, KeyError):
            if match.start() == 0 and len(data) > 64:
                raise
    yield from blocks(data)
    if data.startswith(b"ARROW1"):
        yield from values(path, pa.ipc.open_file(data).read_all().to_pylist(), depth)


def parquet(path: str, data: bytes, depth: int = 0) -> Iterator[bytes]:
    try:
        rows = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        return  # the space between two Parquet files
    yield from values(path, rows.to_pydict(), depth)
    for name in rows.column_names:  # entries of dictionaries that no row has
        try:
            found = pq.read_table(
                pa.BufferReader(data), columns=[name], read_dictionary=[name]
            ).column(0)
        except (pa.ArrowException, OSError):
            continue  # it is encoded otherwise
        for chunk in found.chunks:
            if pa.types.is_dictionary(chunk.type):
                yield from values(path, chunk.dictionary.to_pylist(), depth)


def values(path: str, value: Any, depth: int) -> Iterator[bytes]:
    """Each value of nested ones as text or bytes; bytes may be a file of their own."""
    if isinstance(value, dict):
        for one in value.values():
            yield from values(path, one, depth)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from values(path, one, depth)
    elif isinstance(value, str):
        yield value.encode()
    elif isinstance(value, bytes):
        yield from unpacked(path, value, depth + 1)
    elif isinstance(value, (int, float, Decimal, date)):
        yield str(value).encode()


def forms(text: str) -> set[bytes]:
    """The bytes that ``text`` may stand as: plain, in JSON, in a URL; a long whole number also as
    eight bytes, or as Avro writes it."""
    found = {text.encode(), json.dumps(text)[1:-1].encode(), quote(text, safe="").encode()}
    if text.isdecimal() and len(text) > 8:
        number = int(text)
        found |= {struct.pack("<q", number), struct.pack(">q", number), _varint(number << 1)}
    return found


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def files_with(storage: Storage, texts: Sequence[str]) -> list[str]:
    """The files in which one of ``texts`` is."""
    wanted = re.compile(b"|".join(re.escape(one) for text in texts for one in sorted(forms(text))))
    return [
        entry.path
        for entry in storage.list("", recursive=True)
        if any(wanted.search(part) for part in unpacked(entry.path, storage.get(entry.path)))
    ]

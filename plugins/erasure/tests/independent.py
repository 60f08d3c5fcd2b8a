"""What is in the files of a folder, looked at without hoodoo-erasure."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Sequence

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.storage.api import Storage
from hoodoo_metadata.hfile.reader import HFile
from hoodoo_metadata.hfile.window import FileWindow

MARK = b"PAR1"


def unpacked(path: str, data: bytes) -> Iterator[bytes]:
    """The bytes of a file, and of what is compressed or encoded in them, wherever it lies."""
    yield path.encode()
    yield data
    for match in re.finditer(b"\x1f\x8b\x08", data):
        try:
            yield zlib.decompressobj(31).decompress(data[match.start() :])
        except zlib.error:
            continue  # these bytes are no gzip stream
    marks = [match.start() for match in re.finditer(MARK, data)]
    for start, end in zip(marks, marks[1:], strict=False):
        yield from parquet(data[start : end + 4])
    if data.startswith(b"Obj\x01"):
        for block in fastavro.block_reader(io.BytesIO(data)):
            yield block.bytes_.getvalue()
    if path.endswith(".hfile"):
        for batch in HFile.open(FileWindow.on(data)).scan():
            yield from (value.as_py() for column in batch.columns for value in column)


def parquet(data: bytes) -> Iterator[bytes]:
    try:
        yield str(pq.read_table(pa.BufferReader(data)).to_pylist()).encode()
    except (pa.ArrowException, OSError):
        return  # the space between two Parquet files
    names = pq.read_schema(pa.BufferReader(data)).names
    for name in names:  # entries of dictionaries that no row has
        try:
            found = pq.read_table(
                pa.BufferReader(data), columns=[name], read_dictionary=[name]
            ).column(0)
        except (pa.ArrowException, OSError):
            continue  # it is encoded otherwise
        for chunk in found.chunks:
            if pa.types.is_dictionary(chunk.type):
                yield str(chunk.dictionary.to_pylist()).encode()


def files_with(storage: Storage, texts: Sequence[str]) -> list[str]:
    """The files in which one of ``texts`` is."""
    wanted = [text.encode() for text in texts]
    return [
        entry.path
        for entry in storage.list("", recursive=True)
        if any(
            text in part
            for part in unpacked(entry.path, storage.get(entry.path))
            for text in wanted
        )
    ]

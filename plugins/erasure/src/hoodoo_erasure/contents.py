"""Contents: what is in a file, decoded, whatever wrote it: Parquet, log files, HFiles, Avro, Arrow,
gzip."""

from __future__ import annotations

import io
import json
import secrets
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat, key_filter
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo_metadata.hfile.reader import HFile
from hoodoo_metadata.hfile.window import FileWindow

from hoodoo_erasure.sought import RECORD_KEYS, Part

_BOUND_KEYS = ("hoodie_min_record_key", "hoodie_max_record_key", "minRecordKey", "maxRecordKey")
_SECONDARY = "secondary_index_"
_OF_FILES = ("files", "column_stats", "partition_stats", "bloom_filters", _SECONDARY)
_STATS = ("column_stats", "partition_stats")
_ENTRY = r"(?s)^(?:[^\\$]|\\.)*\$(?P<key>.*)$"  # of a secondary index: value, $, record key
_ARCHIVED = ".hoodie/archived/"
_ROWS = 16_384
_PROBES = 256
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


@frozen
class Decoding:
    """How the files of one table are decoded. ``generator`` makes record keys of columns; None
    where rows have none."""

    logs: LogFiles
    file_format: BaseFileFormat
    generator: KeyGenerator | None = None

    @property
    def key_columns(self) -> frozenset[str]:
        """The columns each value of which is a record key."""
        fields = () if self.generator is None else self.generator.record_key_fields
        return frozenset({RECORD_KEY, *(fields if len(fields) == 1 else ())})

    def kind(self, path: str, head: bytes) -> str:
        """What a file that begins with ``head`` is decoded as; ``bytes`` if as nothing."""
        return next((kind for kind, (fits, _) in _KINDS.items() if fits(path, head)), "bytes")

    def parts(self, kind: str, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        """What is in ``file``, which is open. Raises what damaged bytes provoke."""
        found = _KINDS.get(kind)
        return iter(()) if found is None else found[1](self, storage, path, file)

    def filtered(self, storage: Storage, path: str, keys: pa.Array) -> list[str]:
        """Those of ``keys`` that the bloom filter of a base file has: rows that are deleted may
        have left them. None of a filter that has other keys as well, by chance."""
        if path.startswith(".hoodie/") or not isinstance(parse_path(path), BaseFile):
            return []
        with self.file_format.reader(storage, path) as reader:
            known = key_filter(reader)
            if known is None or pc.any(known.might_contain(_others())).as_py():
                return []
            found: list[str] = keys.filter(known.might_contain(keys)).to_pylist()
            return found

    # --- kinds of files ----------
    def parquet(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        parquet = pq.ParquetFile(file)
        schema, metadata = parquet.schema_arrow, parquet.metadata
        # As dictionaries: an entry that no row has is in the file all the same.
        encoded = _encoded(metadata, schema)
        parquet = pq.ParquetFile(file, read_dictionary=encoded, metadata=metadata)
        for name, value in (metadata.metadata or {}).items():
            place = RECORD_KEYS if name.decode("utf-8", "replace") in _BOUND_KEYS else "footer"
            yield Part(place, pa.array([value], pa.binary()))
        for group in range(metadata.num_row_groups):
            yield from self._bounds(metadata.row_group(group), schema)
        for batch in parquet.iter_batches(_ROWS):
            yield from self.rows(batch)

    def _bounds(self, group: pq.RowGroupMetaData, schema: pa.Schema) -> Iterator[Part]:
        """The smallest and largest values of the columns of record keys."""
        for number in range(group.num_columns):
            column = group.column(number)
            known = column.statistics
            if known is None or not known.has_min_max or column.path_in_schema not in schema.names:
                continue
            name = column.path_in_schema
            if name in self.key_columns:
                values = pa.array([known.min, known.max])
                yield from self.rows(pa.record_batch([values], [name]))

    def rows(self, batch: pa.RecordBatch) -> Iterator[Part]:
        """The columns of rows, and the record keys that are made of them."""
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            yield Part(RECORD_KEYS if name == RECORD_KEY else f"column {name}", values)
        fields = () if self.generator is None else self.generator.record_key_fields
        if self.generator is not None and fields and {*fields} <= {*batch.schema.names}:
            plain = [_plain(batch.column(name)) for name in fields]
            try:
                made = self.generator.record_keys(pa.record_batch(plain, list(fields)))
            except HoodooError:  # a row without a key: nobody looks for it
                return
            yield Part(RECORD_KEYS, made)

    def log(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        with self.logs.reader(storage, path) as reader:
            if reader.damages:
                raise ValueError(str(reader.damages[0]))
            for block in reader.blocks:
                where = block.content_start, block.content_size
                if block.kind == BlockKind.HFILE:
                    window = FileWindow.of(storage, path, *where)
                    yield from _entries(path, window, block.schema_text, self.key_columns)
                elif block.kind == BlockKind.PARQUET:
                    content = file.read_at(where[1], where[0])
                    yield from self.parquet(storage, path, pa.BufferReader(content))
                elif block.kind == BlockKind.DELETE:
                    yield Part(RECORD_KEYS, reader.deletes(block, ()).column("record_key"))
                elif block.has_rows:
                    for batch in reader.rows(block).to_batches(_ROWS):
                        yield from self.rows(batch)

    def hfile(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        yield from _entries(path, FileWindow.of(storage, path), "", self.key_columns)

    def avro(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        """Blocks as they are before compression: texts stand in them as they are."""
        for block in fastavro.block_reader(io.BytesIO(file.read())):
            plain: Any = block  # fastavro does not declare what it has
            yield Part("Avro", plain.bytes_.getvalue())

    def arrow(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield from self.rows(reader.get_batch(number))

    def gzip(self, storage: Storage, path: str, file: pa.NativeFile) -> Iterator[Part]:
        yield Part("gzip", zlib.decompressobj(31).decompress(file.read()))


def _starts(magic: bytes) -> Callable[[str, bytes], bool]:
    return lambda path, head: head.startswith(magic)


_KINDS = {
    "Parquet": (_starts(b"PAR1"), Decoding.parquet),
    # The archived timeline of version 6 has log files of another kind, in which texts stand as they
    # are.
    "log file": (
        lambda path, head: head.startswith(b"#HUDI#") and not path.startswith(_ARCHIVED),
        Decoding.log,
    ),
    "HFile": (
        lambda path, head: path.endswith(".hfile") or head.startswith(b"DATABLK"),
        Decoding.hfile,
    ),
    "Avro": (_starts(b"Obj\x01"), Decoding.avro),
    "Arrow": (_starts(b"ARROW1"), Decoding.arrow),
    "gzip": (_starts(b"\x1f\x8b\x08"), Decoding.gzip),
}


def _others() -> pa.Array:
    """Keys that no table has."""
    return pa.array([secrets.token_hex(12) for _ in range(_PROBES)])


def _encoded(metadata: pq.FileMetaData, schema: pa.Schema) -> list[str]:
    """The columns of texts that have a dictionary, and encodings that Arrow reads as one."""
    found = {f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_binary(f.type)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    each = [group.column(number) for group in groups for number in range(group.num_columns)]
    for chunk in each:
        if not chunk.has_dictionary_page or not {*chunk.encodings} <= _ENCODINGS:
            found.discard(chunk.path_in_schema)
    return sorted(found)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


# --- HFiles ----------
def _entries(path: str, window: FileWindow, text: str, columns: Collection[str]) -> Iterator[Part]:
    """Entries of a metadata table: their keys are record keys, or have one behind a ``$``, or name
    files; the values are rows, in which texts stand as they are. ``text``: the schema of the rows,
    where the file does not have it. ``columns``: those whose values are record keys."""
    file, folder = HFile.open(window), path.rpartition("/")[0].rpartition("/")[2]
    for name, value in file.info.items():
        place = RECORD_KEYS if name in _BOUND_KEYS else "file info"
        yield Part(place, pa.array([value], pa.binary()))
    text = file.info.get("schema", b"").decode() or text
    for batch in file.scan():
        keys, values = batch.column(0), batch.column(1)
        yield Part("entry" if folder.startswith(_OF_FILES) else RECORD_KEYS, keys)
        if folder.startswith(_SECONDARY):
            split = pc.extract_regex(keys.cast(pa.string()), _ENTRY).drop_null()
            plain = pc.replace_substring_regex(split.field("key"), r"\\(.)", r"\1")
            yield Part(RECORD_KEYS, plain)
        yield Part("value", values)
        if folder in _STATS and text:
            limits = list(_limits(values, json.loads(text), columns))
            yield Part(RECORD_KEYS, pa.array(limits, pa.string()))


def _limits(values: pa.Array, schema: Any, columns: Collection[str]) -> Iterator[str]:
    """The smallest and largest values that column statistics have of ``columns``, as texts. There
    are as many rows as files have columns."""
    parsed = fastavro.parse_schema(schema, _force=True)
    for value in filter(None, values.to_pylist()):
        row: Any = fastavro.schemaless_reader(io.BytesIO(value), parsed, None)
        stats = row.get("ColumnStatsMetadata") or {}
        if stats.get("columnName") in columns:
            bounds = (stats.get("minValue"), stats.get("maxValue"))
            yield from (str(b["value"]) for b in bounds if b and b.get("value") is not None)

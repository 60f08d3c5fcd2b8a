"""Entries of one file group of the metadata table: what its HFiles say of a key, the newest first.

A group is read in layers: each HFile and each delete block of its log files, then its base file.
The value of a key in a newer layer takes the place of older ones, and a delete hides them; where a
partition merges values instead (``files``, ``partition_stats``), all of them are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import CorruptTableError, warn
from hoodoo.hookspecs.log_format import LogFileReader
from hoodoo.kernel.log_files import log_files
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.log_block import BlockKind, LogBlock, kind_name
from hoodoo.storage.api import Storage
from hoodoo.storage.together import opened_ahead
from hoodoo_rows.api import Batches

from hoodoo_metadata.hfile import ENTRIES, FileWindow, HFile
from hoodoo_metadata.hfile.java_order import in_byte_order
from hoodoo_metadata.table.counted_blocks import CountedBlocks
from hoodoo_metadata.table.schema import FIX, decode_row, encode_row

UNSUMMED = (
    "HFiles of its metadata table have zeros where their checksums belong, as hudi-rs writes them: "
    "damage of their bytes "
    "may not be noticed"
)
_warned: set[str] = set()  # the roots of metadata tables of which this process has said so


@frozen
class Layer:
    """Entries, or (``hfile`` is None) the keys that are deleted. ``instant`` wrote it."""

    instant: str
    hfile: HFile | None
    schema_text: str = ""
    deleted: pa.Array | None = None
    # Values are given in the schema that this version writes, whatever they were written with.
    recoded: bool = False

    def get(self, keys: pa.Array, how: str = "auto", apart: bool = False) -> pa.Table:
        """The entries of ``keys``; of deleted ones with a null value. ``how``, ``apart``: see
        :meth:`~hoodoo_metadata.hfile.HFile.get`."""
        if self.hfile is not None:
            return self._coded(self.hfile.get(keys, how, apart))
        assert self.deleted is not None
        found = keys.filter(pc.is_in(keys, value_set=self.deleted))
        return pa.table([found, pa.nulls(len(found), pa.binary())], schema=ENTRIES)

    def all(self) -> pa.Table:
        if self.hfile is not None:
            return pa.Table.from_batches(self.scan(), ENTRIES)
        assert self.deleted is not None
        return pa.table([self.deleted, pa.nulls(len(self.deleted), pa.binary())], schema=ENTRIES)

    def coded(self, schema_text: str) -> Layer:
        """This layer with values of ``schema_text``, which :func:`record_schema` answered."""
        same = self.hfile is None or self.schema_text == schema_text
        if same or json.loads(self.schema_text) == json.loads(schema_text):
            return self
        return evolve(self, recoded=True)

    def scan(self) -> Iterator[pa.RecordBatch]:
        """The entries of the HFile, ascending as bytes, also where Hudi has put them in the order
        of Java's strings."""
        assert self.hfile is not None
        for batch in in_byte_order(self.hfile.scan()):
            yield from self._coded(pa.Table.from_batches([batch])).to_batches()

    def _coded(self, found: pa.Table) -> pa.Table:
        empty = pc.equal(pc.binary_length(found.column("value")), 0)
        if pc.any(empty).as_py():  # the growing index keeps what is deleted so
            values = pc.if_else(empty, pa.scalar(None, pa.binary()), found.column("value"))
            found = found.set_column(1, ENTRIES.field(1), values)
        if not self.recoded:
            return found
        # Row by row: it happens once, where an older version of Hudi wrote the group.
        rows = [
            encode_row(decode_row(v, self.schema_text)) for v in found.column("value").to_pylist()
        ]
        return pa.table([found.column("key"), pa.array(rows, pa.binary())], schema=ENTRIES)


def open_ahead(storage: Storage, slices: Iterable[FileSlice]) -> None:
    """Read the files of ``slices`` side by side, as far as the store keeps them for
    :func:`layers`."""
    files = [file for s in slices for file in (s.base_file, *s.log_files) if file is not None]
    opened_ahead(storage, ((file.path, file.size) for file in files))


def layers(
    storage: Storage, slice_: FileSlice, schema_text: str | None = None
) -> tuple[Layer, ...]:
    """The layers of ``slice_``, the newest first. Opens every file; reads no data block of an
    HFile. ``schema_text``: values are given as of this schema, that of this version, whatever they
    were written with.

    Raises CorruptTableError for a file that is missing or damaged: an entry less is a wrong answer.
    """
    found: list[Layer] = []
    open_ahead(storage, [slice_])
    base = slice_.base_file
    if base is not None:
        opened = HFile.open(FileWindow.of(storage, base.path, size=base.size or None))
        text = opened.info.get("schema", b"").decode()
        found.append(Layer(base.instant, opened, text))
    counted: CountedBlocks | None = getattr(storage, "blocks", None)
    if counted is not None:
        found += _counted_layers(storage, slice_.log_files, counted)
    else:
        for log in slice_.log_files:
            found += _log_layers(storage, log)
    if storage.root not in _warned and is_unsummed(found):
        _warned.add(storage.root)
        warn(
            f"{storage.root}: {UNSUMMED}. Fix: hoodoo rebuild-index writes them again, with "
            "checksums."
        )
    if schema_text is not None:
        found = [layer.coded(schema_text) for layer in found]
    return tuple(reversed(found))


def is_unsummed(found: Iterable[Layer]) -> bool:
    """Whether an HFile of the layers has zeros where its checksums belong."""
    return any(layer.hfile is not None and layer.hfile.unsummed for layer in found)


def _log_layers(storage: Storage, log: LogFile) -> Iterator[Layer]:
    with log_files().reader(storage, log.path, log.size) as reader:
        if reader.damages:
            raise CorruptTableError(f"{storage.root}/{log.path}", str(reader.damages[0]), FIX)
        if not reader.blocks:  # who commits a log file has written one
            raise CorruptTableError(f"{storage.root}/{log.path}", "holds no block.", FIX)
        for block in reader.blocks:
            yield _layer(storage, log, reader, block)


def _layer(storage: Storage, log: LogFile, reader: LogFileReader, block: LogBlock) -> Layer:
    if block.kind == BlockKind.HFILE:
        window = FileWindow.of(storage, log.path, block.content_start, block.content_size)
        return Layer(block.instant, HFile.open(window), block.schema_text)
    if block.kind == BlockKind.DELETE:
        return Layer(block.instant, None, deleted=_deleted(reader, block))
    raise CorruptTableError(
        f"{storage.root}/{log.path}", f"a {kind_name(block.kind)} block at {block.offset}.", FIX
    )


def _counted_layers(
    storage: Storage, logs: Sequence[LogFile], counted: CountedBlocks
) -> Iterator[Layer]:
    """The layers of log files that several may have written to, in the order in which they apply. A
    file that a writer died over may be torn: only one that a completed instant names has to be
    whole."""
    opener = log_files()
    with ExitStack() as stack:
        found: list[tuple[tuple[LogFile, LogFileReader], LogBlock]] = []
        for log in logs:
            reader = stack.enter_context(opener.reader(storage, log.path, log.size))
            if (reader.damages or not reader.blocks) and _is_named(storage, log):
                rule = str(reader.damages[0]) if reader.damages else "holds no block."
                raise CorruptTableError(f"{storage.root}/{log.path}", rule, FIX)
            found += (((log, reader), block) for block in reader.blocks)
        for (log, reader), block in Batches.counting(found, counted.shows):
            yield _layer(storage, log, reader, block)


def _is_named(storage: Storage, log: LogFile) -> bool:
    """Whether a completed deltacommit of the metadata table says that it wrote ``log``. Reads them
    all."""
    name = f'"{log.path}"'.encode()
    done = (e for e in storage.list(".hoodie") if e.name.endswith(".deltacommit"))
    return any(name in storage.get(entry.path) for entry in done)


def _deleted(reader: LogFileReader, block: LogBlock) -> pa.Array:
    rows = reader.deletes(block, ())
    return rows.column("record_key").combine_chunks().cast(pa.binary())


def newest(found: Sequence[Layer], keys: pa.Array, how: str = "auto") -> pa.Table:
    """ENTRIES of ``keys`` (distinct, binary), the newest value of each; deleted ones are left
    out."""
    parts: list[pa.Table] = []
    left = keys
    for layer in found:
        if not len(left):
            break
        part = layer.get(left, how)
        if part.num_rows:
            parts.append(part)
            left = left.filter(
                pc.invert(pc.is_in(left, value_set=part.column("key").combine_chunks()))
            )
    whole = pa.concat_tables(parts) if parts else ENTRIES.empty_table()
    return whole.filter(pc.is_valid(whole.column("value")))


def merged(found: Sequence[Layer], deleted: bool = False) -> Iterator[pa.RecordBatch]:
    """All entries, ascending, the newest value of each key. What is in log files is held in memory;
    the base file passes through. ``deleted``: deleted ones, too, with an empty value."""
    over = _over(found[:-1] if found and found[-1].hfile is not None else found)
    base = found[-1] if found and found[-1].hfile is not None else None
    live = _kept if deleted else _live
    done = 0
    keys = over.column("key").combine_chunks()
    if base is not None:
        for batch in base.scan():
            if not batch.num_rows:
                continue
            upto = _count_upto(keys, batch.column(0)[-1])
            kept = batch
            if upto > done:
                met = pc.is_in(batch.column(0), value_set=keys.slice(done, upto - done))
                kept = batch.filter(pc.invert(met))
                both = pa.concat_tables(
                    [pa.Table.from_batches([kept]), over.slice(done, upto - done)]
                )
                yield from live(both.sort_by("key"))
                done = upto
            elif kept.num_rows:
                yield from live(pa.Table.from_batches([kept]))
    yield from live(over.slice(done))


def _over(found: Sequence[Layer]) -> pa.Table:
    """Entries of layers without a base file, ascending; a null value where the newest is a
    delete."""
    parts: list[pa.Table] = []
    for layer in found:
        part = layer.all()
        if parts and part.num_rows:
            known = pa.concat_tables(parts).column("key").combine_chunks()
            part = part.filter(pc.invert(pc.is_in(part.column("key"), value_set=known)))
        parts.append(part)
    whole = pa.concat_tables(parts) if parts else ENTRIES.empty_table()
    return whole.sort_by("key")


def _count_upto(keys: pa.Array, last: pa.Scalar) -> int:
    """How many of the ascending ``keys`` are at most ``last``."""
    low, high = 0, len(keys)
    wanted = last.as_py()
    while low < high:
        middle = (low + high) // 2
        if keys[middle].as_py() <= wanted:
            low = middle + 1
        else:
            high = middle
    return low


def _live(table: pa.Table) -> Iterator[pa.RecordBatch]:
    kept = table.filter(pc.is_valid(table.column("value"))).combine_chunks()
    yield from (b for b in kept.to_batches() if b.num_rows)


def _kept(table: pa.Table) -> Iterator[pa.RecordBatch]:
    values = pc.fill_null(table.column("value"), b"")
    whole = table.set_column(1, ENTRIES.field(1), values).combine_chunks()
    yield from (b for b in whole.to_batches() if b.num_rows)

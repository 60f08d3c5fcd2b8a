"""Filters on their way into ``bloom_filters``: tasks read them off base files, a task for each file
group.

No filter passes through the driver: each may be half a megabyte, and there is one of every base
file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.file_format import BaseFileFormat, StoresFilters
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, path_of
from hoodoo.model.payload import Payload
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_data_file
from hoodoo_rows.api import NewFiles, Pending

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.partitions.bloom.rows import FilterRow, encode_filter
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.deltas import Delta, put_deltas
from hoodoo_metadata.table.keys import filter_key
from hoodoo_metadata.table.layout import BLOOM_FILTERS, group_id, group_of
from hoodoo_metadata.table.log_places import LogPlaces


def refuse_unfiltered(table: str, file_format: BaseFileFormat) -> None:
    """ConfigError for base files of a format whose filters can't be stored elsewhere."""
    if not isinstance(file_format, StoresFilters):
        raise ConfigError(
            f"partition {BLOOM_FILTERS} of the metadata table of {table}",
            f"base files with the extension {file_format.extension} have no filters that could be "
            "stored in it.",
            "Leave it out: bloom indexes look into the files then.",
        )


@frozen
class FilterFiles:
    """How tasks write the file groups: ``base`` files of all of them, or log files of those that
    something comes into. ``storage`` is that of the table, ``metadata`` that of its metadata
    table."""

    storage: Storage
    metadata: Storage
    file_format: BaseFileFormat
    pending: Pending
    schema_text: str
    base: bool
    # Where log files go, in version 6.
    places: LogPlaces | None = None
    # For the task: it writes log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)


def write_filters(
    engine: Engine, files: FilterFiles, added: Mapping[str, Mapping[str, int]], groups: int
) -> tuple[WriteStat, ...]:
    """The stats of the files. ``added``: partition path -> name -> bytes of files; log files have
    no filter."""
    keys: dict[str, tuple[str, str]] = {}
    for path, names in added.items():
        for name in names:
            if isinstance(parse_data_file(path, name), BaseFile):
                keys[filter_key(path, name)] = (path, name)
    ordered = sorted(keys)
    numbers = group_of(pa.array(ordered, pa.string()), groups)
    of_group: list[list[tuple[str, str, str]]] = [[] for _ in range(groups)]
    for key, number in zip(ordered, numbers.tolist(), strict=True):
        of_group[number].append((key, *keys[key]))
    payloads = [
        Payload.of(
            json.dumps([number, found]).encode(), sum(added[path][name] for _, path, name in found)
        )
        for number, found in enumerate(of_group)
        if found or files.base
    ]
    if not payloads:
        return ()
    done = engine.collect(engine.map(engine.tasks(payloads), _WriteFilters(files)))
    return NewFiles.read_stats(done)


@frozen
class _WriteFilters:
    files: FilterFiles

    @property
    def out_schema(self) -> pa.Schema:
        return NewFiles.STATS

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                number, found = json.loads(payload)
                yield NewFiles.stats_batch(self._write(number, found))

    def _write(self, number: int, found: list[tuple[str, str, str]]) -> tuple[WriteStat, ...]:
        files, file_id = self.files, group_id(BLOOM_FILTERS, number)
        entries = self._entries(found)
        text = files.schema_text
        if files.base:
            return (
                put_base(
                    files.metadata, files.pending, BLOOM_FILTERS, file_id, entries, text, number
                ),
            )
        delta = Delta(BLOOM_FILTERS, file_id, pa.Table.from_batches(entries, ENTRIES))
        return put_deltas(files.metadata, files.pending, [delta], text, files.places)

    def _entries(self, found: list[tuple[str, str, str]]) -> Iterator[pa.RecordBatch]:
        """One at a time: each is long. Nothing of a file without record keys."""
        file_format = self.files.file_format
        assert isinstance(file_format, StoresFilters)
        for key, path, name in found:
            stored = file_format.stored_filter(self.files.storage, path_of(path, name))
            if stored is not None:
                file = parse_data_file(path, name)
                assert file is not None
                value = encode_filter(FilterRow(stored.kind, stored.content, file.instant))
                columns = [pa.array([key.encode()], pa.binary()), pa.array([value], pa.binary())]
                yield pa.record_batch(columns, schema=ENTRIES)

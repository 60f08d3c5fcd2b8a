"""Verify: does ``bloom_filters`` have the filter of each base file, and that of no other?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from attrs import define, field
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat, StoresFilters
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.partitions.bloom.lookup import filter_rows
from hoodoo_metadata.table.keys import filter_key
from hoodoo_metadata.table.layout import BLOOM_FILTERS
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable
from hoodoo_metadata.table.slice import layers

_FIX = (
    "hoodoo rebuild-index TABLE bloom_filters, or table.rebuild_index('bloom_filters'), rebuilds "
    "it."
)
_OBJECT = f"{FOLDER}/{BLOOM_FILTERS}"


def check_filters(
    snapshot: Snapshot, files: Mapping[str, int], expected: Callable[[str], bool]
) -> Iterator[Finding]:
    """The keys of the partition against the base files among ``files``, which were listed after
    ``timeline`` was looked at. No base file is opened."""
    if BLOOM_FILTERS not in snapshot.config.metadata_partitions:
        return
    try:
        told = _told(MetadataTable.open(snapshot.storage, snapshot.timeline))
    except (HoodooError, FileNotFoundError) as error:
        yield _unreadable(error)
        return
    known: set[str] = set()
    for path, size in files.items():
        if isinstance(parse_path(path, size), BaseFile):
            known.add(key := _key(path))
            if key not in told and expected(path):
                rule = (
                    "the metadata table has no bloom filter of it: Spark's bloom index fails there"
                )
                yield Finding("metadata.filters", path, rule, _FIX)
    if any(i.traits.deletes for i in snapshot.pending()):
        return  # files that are gone are told of when all are
    lost = [
        k
        for k, of in told.items()
        if k not in known and snapshot.timeline.contains_or_before_start(of)
    ]
    if lost:
        rule = f"it has {len(lost)} filters of files that are not there, for example {lost[0]}"
        yield Finding("metadata.filters", _OBJECT, rule, _FIX)


@define
class FiltersCheck:
    """The filters of the newest base files against those that the files have."""

    storage: Storage
    timeline: Timeline
    file_format: BaseFileFormat
    _paths: dict[str, str] = field(factory=dict)

    def see(self, slice_: FileSlice, keys: pa.ChunkedArray) -> None:
        if slice_.base_file is not None:
            path = slice_.base_file.path
            self._paths[_key(path)] = path

    def findings(self) -> Iterator[Finding]:
        table = MetadataTable.open(self.storage, self.timeline)
        groups = table.slices(BLOOM_FILTERS)
        file_format = self.file_format
        assert isinstance(file_format, StoresFilters)
        try:
            for key, row in filter_rows(table.storage, groups, list(self._paths)) if groups else ():
                path = self._paths[key]
                own = file_format.stored_filter(self.storage, path)
                if own is None or own.content != row.content:
                    rule = (
                        "the metadata table has another bloom filter of it than the file: keys may "
                        "be missed"
                    )
                    yield Finding("metadata.filters", path, rule, _FIX)
        except (HoodooError, FileNotFoundError) as error:
            yield _unreadable(error)


def _told(table: MetadataTable) -> dict[str, str]:
    """The keys of all filters, and the instant that each is of."""
    found: dict[str, str] = {}
    for group in table.slices(BLOOM_FILTERS):
        every: set[str] = set()
        for layer in layers(table.storage, group):
            if layer.hfile is not None:
                for batch in layer.scan():
                    every.update(key.decode() for key in batch.column(0).to_pylist())
        for key, row in filter_rows(table.storage, [group], sorted(every)):
            found[key] = row.timestamp
    return found


def _key(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return filter_key(folder, name)


def _unreadable(error: Exception) -> Finding:
    rule = error.rule.rstrip(".") if isinstance(error, HoodooError) else f"{error} is not there"
    return Finding("metadata.unreadable", _OBJECT, rule, _FIX)

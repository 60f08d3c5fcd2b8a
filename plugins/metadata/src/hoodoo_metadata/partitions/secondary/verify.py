"""Verify: do the secondary indexes say which record keys have which values?

Memory: the entries of the table's rows, of one index after the other those of one file group
besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Batches, MergeRule, Reads, Visible

from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.life.kept_by import first_commit_not_indexed, is_unique
from hoodoo_metadata.partitions.secondary.rows import (
    DEAD,
    entry_keys,
    groups_of,
    record_keys_of,
    secondaries,
)
from hoodoo_metadata.table.layout import RECORD_INDEX
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable, listed, unlisted
from hoodoo_metadata.table.slice import layers, merged


@define
class SecondaryCheck:
    """The secondary indexes that reads go by against the rows of the newest slices."""

    storage: Storage
    timeline: Timeline
    file_format: BaseFileFormat
    merger: Merger
    columns: Mapping[str, str]
    # whether each key is in one place; else entries may be missing, and no read goes by them
    unique: bool
    _entries: dict[str, list[pa.Array]] = field(factory=dict)
    _rules: dict[str, MergeRule] = field(factory=dict)
    _unread: bool = False

    @classmethod
    def of(
        cls, snapshot: Snapshot, file_format: BaseFileFormat, merger: Merger
    ) -> SecondaryCheck | None:
        storage, config = snapshot.storage, snapshot.config
        there = listed(config)
        columns = {
            partition: column
            for partition, column in secondaries(config).items()
            if partition in there and first_commit_not_indexed(snapshot, partition) is None
        }
        if not columns:
            return None
        unique = is_unique(config, RECORD_INDEX) and not is_partitioned(storage)
        return cls(storage, snapshot.timeline, file_format, merger, columns, unique)

    def see(self, slice_: FileSlice, keys: pa.ChunkedArray) -> None:
        try:
            for partition, column in self.columns.items():
                rule = self._rule(column)
                for rows in Batches.merged(self.storage, self.file_format, rule, slice_):
                    found = entry_keys(rows.column(column), rows.column(RECORD_KEY))
                    self._entries.setdefault(partition, []).append(found)
        except (HoodooError, FileNotFoundError):
            self._unread = True  # it is found by who reads the keys, or was cleaned away meanwhile

    def findings(self) -> Iterator[Finding]:
        if self._unread:
            return
        for partition in self.columns:
            try:
                yield from self._of(partition)
            except (HoodooError, FileNotFoundError) as error:
                rule = f"{error} is not there"
                if isinstance(error, HoodooError):
                    rule = error.rule.rstrip(".")
                yield Finding("metadata.unreadable", f"{FOLDER}/{partition}", rule, _fix(partition))

    def _rule(self, column: str) -> MergeRule:
        if column not in self._rules:
            config = unlisted(self.timeline.config)
            timeline = evolve(self.timeline, config=config)
            source = ReadSource(
                self.storage, config, timeline, self.file_format, None, self.merger, whole=False
            )
            plan = Reads.plan(source)
            stored = plan.stored
            visible = Visible.of(timeline, None)
            rule = MergeRule.of(stored, config, self.merger, visible, None, plan.file_format)
            self._rules[column] = evolve(rule.narrowed([RECORD_KEY, column]), by_rows=False)
        return self._rules[column]

    def _of(self, partition: str) -> Iterator[Finding]:
        wanted = pa.concat_arrays(
            [pa.array([], pa.string()), *self._entries.get(partition, [])]
        ).unique()
        table = MetadataTable.open(self.storage, self.timeline)
        groups = table.slices(partition)
        slots = groups_of(table.data.config, [g.file_id for g in groups]).slots(wanted, None)
        for number, group in enumerate(groups):
            told = _live(table, group)
            mine = wanted.filter(pa.array(slots == number))
            obj = f"{FOLDER}/{partition}/{group.file_id}"
            missing = mine.filter(pc.invert(pc.is_in(mine, value_set=told)))
            if len(missing) and self.unique:
                rule = (
                    f"it lacks the values of {len(missing)} record keys, for example "
                    f"{_some(missing)}; filters miss their rows"
                )
                yield Finding("metadata.values", obj, rule, _fix(partition))
            more = told.filter(pc.invert(pc.is_in(told, value_set=mine)))
            if len(more):
                rule = (
                    f"it has values of {len(more)} record keys that no row has, for example "
                    f"{_some(more)}"
                )
                yield Finding("metadata.values", obj, rule, _fix(partition))
        if not groups:
            rule = "it holds no file group"
            yield Finding("metadata.unreadable", f"{FOLDER}/{partition}", rule, _fix(partition))


def _live(table: MetadataTable, group: FileSlice) -> pa.Array:
    """The entries of a file group."""
    found = [pa.array([], pa.string())]
    for batch in merged(layers(table.storage, group)):
        keys, value = batch.column(0).cast(pa.string()), batch.column(1)
        found.append(keys.filter(pc.not_equal(value, DEAD)))
    return pa.concat_arrays(found)


def _some(entries: pa.Array) -> str:
    return ", ".join(repr(key) for key in record_keys_of(entries[:3]).to_pylist())


def _fix(partition: str) -> str:
    return (
        f"hoodoo rebuild-index TABLE {partition}, or table.rebuild_index({partition!r}), rebuilds "
        "it."
    )

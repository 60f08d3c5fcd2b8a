"""A partition that another distribution offers: what it says is put into files here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.hookspecs.metadata_partition import GroupEntries, MetadataPartition
from hoodoo_metadata.partitions.api import Beginning, Missed, Work
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.combine import newest_merged
from hoodoo_metadata.table.deltas import Delta, put_deltas
from hoodoo_metadata.table.layout import group_id
from hoodoo_metadata.table.schema import record_schema
from hoodoo_metadata.table.slice import layers


@frozen
class RegisteredPartition:
    """``inner`` under the folder ``name``. See
    :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str
    inner: MetadataPartition
    noted: bool = False
    sought: bool = False

    @property
    def keys(self) -> bool:
        return self.inner.keys

    @property
    def stored_keys(self) -> bool:
        return self.inner.keys

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        text = record_schema(beginning.state.config.version)
        found = {group.group: group for group in self.inner.begin(beginning.state)}
        return tuple(
            put_base(
                beginning.table.storage,
                beginning.pending,
                self.name,
                group_id(self.name, number),
                found[number].entries.to_batches() if number in found else [],
                text,
                number,
            )
            for number in range(self.inner.groups)
        )

    def deltas(self, work: Work) -> Sequence[Delta]:
        # With keys it is asked in `write`, and where it catches up once for all actions.
        return () if self.keys else self._deltas(self.inner.delta(work.change))

    def of_files(self, work: Work) -> tuple[WriteStat, ...]:
        return ()

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        begun = work.begun
        deltas = self._deltas(self.inner.delta(evolve(work.change, keys=work.keys)))
        return put_deltas(
            work.table.storage, begun.pending, deltas, begun.schema_text, begun.places
        )

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        return self.write(missed.work)

    def _deltas(self, groups: Iterable[GroupEntries]) -> list[Delta]:
        return [
            Delta(self.name, group_id(self.name, g.group), g.entries, g.deleted) for g in groups
        ]

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        merge = getattr(self.inner, "merge", None)
        if merge is None:
            yield from newest_merged(storage, slice_, schema_text)
            return
        whole = ENTRIES.empty_table()
        for layer in reversed(layers(storage, slice_)):
            newer = layer.all()
            at = pc.index_in(newer.column("key"), value_set=whole.column("key").combine_chunks())
            both = pc.and_(pc.is_valid(at), pc.is_valid(newer.column("value")))
            older = whole.column("value").take(at.filter(both)).combine_chunks()
            joined = merge(older, newer.column("value").filter(both).combine_chunks())
            merged = pa.table([newer.column("key").filter(both), joined], schema=ENTRIES)
            rest = newer.filter(pc.and_(pc.invert(both), pc.is_valid(newer.column("value"))))
            kept = pc.is_in(whole.column("key"), value_set=newer.column("key").combine_chunks())
            whole = pa.concat_tables([whole.filter(pc.invert(kept)), merged, rest])
        yield from whole.sort_by("key").to_batches()

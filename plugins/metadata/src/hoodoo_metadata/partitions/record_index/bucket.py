"""Bucket: where keys lie, as one bucket of a record index knows (RFC-08's
``getRecordLocations``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together

from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.locations import LOCATIONS, decode_locations
from hoodoo_metadata.table.slice import Layer, layers


@frozen
class Bucket:
    """One bucket of the index, as it is at one moment: a file group, or several, the oldest first.
    ``how`` its HFiles are looked into: ``seek``, ``scan``, or ``auto``, by the share of its keys
    that is asked for. ``growing``: says which of them may know a key; None: all of them."""

    storage: Storage
    slices: tuple[FileSlice, ...]
    how: str = "auto"
    growing: Growing | None = None

    def get_record_locations(self, keys: pa.Array) -> pa.Table:
        """LOCATIONS of those of ``keys`` (distinct strings of this bucket) that are in the table.

        Raises CorruptTableError naming the file for what can't be read.
        """
        found: list[tuple[Layer, pa.Array]] = []
        for slice_ in reversed(self.slices):
            mine = keys if self.growing is None else self.growing.within(slice_, keys)
            if len(mine):
                asked = mine.cast(pa.binary())
                found += [(layer, asked) for layer in layers(self.storage, slice_)]
        parts: list[pa.Table] = []
        known: list[pa.Array] = []
        for (layer, _), table in zip(found, self._looked_up(found), strict=True):
            for older in known:
                table = table.filter(pc.invert(pc.is_in(table.column("key"), value_set=older)))
            if table.num_rows:
                known.append(table.column("key").combine_chunks())
                parts.append(decoded(table.filter(pc.is_valid(table.column("value"))), layer))
        return pa.concat_tables(parts) if parts else LOCATIONS.empty_table()

    def _looked_up(self, found: Sequence[tuple[Layer, pa.Array]]) -> list[pa.Table]:
        # Values of the index are texts and numbers, each behind a byte that says which: none of
        # them holds the bytes 00 7F FF .. FF 04, which are stored behind each key.
        calls = (partial(layer.get, keys, self.how, apart=True) for layer, keys in found)
        return together(self.storage, *calls)

    def entries(self) -> Iterator[pa.Table]:
        """LOCATIONS of all keys of this bucket. Memory: its keys, and the entries of one file."""
        known: list[pa.Array] = []
        for layer in (x for slice_ in reversed(self.slices) for x in layers(self.storage, slice_)):
            table = layer.all()
            for newer in known:
                table = table.filter(pc.invert(pc.is_in(table.column("key"), value_set=newer)))
            known.append(table.column("key").combine_chunks())
            yield decoded(table.filter(pc.is_valid(table.column("value"))), layer)


def decoded(table: pa.Table, layer: Layer) -> pa.Table:
    path, file_id, millis = decode_locations(
        table.column("value").combine_chunks(), layer.schema_text or None
    )
    key = table.column("key").combine_chunks().cast(pa.string())
    return pa.table([key, path, file_id, millis], schema=LOCATIONS)

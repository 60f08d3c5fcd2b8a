"""Tag: which file group holds each incoming key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import Side, Task
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.model.internal_row import DELETE, OP, PUT
from hoodoo_rows.produce.columns import FILE_ID, SEQ, append_columns, tagged
from hoodoo_rows.write.key_table import KeyTable


@frozen
class Here:
    """A :class:`~hoodoo.hookspecs.engine.Side` that lies where it is used."""

    rows: pa.Table

    def table(self) -> pa.Table:
        """The rows."""
        return self.rows


# For steps that are given their places later.
NOWHERE = Here(pa.Table.from_batches([], LOCATIONS_SCHEMA))


@frozen
class _Tagging:
    """Step: keyed rows of ``schema`` in, tagged rows out."""

    schema: pa.Schema

    @property
    def out_schema(self) -> pa.Schema:
        """The rows with their places."""
        return tagged(self.schema)


@frozen
class TagLocal(_Tagging):
    """Step for non-global indexes: a key lies in its own partition path or nowhere.

    ``found`` holds rows of LOCATIONS_SCHEMA. Deletes of keys that no file group holds end here.
    """

    found: Side = NOWHERE

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        locations = self.found.table()
        known = KeyTable(locations.column("record_key"), locations.column("partition_path"))
        file_ids = flat(locations.column("file_id"))
        for batch in batches:
            at = known.places(batch.column(RECORD_KEY), batch.column(PARTITION_PATH))
            more = {FILE_ID: file_ids.take(at)}
            yield _drop_lost_deletes(append_columns(batch, self.out_schema, **more))


@frozen
class TagGlobal(_Tagging):
    """Step for global indexes: a key lies in at most one partition path, maybe another one.

    Rows are unique by key here. With ``moves`` a put whose key lies elsewhere becomes two rows: a
    delete where it lies, and an insert where it belongs; without, it stays where it lies.
    """

    moves: bool
    found: Side = NOWHERE

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        locations = self.found.table().combine_chunks()
        known = KeyTable(locations.column("record_key"))
        for batch in batches:
            at = known.places(batch.column(RECORD_KEY))
            lies_in = flat(locations.column("partition_path").take(at))
            file_id = flat(locations.column("file_id").take(at))
            elsewhere = pc.fill_null(pc.not_equal(lies_in, batch.column(PARTITION_PATH)), False)
            moving = pc.and_(elsewhere, pc.equal(batch.column(OP), PUT))
            if not self.moves or not pc.any(moving).as_py():
                stays = pc.coalesce(lies_in, batch.column(PARTITION_PATH))
                more = {FILE_ID: file_id, PARTITION_PATH: stays}
                yield _drop_lost_deletes(append_columns(batch, self.out_schema, **more))
                continue
            # What moves arrives as an insert; what does not move stays where it lies.
            arrives = append_columns(
                batch,
                self.out_schema,
                **{
                    FILE_ID: pc.if_else(moving, pa.scalar(None, pa.string()), file_id),
                    PARTITION_PATH: pc.if_else(
                        moving,
                        batch.column(PARTITION_PATH),
                        pc.coalesce(lies_in, batch.column(PARTITION_PATH)),
                    ),
                },
            )
            yield _drop_lost_deletes(arrives)
            leaves = append_columns(
                batch,
                self.out_schema,
                **{
                    OP: pa.array(np.full(batch.num_rows, DELETE, np.int8)),
                    FILE_ID: file_id,
                    PARTITION_PATH: lies_in,
                },
            )
            yield leaves.filter(moving)


@frozen
class UntaggedInserts(_Tagging):
    """Step for operations that look nothing up: every row is an insert, deletes have no effect."""

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nowhere = pa.nulls(batch.num_rows, pa.string())
            yield _drop_lost_deletes(append_columns(batch, self.out_schema, **{FILE_ID: nowhere}))


@frozen
class LocatedDeletes(_Tagging):
    """Step: rows of LOCATIONS_SCHEMA become tagged rows that delete their key; other columns are
    null."""

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.num_rows
            made = {
                OP: pa.array(np.full(rows, DELETE, np.int8)),
                SEQ: pa.array(np.zeros(rows, np.int64)),
                RECORD_KEY: batch.column("record_key"),
                PARTITION_PATH: batch.column("partition_path"),
                FILE_ID: batch.column("file_id"),
            }
            columns = [
                made[f.name] if f.name in made else pa.nulls(rows, f.type) for f in self.out_schema
            ]
            yield pa.record_batch(columns, schema=self.out_schema)


@frozen
class AskedRows:
    """Step: keyed rows in; out the numbers of the rows of ``found`` (LOCATIONS_SCHEMA) that these
    keys asked for. ``anywhere``: whatever partition path a key came with. ``names``: of the columns
    of keys and paths."""

    found: Side
    anywhere: bool
    names: tuple[str, str] = (RECORD_KEY, PARTITION_PATH)
    out_schema = pa.schema([("row", pa.int64())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        names = self.names[: 1 if self.anywhere else 2]
        known = KeyTable(*self.found.table().columns[: len(names)])
        for batch in batches:
            rows = known.rows_of(*(batch.column(name) for name in names))
            yield pa.record_batch([rows], schema=self.out_schema)


@frozen
class OnlyUntagged:
    """Step: tagged rows whose key no file group holds."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.is_null(batch.column(FILE_ID)))


def _drop_lost_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    # A delete row that no file holds still matters if a put of its key is in the same batch of
    # data, so rows marked deleted stay as inserts: the fold decides, and what is left as a delete
    # is not written. A delete by key has no rows to meet and ends here.
    lost = pc.and_(pc.is_null(batch.column(FILE_ID)), pc.equal(batch.column(OP), DELETE))
    return batch.filter(pc.invert(lost)) if pc.any(lost).as_py() else batch

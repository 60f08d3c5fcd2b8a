"""Counting: how many rows a statement puts, deletes and brings in, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import DuplicateKeyError
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Engine, Side, Stream, Task
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY, with_meta
from hoodoo_rows.api import ArrivingRows, KeyLookup, WriteTarget
from hoodoo_rows.model.internal_row import OP, PUT

from hoodoo_statements.find_changes import MARK

_PLACES = pa.schema(
    [
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("puts", pa.int64()),
        ("deletes", pa.int64()),
    ]
)


@frozen
class Counted:
    """``places``: file group -> rows put into it. ``coming``: rows that no file group has."""

    places: dict[Group, int]
    puts: int
    deletes: int
    coming: int

    @property
    def total(self) -> int:
        return self.puts + self.deletes + self.coming


@frozen
class CountPlaces:
    """Step: tagged rows in; how many of them are put into each file group, and deleted there."""

    @property
    def out_schema(self) -> pa.Schema:
        return _PLACES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            puts = pc.equal(batch.column(OP), PUT)
            columns = [
                batch.column(PARTITION_PATH),
                batch.column(ArrivingRows.FILE_ID),
                puts.cast(pa.int64()),
                pc.invert(puts).cast(pa.int64()),
            ]
            yield from _total(pa.Table.from_arrays(columns, schema=_PLACES)).to_batches()


def counted(engine: Engine, rows: Stream) -> Counted:
    """What tagged ``rows`` do."""
    found = _total(engine.collect(engine.map(rows, CountPlaces())))
    there = found.filter(pc.is_valid(found.column("file_id")))
    places = {(r["partition_path"], r["file_id"]): r["puts"] for r in there.to_pylist()}
    puts, deletes = (pc.sum(there.column(name)).as_py() or 0 for name in ("puts", "deletes"))
    return Counted(places, puts, deletes, (pc.sum(found.column("puts")).as_py() or 0) - puts)


def _total(found: pa.Table) -> pa.Table:
    total = found.group_by(_PLACES.names[:2]).aggregate([("puts", "sum"), ("deletes", "sum")])
    return total.rename_columns(_PLACES.names).cast(_PLACES)


@frozen
class OnlyRows:
    """Step: tagged rows, without marks."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.not_equal(batch.column(OP), MARK))


@frozen
class OnlyMarks:
    """Step: the numbers that marks have."""

    @property
    def out_schema(self) -> pa.Schema:
        return pa.schema([(ArrivingRows.SEQ, pa.int64())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.equal(batch.column(OP), MARK)).select([ArrivingRows.SEQ])


@frozen
class LeavingKeys:
    """Step: tagged rows in; the numbers of the rows of ``found`` (LOCATIONS_SCHEMA) that they
    delete."""

    found: Side

    @property
    def out_schema(self) -> pa.Schema:
        return pa.schema([("row", pa.int64())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found = self.found.table()
        found = found.append_column("row", pa.array(np.arange(found.num_rows)))
        for batch in batches:
            gone = batch.filter(pc.not_equal(batch.column(OP), PUT))
            keys = pa.table(
                [gone.column(RECORD_KEY), gone.column(ArrivingRows.FILE_ID)],
                ["record_key", "file_id"],
            )
            there = found.join(keys, keys.column_names, join_type="left semi", use_threads=False)
            yield from there.select(["row"]).to_batches()


@frozen
class ComingKeys:
    """Step: record key and partition path of tagged rows that no file group has; the path only
    where it counts."""

    anywhere: bool

    @property
    def out_schema(self) -> pa.Schema:
        return pa.schema([("record_key", pa.string()), ("partition_path", pa.string())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            new = batch.filter(pc.is_null(batch.column(ArrivingRows.FILE_ID)))
            path = new.column(PARTITION_PATH)
            path = pa.repeat(pa.scalar(""), len(path)) if self.anywhere else path
            yield pa.record_batch([new.column(RECORD_KEY), path], schema=self.out_schema)


def refuse_doubles(target: WriteTarget, rows: Stream, known: bool) -> None:
    """DuplicateKeyError where two rows come in with one key, or one whose key the table has, and
    keeps. ``known``: it has none of them."""
    engine, index = target.engine, target.index
    coming = engine.collect(engine.map(rows, ComingKeys(index.is_global)))
    each = coming.group_by(coming.column_names).aggregate([([], "count_all")])
    twice = each.filter(pc.greater(each.column("count_all"), 1))
    if twice.num_rows:
        raise DuplicateKeyError(
            f"record key {twice.column('record_key')[0].as_py()!r}",
            f"would come in more than once ({twice.num_rows} keys would).",
            "Leave one row for each key in the source.",
        )
    if known:
        return
    fresh = engine.map(rows, ArrivingRows.OnlyUntagged(rows.schema))
    arriving = ArrivingRows.arrivals(engine.collect(engine.map(fresh, ArrivingRows.Summarise())))
    lookup = target.plugins.by_path() if target.computed is not None else target.lookup()
    found = KeyLookup.living(
        target, lookup, KeyLookup.locate(target, lookup, fresh, arriving), with_meta(target.schema)
    )
    if found.num_rows:
        gone = engine.collect(engine.map(rows, LeavingKeys(engine.side(found)))).column("row")
        stays = np.ones(found.num_rows, bool)
        stays[np.asarray(gone)] = False
        found = found.filter(pa.array(stays))
    if found.num_rows:
        raise DuplicateKeyError(
            f"record key {found.column('record_key')[0].as_py()!r}",
            f"would come in, and is in the table already (of the keys to insert, {found.num_rows} "
            "are).",
            "Compare the whole record key, so that these rows are matched, or leave them out.",
        )


def check_written(target: WriteTarget, wanted: Counted, stats: Sequence[WriteStat]) -> None:
    """As many rows were changed as the statement has found: more of them share a key in a file
    group otherwise. Log files don't say it."""
    if target.logs is not None:
        return
    done = [
        sum(getattr(s, name) for s in stats)
        for name in ("num_inserts", "num_updates", "num_deletes")
    ]
    if done != [wanted.coming, wanted.puts, wanted.deletes]:
        raise shared_keys(
            target,
            f"{wanted.puts} were to be updated and {wanted.deletes} deleted, and {done[1]} and "
            f"{done[2]} would be",
        )


def shared_keys(target: WriteTarget, what: str) -> DuplicateKeyError:
    return DuplicateKeyError(
        f"table {target.config.name}",
        f"has rows that share their record key: {what}.",
        "Find them with table.verify(), and delete them by their key first.",
    )

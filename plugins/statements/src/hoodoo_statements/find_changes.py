"""Find changes: what a statement makes of the rows of file slices, in the task that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen
from hoodoo.errors import ConfigError, DataError, DuplicateKeyError, SchemaError
from hoodoo.hookspecs.engine import Side, Task
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.query_type import UnitReader
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.model.payload import unpack_slices
from hoodoo.options.table import BY_ARRIVAL
from hoodoo_rows.api import ArrivingRows, Batches, Reads
from hoodoo_rows.model.conform import conform_array
from hoodoo_rows.model.internal_row import DELETE, OP, PUT

from hoodoo_statements.clauses import Arrow, Clause, Clauses, Computed, Constant, Join, Taken, Value
from hoodoo_statements.evaluate import Evaluator, Places, sql_type
from hoodoo_statements.plain_join import PlainJoin
from hoodoo_statements.text.scope import SOURCE, TARGET, flat

# A row that says which row of the source belongs to one of the table (in `_hoodie__seq`), and
# nothing else.
MARK = -1
# A row's place among what its task makes of the table: the task in the upper bits.
_TASK_BITS = 40
_ROWS, _BYTES = 1 << 19, 64 << 20


@frozen
class FindChanges:
    """Step: slices in (as ``Reads.payloads`` packs them), tagged rows of the
    table's ``schema`` out, and marks. ``reader`` gives the columns that ``clauses`` need.
    ``virtual``: record keys are made, not read. ``moves``: a row may change its partition path.
    ``compared``: also then the table compares it with one that is or was there. ``source``: in the
    types that expressions see."""

    schema: pa.Schema
    reader: UnitReader
    clauses: Clauses
    generator: KeyGenerator
    merger: Merger
    virtual: bool = False
    moves: bool = True
    compared: bool = True
    source: Side | None = None

    @property
    def out_schema(self) -> pa.Schema:
        return ArrivingRows.tagged(ArrivingRows.keyed(self.schema))

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        source = None if self.source is None else self.source.table()
        work = _Work(self, Evaluator(), source, task.number << _TASK_BITS)
        for batch in batches:
            for payload in batch.column(Reads.PAYLOAD):  # one turn per task, not per row of data
                for slice_ in unpack_slices(payload.as_py()):
                    for rows in _gathered(self.reader.rows(slice_)):
                        for made in work.changes(rows, slice_):
                            yield from made.combine_chunks().to_batches()


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Fewer and larger pieces: a query is worth many rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


@define
class _Work:
    step: FindChanges
    evaluator: Evaluator
    source: pa.Table | None
    seq: int
    plain: PlainJoin | None = None

    def changes(self, rows: pa.Table, slice_: FileSlice) -> Iterator[pa.Table]:
        clauses = self.step.clauses
        alone = np.ones(rows.num_rows, bool)
        if self.source is not None and clauses.join is not None:
            at, of = self._pairs(rows, clauses.join)
            alone[at] = False
            if clauses.marks and len(of):
                yield self._marks(_distinct(of, self.source.num_rows))
            if clauses.matched and len(at):
                yield from self._matched(rows, at, of, slice_)
        if clauses.unmatched and alone.any():
            lone = rows if alone.all() else rows.filter(pa.array(alone))
            taken = self._first(clauses.unmatched, lone, None)
            for number, clause in enumerate(clauses.unmatched):
                chosen = lone.filter(pa.array(taken == number))
                yield from self._apply(clause, chosen, None, slice_)

    def _pairs(self, rows: pa.Table, join: Join) -> tuple[Places, Places]:
        assert self.source is not None
        if join.equal:
            if self.plain is None:
                types = [rows.column(mine).type for mine, _ in join.equal]
                self.plain = PlainJoin.of(self.source, join.equal, types)
            return self.plain.places(rows)
        seen = [n for n in join.reads if n.startswith(f"{TARGET}.")]
        target = _flat_columns(rows, TARGET, seen)
        theirs_seen = [n for n in join.reads if n.startswith(f"{SOURCE}.")]
        other = _flat_columns(self.source, SOURCE, theirs_seen)
        return self.evaluator.pairs(target, other, join.condition, "the condition of the merge")

    def _matched(
        self, rows: pa.Table, at: Places, of: Places, slice_: FileSlice
    ) -> Iterator[pa.Table]:
        assert self.source is not None
        matched = self.step.clauses.matched
        mine, theirs = rows.take(pa.array(at)), self.source.take(pa.array(of))
        taken = self._first(matched, mine, theirs)
        places = at[taken >= 0]  # in order
        again = places[1:][places[1:] == places[:-1]]
        if len(again):
            if len(matched) > 1 or matched[0].condition is not None or not matched[0].deletes:
                keys = self._keys(rows.slice(int(again[0]), 1))
                raise ambiguous(keys[0].as_py(), len(_distinct(again, rows.num_rows)))
            firsts = np.flatnonzero(np.diff(at, prepend=-1))  # deleted once or twice is the same
            mine, theirs, taken = mine.take(firsts), theirs.take(firsts), taken[firsts]
        for number, clause in enumerate(matched):
            chosen = pa.array(taken == number)
            yield from self._apply(clause, mine.filter(chosen), theirs.filter(chosen), slice_)

    def _first(self, clauses: tuple[Clause, ...], mine: pa.Table, theirs: pa.Table | None) -> Any:
        """The number of the clause that takes each row; -1: none does."""
        taken = np.full(mine.num_rows, -1)
        for number, clause in enumerate(clauses):
            free = taken < 0
            if clause.condition is None:
                taken[free] = number
                break
            open_ = pa.array(free)
            rows = together(mine.filter(open_), theirs and theirs.filter(open_), clause.reads)
            (answer,) = self.evaluator.columns(rows, [clause.condition], clause.what)
            true = np.asarray(pc.fill_null(answer.cast(pa.bool_()), False))
            taken[np.flatnonzero(free)[true]] = number
        return taken

    def _apply(
        self, clause: Clause, mine: pa.Table, theirs: pa.Table | None, slice_: FileSlice
    ) -> Iterator[pa.Table]:
        if not mine.num_rows:
            return
        keys = self._keys(mine)
        if clause.values is None:
            yield self._deletes(keys, slice_)
            return
        repeated = len(keys) - len(pc.unique(keys))
        if repeated:
            raise DuplicateKeyError(
                f"file group {slice_.file_id}",
                f"has {repeated} rows whose record key another row has, too: which of "
                "them an update means can't be said.",
                "Delete them, or write the table again without duplicates.",
            )
        new = self._updated(clause, mine, theirs)
        path = slice_.partition_path
        goes = self._leaves(clause, mine, new)
        if goes is None or self.step.compared:
            self._check_kept(mine, new)
        if goes is None:
            yield self._tagged(
                new, PUT, keys, pa.repeat(pa.scalar(path), len(keys)), slice_.file_id
            )
            return
        paths, leaving = goes
        stays = pc.invert(leaving)
        if not self.step.compared:  # a row that leaves is deleted here, and new there
            self._check_kept(mine.filter(stays), new.filter(stays))
        kept = pa.repeat(pa.scalar(path), pc.sum(stays).as_py())
        yield self._tagged(new.filter(stays), PUT, keys.filter(stays), kept, slice_.file_id)
        yield self._deletes(keys.filter(leaving), slice_)
        gone = new.filter(leaving), PUT, keys.filter(leaving), paths.filter(leaving)
        yield self._tagged(*gone, None)

    def _updated(self, clause: Clause, mine: pa.Table, theirs: pa.Table | None) -> pa.Table:
        assert clause.values is not None
        schema = self.step.schema
        new = new_columns(self.evaluator, clause.values, schema, mine, theirs, clause)
        columns = [new[f.name] if f.name in new else mine.column(f.name) for f in schema]
        return pa.Table.from_arrays(
            [c.cast(f.type) for c, f in zip(columns, schema)], schema=schema
        )

    def _check_kept(self, mine: pa.Table, made: pa.Table) -> None:
        """A statement says what a row becomes; where the table's merger would keep another one, it
        is refused."""
        merger = self.step.merger
        if ArrivingRows.is_plain(merger, BY_ARRIVAL) or not made.num_rows:
            return
        names = [
            n for n in ArrivingRows.needed_columns(merger, made.schema) if n in made.schema.names
        ]
        puts = pa.array(np.full(made.num_rows, PUT, np.int8))
        older, newer = (t.select(names).append_column(OP, puts) for t in (mine, made))
        answer = ArrivingRows.merge_pairs(older.cast(newer.schema), newer, merger)
        lost = 0
        if answer.newer_wins is not None:
            lost = made.num_rows - (pc.sum(answer.newer_wins).as_py() or 0)
        if answer.rows is not None and answer.rows.select(names) != newer.select(names):
            lost = lost or made.num_rows
        if lost:
            columns = ", ".join(merger.columns or ()) or "all columns"
            raise DataError(
                f"an update of {lost} rows",
                f"states rows that the table would not keep: its merger "
                f"({merger.merge_mode}) compares {columns} with what is stored, and the stored "
                "rows win.",
                f"Give {columns} values that win, or leave such rows out by a condition.",
            )

    def _leaves(self, clause: Clause, mine: pa.Table, new: pa.Table) -> Any:
        """(partition paths, which rows leave theirs), or None where none does. Raises where a key
        becomes another one, or the index can't let a key go."""
        generator, assigned = self.step.generator, set(clause.values or ())
        before, after = (one_batch(t) for t in (mine, new))
        if assigned & {name.split(".")[0] for name in generator.record_key_fields}:
            changed = pc.not_equal(generator.record_keys(before), generator.record_keys(after))
            if pc.any(changed).as_py():
                raise DataError(
                    f"record key {self._keys(mine.filter(changed))[0].as_py()!r}",
                    "would become another one, and a record key never changes.",
                    "Delete the row, and insert the new one.",
                )
        if not assigned & {name.split(".")[0] for name in generator.partition_fields}:
            return None
        paths = generator.partition_paths(after)
        leaving = pc.not_equal(paths, generator.partition_paths(before))
        if not pc.any(leaving).as_py():
            return None
        if not self.step.moves:
            raise ConfigError(
                f"record key {self._keys(mine.filter(leaving))[0].as_py()!r}",
                "would go to another partition path, and the table's index leaves keys where they "
                "lie.",
                "Delete the row and insert it again, or create the table with an index that moves "
                "keys.",
            )
        return paths, leaving

    # --- rows that travel -------------------------------------------------------------------------
    def _keys(self, rows: pa.Table) -> Any:
        if self.step.virtual:
            return self.step.generator.record_keys(one_batch(rows))
        return Batches.one_array(rows.column(RECORD_KEY))

    def _deletes(self, keys: Any, slice_: FileSlice) -> pa.Table:
        schema = self.step.schema
        nothing = pa.Table.from_arrays(
            [pa.nulls(len(keys), f.type) for f in schema],
            schema=pa.schema([f.with_nullable(True) for f in schema]),
        )
        path = pa.repeat(pa.scalar(slice_.partition_path), len(keys))
        return self._tagged(nothing, DELETE, keys, path, slice_.file_id)

    def _tagged(
        self, rows: pa.Table, op: int, keys: Any, paths: Any, file_id: str | None
    ) -> pa.Table:
        count = rows.num_rows
        made = {
            OP: pa.array(np.full(count, op, np.int8)),
            ArrivingRows.SEQ: pa.array(np.arange(self.seq, self.seq + count, dtype=np.int64)),
            RECORD_KEY: keys,
            PARTITION_PATH: paths,
            ArrivingRows.FILE_ID: pa.repeat(pa.scalar(file_id, pa.string()), count),
        }
        self.seq += count
        out = self.step.out_schema
        columns = [made[f.name] if f.name in made else rows.column(f.name) for f in out]
        return pa.Table.from_arrays(columns, schema=out)

    def _marks(self, places: Places) -> pa.Table:
        count, out = len(places), self.step.out_schema
        made = {
            OP: pa.array(np.full(count, MARK, np.int8)),
            ArrivingRows.SEQ: pa.array(places, pa.int64()),
        }
        columns = [made[f.name] if f.name in made else pa.nulls(count, f.type) for f in out]
        return pa.Table.from_arrays(columns, schema=out)


def _distinct(places: Places, of: int) -> Places:
    """The distinct ``places``, in order, of rows that are numbered below ``of``."""
    there = np.zeros(of, bool)
    there[places] = True
    return np.flatnonzero(there)


def new_columns(
    evaluator: Evaluator,
    values: dict[str, Value],
    schema: pa.Schema,
    mine: pa.Table | None,
    theirs: pa.Table | None,
    clause: Any,
) -> dict[str, pa.ChunkedArray]:
    """The columns that a clause assigns, in the types of ``schema``, for rows of table and source
    side by side."""
    count = mine.num_rows if mine is not None else theirs.num_rows if theirs is not None else 0
    found: dict[str, Any] = {}
    computed = {n: v for n, v in values.items() if isinstance(v, Computed)}
    rows = together(mine, theirs, clause.reads)
    texts = [cast_to(schema.field(n).type, v.sql) for n, v in computed.items()]
    found.update(zip(computed, evaluator.columns(rows, texts, clause.what)))
    plain = {n: v.expression for n, v in values.items() if isinstance(v, Arrow)}
    if plain:
        assert mine is not None
        found.update(_arrow_columns(mine, plain))
    for name, value in values.items():
        if isinstance(value, Constant):
            found[name] = pa.repeat(value.value, count)
        elif isinstance(value, Taken):
            assert theirs is not None
            found[name] = theirs.column(value.name)
    return {n: _fitted(column, schema.field(n)) for n, column in found.items()}


def cast_to(kind: pa.DataType, sql: str) -> str:
    """An assignment: the value as the column has it, or an error."""
    name = sql_type(kind)
    return sql if name is None else f"CAST({sql} AS {name})"


def _fitted(column: Any, field: pa.Field) -> Any:
    array = Batches.one_array(column)
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(field.type):
        array = array.cast(pa.timestamp(array.type.unit, field.type.tz))
    return conform_array(array, field, field.name)


def _arrow_columns(rows: pa.Table, expressions: dict[str, pc.Expression]) -> dict[str, Any]:
    from pyarrow import acero  # imports pandas where there is one

    names = list(expressions)
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    project = acero.Declaration(
        "project", acero.ProjectNodeOptions([expressions[n] for n in names], names), [source]
    )
    try:
        made = project.to_table(use_threads=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"the value of {', '.join(names)}",
            f"can't be computed ({error}).",
            "Change the expression.",
        ) from error
    return {name: made.column(name) for name in names}


def together(mine: pa.Table | None, theirs: pa.Table | None, reads: Iterable[str]) -> pa.Table:
    """The columns ``reads`` of rows of table and source side by side, called as expressions have
    them."""
    columns, fields = [], []
    for name in reads:
        side, _, own = name.partition(".")
        rows = mine if side == TARGET else theirs
        assert rows is not None
        columns.append(rows.column(own))
        # Of rows that were taken, Arrow says in the schema alone that a type is a logical one.
        fields.append(rows.schema.field(own).with_name(name))
    if columns:
        return pa.table(columns, schema=pa.schema(fields))
    rows = mine if mine is not None else theirs
    assert rows is not None
    return pa.table({"": pa.nulls(rows.num_rows)})


def _flat_columns(rows: pa.Table, side: str, names: Iterable[str]) -> pa.Table:
    own = [name.partition(".")[2] for name in names]
    if not own:
        return pa.table({"": pa.nulls(rows.num_rows)})
    return rows.select(own).rename_columns([flat(side, n) for n in own])


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """``rows``, of which there is at least one, as one batch."""
    return rows.combine_chunks().to_batches()[0]


def ambiguous(key: Any, others: int) -> DataError:
    more = f" ({others} rows of the table are)" if others > 1 else ""
    return DataError(
        f"record key {key!r}",
        f"is matched by more than one row of the source{more}: which of them the row becomes "
        "can't be said.",
        "Leave one row for each in the source, or add a condition that tells them apart.",
    )

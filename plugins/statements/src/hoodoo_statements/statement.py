"""Statement: what is said of a table's rows, as a write: for each attempt, its changes of the table
as it is then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field
from hoodoo.hookspecs.engine import Stream, Workspace
from hoodoo.hookspecs.key_generator import record_key_columns
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options.table import BY_ARRIVAL
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import (
    ArrivingRows,
    ChangesRows,
    Reads,
    RowChanges,
    ScanPlan,
    StoredFiles,
    WriteTarget,
)

from hoodoo_statements.binding import Binder, Wanted, join
from hoodoo_statements.clauses import Arrow, Clause, Clauses, Insert
from hoodoo_statements.counting import (
    Counted,
    OnlyMarks,
    OnlyRows,
    check_written,
    counted,
    refuse_doubles,
    shared_keys,
)
from hoodoo_statements.find_changes import FindChanges
from hoodoo_statements.inserts import inserted_rows
from hoodoo_statements.plain_join import PlainJoin, plain
from hoodoo_statements.source_range import never_matches, within
from hoodoo_statements.text.parse import Expression
from hoodoo_statements.text.pruning import implied, only_equal
from hoodoo_statements.text.scope import SOURCE, TARGET, Scope
from hoodoo_statements.whole_rows import tells_values, whole_rows

# Tasks for each core: files differ in size.
_TASKS_PER_CORE = 2


@define
class Bound:
    """A statement over the columns of the table as it is. ``where``: a filter of the rows that it
    may change; of a statement that is given as a pyarrow expression, of those that it does.
    ``nothing``: no row of the table can be."""

    clauses: Clauses
    inserts: tuple[Insert, ...]
    where: pc.Expression | None
    columns: tuple[str, ...]
    # Whether a row of the source that is matched by none has a key that the table lacks.
    whole_key: bool = False
    nothing: bool = False


@define
class Statement(ChangesRows):
    """``matched``, ``unmatched``, ``inserts``: its clauses, as
    :class:`~hoodoo_statements.clauses.Clauses` says. ``source``, ``on``: what is merged and how it
    is matched. ``where``: a pyarrow expression, of a statement without a source. ``target_names``,
    ``source_names``: what the two are called in text. After the write: what it did."""

    table: TableHandle
    matched: tuple[Wanted, ...] = ()
    unmatched: tuple[Wanted, ...] = ()
    inserts: tuple[Wanted, ...] = ()
    source: pa.Table | None = None
    on: Any = None
    where: pc.Expression | None = None
    target_names: frozenset[str] = frozenset({TARGET})
    source_names: frozenset[str] = frozenset({SOURCE})
    now: datetime = field(factory=lambda: datetime.now(timezone.utc))
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def changes(self, target: WriteTarget, workspace: Workspace, instant: str) -> RowChanges:
        """Reads the table as ``target`` shows it. Raises the errors of a statement that can't be
        right."""
        bound = self.bind(target)
        whole = whole_rows(self.source, bound.clauses, bound.inserts, target, instant)
        if whole is not None:
            rows = target.engine.stage(target.engine.source(whole), workspace)
            return RowChanges(rows, None, frozenset(), partial(self._put, target, whole.num_rows))
        source = evolve(self.table.source(), timeline=target.timeline, options=target.options)
        plan = None if bound.nothing else Reads.plan(source, bound.columns, bound.where)
        found = self._found(target, workspace, bound, source, plan)
        schema, engine = ArrivingRows.tagged(ArrivingRows.keyed(target.schema)), target.engine
        rows = engine.map(found, OnlyRows(schema)) if bound.clauses.marks else found
        coming = 0
        if bound.inserts:
            assert self.source is not None
            there = engine.collect(engine.map(found, OnlyMarks())).column(ArrivingRows.SEQ)
            new = inserted_rows(self.source, there, bound.inserts, target, instant)
            coming = new.num_rows
            if coming:
                place = evolve(workspace, prefix=f"{workspace.prefix.rstrip('/')}/new")
                rows = engine.union([rows, engine.stage(engine.source(new), place)])
        done = counted(engine, rows)
        if done.coming:
            refuse_doubles(target, rows, bound.whole_key and done.coming == coming)
        moved = done.coming - coming
        self.inserted, self.updated, self.deleted = coming, done.puts + moved, done.deletes - moved
        read = frozenset((s.partition_path, s.file_id) for s in (plan.slices if plan else ()))
        return RowChanges(rows, done.places, read, partial(_check, target, done))

    def _put(self, target: WriteTarget, rows: int, stats: Sequence[WriteStat]) -> None:
        """Whole ``rows`` were put, each in the place of one row or of none. Those that moved went
        from elsewhere."""
        came, went, stayed = (
            sum(getattr(s, name) for s in stats)
            for name in ("num_inserts", "num_deletes", "num_updates")
        )
        if came + stayed != rows:
            raise shared_keys(target, f"{rows} were put, and {came + stayed} would be")
        self.inserted, self.updated, self.deleted = came - went, stayed + went, 0

    def bind(self, target: WriteTarget) -> Bound:
        """The statement over the columns that the table has in ``target``."""
        known = StoredFiles.columns(target.schema, target.config)
        names = {f.name for f in StoredFiles.hidden(target.config)}
        seen = pa.schema([f for f in known if f.name not in names])
        source = None if self.source is None else self.source.schema
        scope = Scope(
            f"table {target.config.name}", seen, source, self.target_names, self.source_names
        )
        binder = Binder(scope, target.schema, self.now)
        alone = (
            scope.only(TARGET, "no row of the source is matched there")
            if source is not None
            else scope
        )
        matched = [binder.clause(w, scope) for w in self.matched]
        unmatched = [binder.clause(w, alone) for w in self.unmatched]
        theirs = scope.only(SOURCE, "a row that is inserted has none yet")
        inserts = tuple(binder.insert(w, theirs) for w in self.inserts)
        joined, compared = (None, None)
        if self.source is not None:
            joined, compared = join(binder, self.on, target.generator.record_key_fields)
            joined = evolve(joined, equal=self._equal(compared, seen))
        clauses = Clauses(
            tuple(c for c, _ in matched), tuple(c for c, _ in unmatched), joined, bool(inserts)
        )
        where, nothing = self._where(matched, unmatched, compared, seen, bool(inserts))
        whole = compared is not None and self._whole_key(compared, target)
        return Bound(clauses, inserts, where, _columns(clauses, target), whole, nothing)

    def _equal(self, compared: Expression, seen: pa.Schema) -> tuple[tuple[str, str], ...]:
        """Arrow finds the rows by itself where columns are compared, whose values together differ
        in the source."""
        pairs = only_equal(compared.tree)
        types = [seen.field(mine).type for mine, _ in pairs]
        values = [self._source.column(theirs).type for _, theirs in pairs]
        if not pairs or not all(plain(*both) for both in zip(types, values, strict=True)):
            return ()
        try:
            return pairs if PlainJoin.of(self._source, pairs, types).distinct else ()
        except pa.ArrowInvalid:
            return ()

    @property
    def _source(self) -> pa.Table:
        assert self.source is not None
        return self.source

    def _where(
        self,
        matched: Sequence[tuple[Clause, Expression | None]],
        unmatched: Sequence[tuple[Clause, Expression | None]],
        compared: Expression | None,
        seen: pa.Schema,
        marks: bool,
    ) -> tuple[pc.Expression | None, bool]:
        """A filter that lets all rows through that a clause may take or that are to be matched; and
        whether there are none."""
        if self.where is not None:
            return self.where, False
        wanted: list[pc.Expression | None] = []
        if compared is not None and not never_matches(self._source, compared):
            one = _both(within(self._source, compared, seen), implied(compared.tree, seen))
            if not marks and not unmatched:
                one = _both(one, _any([c and implied(c.tree, seen) for _, c in matched]))
            wanted.append(one)
        wanted += [c and implied(c.tree, seen) for _, c in unmatched]
        return _any(wanted), not wanted

    def _whole_key(self, compared: Expression, target: WriteTarget) -> bool:
        """Whether rows are matched by all columns of the record key, and by nothing that one key
        may have several of."""
        fields = set(target.generator.record_key_fields)
        mine = {name for name, _ in only_equal(compared.tree)}
        if not target.index.is_global:
            mine -= set(target.generator.partition_fields) - fields
        return bool(fields) and mine == fields and tells_values(target.generator)

    def _found(
        self,
        target: WriteTarget,
        workspace: Workspace,
        bound: Bound,
        source: ReadSource,
        plan: ScanPlan | None,
    ) -> Stream:
        """What the statement makes of the rows that there are, staged."""
        engine = target.engine
        if plan is None or not plan.slices:
            return engine.source(
                ArrivingRows.tagged(ArrivingRows.keyed(target.schema)).empty_table()
            )
        index = target.index
        # Into a log of a computed index a key may come back to a base file that has it still, and
        # is compared with that.
        returns = target.computed is not None and target.logs is not None
        step = FindChanges(
            target.schema,
            plan.reader(source),
            bound.clauses,
            target.generator,
            target.merger,
            _makes_keys(bound.clauses, target),
            not index.is_global or index.moves_partitions,
            index.is_global or returns,
            None if self.source is None else engine.side(self.source),
        )
        tasks = Reads.payloads(plan.slices, engine.parallelism * _TASKS_PER_CORE)
        return engine.stage(engine.map(engine.tasks(tasks), step), workspace)


def _columns(clauses: Clauses, target: WriteTarget) -> tuple[str, ...]:
    """The columns that are read: those that expressions name, the record key, and what an update
    leaves as it is."""
    generator, schema = target.generator, target.schema
    needed = {
        name.partition(".")[2]
        for c in clauses.all
        for name in c.reads
        if name.startswith(f"{TARGET}.")
    }
    if clauses.join is not None:
        needed |= {n.partition(".")[2] for n in clauses.join.reads if n.startswith(f"{TARGET}.")}
    needed |= set(record_key_columns(generator)) if _makes_keys(clauses, target) else {RECORD_KEY}
    updates = [c for c in clauses.all if c.values is not None]
    if updates:
        anew = set.intersection(*(set(c.values or ()) for c in updates))
        needed |= {n for n in schema.names if n not in anew}
        top = {n.split(".")[0] for n in (*generator.record_key_fields, *generator.partition_fields)}
        if top & clauses.assigned:
            needed |= top
        if not ArrivingRows.is_plain(target.merger, BY_ARRIVAL):
            needed |= set(schema.names if target.merger.columns is None else target.merger.columns)
        if any(isinstance(v, Arrow) for c in updates for v in (c.values or {}).values()):
            needed |= set(schema.names)
    known = StoredFiles.columns(schema, target.config)
    return tuple(n for n in known.names if n in needed)


def _makes_keys(clauses: Clauses, target: WriteTarget) -> bool:
    """Whether the keys of rows are made of their columns: they are not stored, or these columns are
    read anyway. Files that are written say whether such a key is there; log files don't."""
    if target.virtual is not None:
        return True
    read = {mine for mine, _ in clauses.join.equal} if clauses.join is not None else set()
    columns = set(record_key_columns(target.generator))
    return (
        target.logs is None and tells_values(target.generator) and bool(columns) and columns <= read
    )


def _both(one: pc.Expression | None, other: pc.Expression | None) -> pc.Expression | None:
    return other if one is None else one if other is None else one & other


def _any(filters: Sequence[pc.Expression | None]) -> pc.Expression | None:
    """What one of ``filters`` lets through; None: all."""
    found: pc.Expression | None = None
    for one in filters:
        if one is None:
            return None
        found = one if found is None else found | one
    return found


def _check(target: WriteTarget, done: Counted, stats: Any) -> None:
    check_written(target, done, stats)

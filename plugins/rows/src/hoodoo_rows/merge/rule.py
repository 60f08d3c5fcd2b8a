"""How the log rows of a slice meet its base file: the part of a read that a task needs for
merging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator, record_key_columns
from hoodoo.hookspecs.merger import Merger, delete_mark
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import IS_DELETED, OPERATION, RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import first_layout_of
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows.evolution import Evolved
from hoodoo_rows.merge.virtual import VirtualKeys
from hoodoo_rows.model.internal_row import DELETE_ROW, PUT

# Of a commit's extra metadata: Hudi's internal schema, of tables that have one.
LATEST_SCHEMA = "latest_schema"


@frozen
class Visible:
    """Which log blocks count, by the instant that wrote them.

    ``committed`` None: all up to ``limit`` do, because files of other instants have been left out
    (versions 8 and 9, whose log names say the instant). Else (version 6, and tables that were
    upgraded from it, which have log files of before) those of completed instants, and those older
    than ``start``, which are archived.

    ``done``, ``clusterings``: completed instants, where names say the instant; but those of log
    files which were written beside a clustering, into file groups that it made, say that one."""

    limit: str | None = None
    committed: frozenset[str] | None = None
    start: str | None = None
    done: frozenset[str] = frozenset()
    clusterings: frozenset[str] = frozenset()

    @classmethod
    def of(cls, timeline: Timeline, as_of: str | None) -> Visible:
        """What is visible on ``timeline``, up to the requested time ``as_of`` (None: all of it)."""
        limit = None if as_of is None else order_key(as_of)
        start = None if timeline.start is None else order_key(timeline.start)
        done = frozenset(i.requested for i in timeline.writes())
        if timeline.layout.log_names_slice or first_layout_of(timeline.config).log_names_slice:
            return cls(limit, done, start)
        replacing = frozenset(i.requested for i in timeline.writes() if i.traits.replaces)
        return cls(limit, None, start, done, replacing)

    def with_own(self, instant: str) -> Visible:
        """For who writes ``instant``, and reads what it has written."""
        return (
            self if self.committed is None else evolve(self, committed=self.committed | {instant})
        )

    def shows(self, instant: str) -> bool:
        """Whether a log block of ``instant`` counts."""
        if self.limit is not None and order_key(instant) > self.limit:
            return False
        if self.committed is None or instant in self.committed:
            return True
        return self._archived(instant)

    def counts_in(self, named: str, instant: str) -> bool | None:
        """Whether a block of ``instant`` counts in a log file with another instant in its name;
        None: the name has to say the same."""
        clusters = named in self.clusterings or self._archived(named)
        if not clusters or order_key(instant) < order_key(named):
            return None
        return instant in self.done or self._archived(instant)

    def _archived(self, instant: str) -> bool:
        return self.start is not None and order_key(instant) < self.start


@frozen
class MergeRule:
    """``schema``: the columns that merging reads, in the types of the table; of tables with stored
    keys the record key is among them. ``keys`` makes the keys of tables with virtual ones; in the
    schema the record key is among them only where a writer asks for it. ``deletes`` knows what
    delete blocks name. ``ordering``: the columns whose values delete blocks carry. ``needed``: the
    columns of the schema that merging itself looks at. ``gives_keys``: the stored record keys are
    wanted besides."""

    merger: Merger
    schema: pa.Schema
    visible: Visible = Visible()
    ordering: tuple[str, ...] = ()
    keys: KeyGenerator | None = None
    deletes: KeyGenerator | None = None
    needed: frozenset[str] = frozenset()
    gives_keys: bool = True
    # What reads the log files.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)
    # Log rows may meet stored ones by the numbers of these.
    by_rows: bool = True

    @classmethod
    def of(
        cls,
        stored: pa.Schema,
        config: TableConfig,
        merger: Merger,
        visible: Visible,
        keys: KeyGenerator | None,
        file_format: BaseFileFormat | None,
    ) -> MergeRule:
        """The rule for a read of all columns of a table with the schema ``stored``, whose base
        files ``file_format`` reads."""
        needed = {IS_DELETED, *config.ordering_fields}
        needed |= set(stored.names if merger.columns is None else merger.columns)
        needed |= set((delete_mark(merger) or ())[:1])
        needed.add(RECORD_KEY)
        deletes = keys
        if config.populate_meta_fields:
            keys = None
        elif keys is not None:
            needed |= set(record_key_columns(keys))
        ordering = tuple(n for n in config.ordering_fields if n in stored.names)
        gives_keys = RECORD_KEY in stored.names or merger.columns is None
        needs, logs = frozenset(needed), logs_of_schema(log_files(config), file_format)
        return cls(merger, stored, visible, ordering, keys, deletes, needs, gives_keys, logs)

    @property
    def out_schema(self) -> pa.Schema:
        """What merging gives."""
        if self.gives_keys or self.keys is not None:
            return self.schema
        return pa.schema([f for f in self.schema if f.name != RECORD_KEY])

    def narrowed(self, wanted: Iterable[str]) -> MergeRule:
        """The rule for a read of the columns ``wanted`` alone."""
        names = set(wanted)
        kept = pa.schema([f for f in self.schema if f.name in self.needed or f.name in names])
        gives_keys = RECORD_KEY in names or self.merger.columns is None
        return evolve(self, schema=kept, gives_keys=gives_keys)

    def record_keys(self, rows: pa.RecordBatch) -> pa.Array:
        """The record keys (text) of ``rows``: stored ones, or computed where they are virtual."""
        if self.keys is None or RECORD_KEY in rows.schema.names:
            return rows.column(RECORD_KEY)
        return self.keys.record_keys(rows)


Mark = tuple[str, tuple[str, ...]]


def marked_operations(
    rows: pa.RecordBatch | pa.Table, mark: Mark | None
) -> pa.Array | pa.ChunkedArray:
    """DELETE_ROW for rows that are marked as deleted, PUT for the others: ``HoodieRecord.isDelete``
    of Hudi. ``mark``: the mark of the table's merger."""
    names, marked = rows.schema.names, None
    if IS_DELETED in names:
        marked = pc.fill_null(rows.column(IS_DELETED), False)
    if OPERATION in names and rows.schema.field(OPERATION).type == pa.string():
        # Of Flink's changelogs: deleted, or as a row was before an update.
        gone = pc.is_in(rows.column(OPERATION), value_set=pa.array(["D", "-U"]))
        marked = gone if marked is None else pc.or_(marked, gone)
    if mark is not None and mark[0] in names:
        texts = rows.column(mark[0]).cast(pa.string())
        gone = pc.is_in(texts, value_set=pa.array(mark[1], pa.string()))
        marked = gone if marked is None else pc.or_(marked, gone)
    if marked is None:
        return pa.array(np.full(rows.num_rows, PUT, np.int8))
    return pc.if_else(marked, pa.scalar(DELETE_ROW, pa.int8()), pa.scalar(PUT, pa.int8()))


# --- names that columns had before -------------------------------------------------------------
def as_of_schema(
    file_format: BaseFileFormat, storage: Storage, newest: CommitMetadata | None
) -> BaseFileFormat:
    """``file_format`` as it reads files of any age with the columns that ``newest`` gives the
    table: if it has an internal schema, older files may have other names for these."""
    if isinstance(file_format, VirtualKeys):
        return evolve(file_format, inner=as_of_schema(file_format.inner, storage, newest))
    stored: BaseFileFormat = file_format.stored if isinstance(file_format, Evolved) else file_format
    latest = newest and newest.extra.get(LATEST_SCHEMA)
    if not latest:
        return stored
    from hoodoo_rows.evolution.files import evolved  # few tables have an internal schema
    from hoodoo_rows.evolution.history import loaded

    return evolved(stored, loaded(storage, latest))


def history_of(file_format: BaseFileFormat | None) -> Any:
    """The schemas that a format of :func:`as_of_schema` knows; None of a table without an
    internal one."""
    plain = file_format.inner if isinstance(file_format, VirtualKeys) else file_format
    return plain.history if isinstance(plain, Evolved) else None


def noted_schema(file_format: BaseFileFormat) -> dict[str, str]:
    """What a commit of files with the schema of ``file_format`` says in its extra metadata."""
    history = history_of(file_format)
    return {} if history is None else {LATEST_SCHEMA: history.latest}


def refuse_evolved(
    fresh: Timeline, storage: Storage, file_format: BaseFileFormat, requested: str
) -> None:
    """CommitConflictError if files of ``requested`` would be read with other names than they
    have."""
    newest = fresh.latest_schema(storage, requested)
    latest = newest and newest.extra.get(LATEST_SCHEMA)
    if (latest or None) != noted_schema(file_format).get(LATEST_SCHEMA):
        raise CommitConflictError(
            f"instant {requested}",
            "columns were renamed or dropped while it was at work.",
            "Run it again.",
        )


def logs_of_schema(logs: LogFiles, file_format: BaseFileFormat | None) -> Any:
    """``logs`` as they are read beside base files of ``file_format``."""
    history = history_of(file_format)
    if history is None:
        return logs
    from hoodoo_rows.evolution.logs import EvolvedLogs

    return EvolvedLogs(logs, history)

"""The index: entries of (key, instant), written by the tasks that know them, counted once the
instant is completed."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.engine import Side, Stream, Task
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext
from hoodoo.hookspecs.participant import ActionChange, TableState
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

from hoodoo_sqlite_index.plugin import PATH

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    key TEXT, instant TEXT, path TEXT, file_id TEXT, deleted INT, PRIMARY KEY (key, instant)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_instant ON entries (instant);
CREATE TABLE IF NOT EXISTS made (instant TEXT);
"""
# Of a key that came and went with one instant, that it came counts.
_PUT = """
INSERT INTO entries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
SET path = excluded.path, file_id = excluded.file_id, deleted = 0 WHERE NOT excluded.deleted
"""
# The columns beside max() are those of the row that has it.
_NEWEST = """
SELECT key, path, file_id FROM (
    SELECT e.key, e.path, e.file_id, e.deleted, max(r.place) FROM entries e
    JOIN temp.ranks r USING (instant) {asked} GROUP BY e.key
) WHERE NOT deleted
"""
_WAIT = 120.0
_FIRST = "first"  # the table was empty when it began to learn
_COUNT = pa.schema([("rows", pa.int64())])


def _open(path: str) -> Any:
    """The database; it is closed with the block, and what was done in it is committed before."""
    found = sqlite3.connect(path, timeout=_WAIT, isolation_level="IMMEDIATE")
    found.executescript(_TABLES)
    return closing(found)


@frozen
class SqliteIndex:
    """``path`` of the database."""

    path: str
    is_global: bool = True
    moves_partitions: bool = False
    knows_logs: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> SqliteIndex:
        path = settings.given(PATH)
        if path is None:
            raise ConfigError("index sqlite", "needs a database.", f"Give the option {PATH.key}.")
        return cls(path)

    # --- lookups ----------------------------------------------------------------------------------
    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        return context.engine.map(keys, _LookUp(self.path, self._ranks(context)))

    def entries(self, context: IndexContext) -> Stream:
        """All that count; they are no more than the keys of the table."""
        step = _LookUp(self.path, self._ranks(context), every=True)
        return context.engine.map(context.engine.tasks([b""]), step)

    def _ranks(self, context: IndexContext) -> tuple[tuple[str, int], ...]:
        """The instants whose entries count, each with its place in the order of completion."""
        timeline = context.timeline
        assert timeline is not None
        with _open(self.path) as db:
            made = [name for (name,) in db.execute("SELECT instant FROM made")]
            found = [name for (name,) in db.execute("SELECT DISTINCT instant FROM entries")]
        if not made and context.slices:
            raise ConfigError(
                f"index sqlite at {self.path}", "has not learned all keys of the table.",
                'Make it: table.rebuild_index("sqlite").',
            )  # fmt: skip
        return (*((name, -1) for name in made), *_counted(timeline, found))

    # --- learning ---------------------------------------------------------------------------------
    def written(self, change: ActionChange) -> None:
        assert change.keys is not None
        instant = change.instant.requested
        with _open(self.path) as db, db:
            db.execute("DELETE FROM entries WHERE instant = ?", (instant,))
            if not change.timeline.writes():
                _begin(db, instant, [i.requested for i in change.timeline.pending()])
        if change.keys.rows is not None:
            self._put(change.keys.table, change.keys.rows, change.keys.files.items(), instant)

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        with _open(self.path) as db, db:
            db.execute("DELETE FROM entries WHERE instant = ?", (requested,))

    def rebuild(self, state: TableState) -> None:
        made = f"made {uuid.uuid4()}"
        files = ((n, (s.partition_path, s.file_id)) for n, s in enumerate(state.slices))
        self._put(state, state.keys_of(state.slices), files, made)
        with _open(self.path) as db, db:
            found = [name for (name,) in db.execute("SELECT DISTINCT instant FROM entries")]
            known = {name for name, _place in _counted(state.timeline, found)}
            old = [n for n in found if n in known or (n.startswith("made ") and n != made)]
            db.executemany("DELETE FROM entries WHERE instant = ?", [(name,) for name in old])
            db.execute("DELETE FROM made")
            db.execute("INSERT INTO made VALUES (?)", (made,))

    def _put(
        self,
        state: TableState,
        rows: Stream,
        files: Iterable[tuple[int, tuple[str, str]]],
        instant: str,
    ) -> None:
        places = [{"file": n, "path": path, "file_id": file_id} for n, (path, file_id) in files]
        if places:
            side = state.engine.side(pa.Table.from_pylist(places))
            state.engine.collect(state.engine.map(rows, _Put(self.path, instant, side)))


def _begin(db: Any, instant: str, pending: Iterable[str]) -> None:
    """The table has no rows: what the database knows is of one that was deleted, except of
    ``pending`` writes and of those that began after ``instant``."""
    others = [n for (n,) in db.execute("SELECT DISTINCT instant FROM entries") if n not in pending]
    gone = [(name,) for name in others if name < instant or not name.isdigit()]
    db.executemany("DELETE FROM entries WHERE instant = ?", gone)
    db.execute("DELETE FROM made")
    db.execute("INSERT INTO made VALUES (?)", (_FIRST,))


def _counted(timeline: Timeline, instants: Iterable[str]) -> list[tuple[str, int]]:
    there = [i for i in instants if i.isdigit() and timeline.contains_or_before_start(i)]
    ordered = sorted(there, key=timeline.completion_time)
    return [(name, place) for place, name in enumerate(ordered)]


@frozen
class _Put:
    """Step: KEY_CHANGES into entries of one instant."""

    path: str
    instant: str
    places: Side

    @property
    def out_schema(self) -> pa.Schema:
        return _COUNT

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        files = {row["file"]: row for row in self.places.table().to_pylist()}
        for batch in batches:
            # SQLite takes rows alone: this index is one of them at a time.
            columns = (batch.column(name).to_pylist() for name in batch.schema.names)
            rows = [
                (key, self.instant, files[n]["path"], files[n]["file_id"], int(deleted))
                for key, n, deleted in zip(*columns, strict=True)
            ]
            with _open(self.path) as db, db:
                db.executemany(_PUT, rows)
            yield pa.record_batch([[len(rows)]], schema=_COUNT)


@frozen
class _LookUp:
    """Step: asked keys, or (``every``) nothing, into LOCATIONS_SCHEMA."""

    path: str
    ranks: tuple[tuple[str, int], ...]
    every: bool = False

    @property
    def out_schema(self) -> pa.Schema:
        return LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        with _open(self.path) as db:
            db.execute("CREATE TEMP TABLE ranks (instant TEXT PRIMARY KEY, place INT)")
            db.executemany("INSERT INTO temp.ranks VALUES (?, ?)", self.ranks)
            db.execute("CREATE TEMP TABLE asked (key TEXT PRIMARY KEY)")
            for batch in batches:
                if not self.every:
                    keys = batch.column("record_key").to_pylist()
                    db.execute("DELETE FROM temp.asked")
                    db.executemany(
                        "INSERT OR IGNORE INTO temp.asked VALUES (?)", ((k,) for k in keys)
                    )
                asked = "" if self.every else "JOIN temp.asked a ON a.key = e.key"
                found = db.execute(_NEWEST.format(asked=asked))
                while rows := found.fetchmany(65_536):
                    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
                    yield pa.record_batch(columns, schema=LOCATIONS_SCHEMA)
            db.rollback()

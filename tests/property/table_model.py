"""What a table must hold after a list of writes, as a dictionary: no Arrow, no files, no Hoodoo.

Keys, paths and winners are worked out here a second time, from Hudi's specification and the documents of
the mergers, so that a mistake in either shows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field, frozen

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = {chr(c) for c in (*range(32), 127)} | set("\"#%'*/:=?\\{[]^")

Values = dict[str, Any]
Counts = tuple[int, int, int]  # inserted, updated, deleted


@frozen
class Setup:
    """One kind of table. ``key``, ``partition`` and ``ordering`` are column names."""

    version: int = 9
    key: tuple[str, ...] = ("k",)
    partition: tuple[str, ...] = ()
    index: str = "simple"
    event_time: bool = False
    ordering: tuple[str, ...] = ()
    ordering_types: tuple[str, ...] = ()  # names in table_values.ORDERED
    hive: bool = False
    url: bool = False
    moves: bool = True
    small_file_limit: int | None = None
    max_file_size: int | None = None
    bloom: bool = False
    merge_on_read: bool = False
    blocks: str = "parquet"  # of log files
    # Keys are not stored: "rfc" (RFC-21's setting), "hudi" (Hudi's property alone), "later" (from the
    # second write on).
    virtual: str = ""
    # The metadata table: "files" (and ranges), "keys" (also a record index); none: only what ``index`` is.
    metadata: str = ""
    payload: tuple[str, ...] = ()  # names in table_values.PAYLOAD; none: all of them
    more: tuple[tuple[str, str], ...] = ()  # options
    # Options that change no row: those it is created with, and those of later handles, in turn.
    drawn: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def is_global(self) -> bool:
        return self.index.startswith("global_") or self.index in (
            "record_index",
            "growing_record_index",
        )

    @property
    def by_records(self) -> bool:
        """Whether keys are looked up in the record index."""
        return self.index.endswith("record_index")

    @property
    def has_metadata(self) -> bool:
        return bool(self.metadata) or self.by_records

    @property
    def is_lost_on_hudi(self) -> bool:
        """Whether it has file groups of log files alone, which `hudi` 0.5 does not see where a metadata
        table lists them."""
        return self.merge_on_read and self.has_metadata and self.index == "bucket"

    @property
    def is_strict(self) -> bool:
        """A key has no part that is null."""
        return self.virtual in ("rfc", "later")

    @property
    def shown_meta(self) -> tuple[str, ...] | None:
        """The meta columns that a reader shows; None: all."""
        return {"rfc": ("_hoodie_commit_time",), "hudi": ()}.get(self.virtual)

    @property
    def prefixed(self) -> bool:
        """The key is one column and says its name, as the generator COMPLEX has it."""
        return len(self.key) == 1 and len(self.partition) > 1

    def record_key(self, values: Values) -> str:
        pairs = len(self.key) > 1 or len(self.partition) > 1
        if not pairs:
            return _text(values[self.key[0]])
        parts = []
        for name in self.key:
            text = _text(values[name])
            parts.append(f"{name}:{'__null__' if values[name] is None else text or '__empty__'}")
        return ",".join(parts)

    def partition_path(self, values: Values) -> str:
        parts = []
        for name in self.partition:
            text = _text(values[name]) or DEFAULT_PARTITION
            if self.url and text != DEFAULT_PARTITION:
                text = "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)
            parts.append(f"{name}={text}" if self.hive else text)
        return "/".join(parts)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, dt.date) else str(value)


@frozen
class Row:
    """An incoming row. ``rank``: the places of its ordering values in ascending order, null first.

    ``dead``: the column ``_hoodie_is_deleted`` is true.
    """

    values: Values
    rank: tuple[int, ...] = ()
    dead: bool = False


@frozen
class Stored:
    """A row in the table; ``instant`` is its ``_hoodie_commit_time``."""

    values: Values
    rank: tuple[int, ...]
    path: str
    key: str
    instant: str = ""


@define
class Model:
    """``rows``: (partition path, record key) -> row. Every method answers the commit's counts."""

    setup: Setup
    rows: dict[tuple[str, str], Stored] = field(factory=dict)

    # --- questions --------------------------------------------------------------------------------
    def paths(self) -> list[str]:
        return sorted({path for path, _ in self.rows})

    def find(self, path: str, key: str) -> Stored | None:
        """The row that an index finds: anywhere for a global one, else in ``path`` alone."""
        if not self.setup.is_global:
            return self.rows.get((path, key))
        return next((row for row in self.rows.values() if row.key == key), None)

    def stored(self) -> Iterable[Stored]:
        """Every row that the table holds, seen or not."""
        return self.rows.values()

    def place(self, row: Row) -> tuple[str, str]:
        return self.setup.partition_path(row.values), self.setup.record_key(row.values)

    # --- writes -----------------------------------------------------------------------------------
    def upsert(self, batch: Iterable[Row], instant: str) -> Counts:
        inserted = updated = deleted = 0
        for row in self._folded(batch):
            path, key = self.place(row)
            lying = self.find(path, key)
            if lying is None:
                if not row.dead:
                    self._put(row, path, key, instant)
                    inserted += 1
            elif not self._wins(lying.rank, row.rank):
                continue
            elif row.dead:
                del self.rows[lying.path, key]
                deleted += 1
            elif lying.path != path and self.setup.moves:
                del self.rows[lying.path, key]
                self._put(row, path, key, instant)
                deleted += 1
                inserted += 1
            else:
                self._put(row, lying.path, key, instant)
                updated += 1
        return inserted, updated, deleted

    def insert(self, batch: Iterable[Row], instant: str) -> Counts:
        """``batch`` has no key twice and none that the table has: inserts do not look keys up."""
        count = 0
        for row in batch:
            if not row.dead:
                path, key = self.place(row)
                assert (path, key) not in self.rows
                self._put(row, path, key, instant)
                count += 1
        return count, 0, 0

    def delete(self, batch: Iterable[Row]) -> Counts:
        """By key and partition path; a global index finds the key wherever it lies."""
        gone = {(row.path, row.key) for b in batch if (row := self.find(*self.place(b)))}
        return self._drop(gone)

    def delete_keys(self, keys: Iterable[str]) -> Counts:
        """By key, in all partitions."""
        wanted = set(keys)
        return self._drop({place for place in self.rows if place[1] in wanted})

    def overwrite(self, batch: Iterable[Row], instant: str) -> Counts:
        batch = list(batch)
        self.delete_partitions({self.place(row)[0] for row in batch})
        return self.insert(batch, instant)

    def overwrite_table(self, batch: Iterable[Row], instant: str) -> Counts:
        self.rows.clear()
        return self.insert(batch, instant)

    def delete_partitions(self, paths: Iterable[str]) -> Counts:
        """Replaced rows are not counted: their files are left behind unread."""
        gone = set(paths)
        self.rows = {place: row for place, row in self.rows.items() if place[0] not in gone}
        return 0, 0, 0

    # --- inside -----------------------------------------------------------------------------------
    def _put(self, row: Row, path: str, key: str, instant: str) -> None:
        self.rows[path, key] = Stored(row.values, row.rank, path, key, instant)

    def _drop(self, places: set[tuple[str, str]]) -> Counts:
        for place in places:
            del self.rows[place]
        return 0, 0, len(places)

    def _wins(self, older: tuple[int, ...], newer: tuple[int, ...]) -> bool:
        return newer >= older if self.setup.event_time else True

    def _folded(self, batch: Iterable[Row]) -> list[Row]:
        """One row a key: of each pair the winner, in order of arrival."""
        kept: dict[tuple[str, str], Row] = {}
        for row in batch:
            path, key = self.place(row)
            same = ("" if self.setup.is_global else path, key)
            if same not in kept or self._wins(kept[same].rank, row.rank):
                kept[same] = row
        return list(kept.values())

    def copy(self) -> Model:
        return Model(self.setup, dict(self.rows))

    def widened(self, name: str) -> None:
        """A new column: rows that are there have null."""
        for place, row in self.rows.items():
            self.rows[place] = evolve(row, values={**row.values, name: None})

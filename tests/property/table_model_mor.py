"""The dictionary for tables that are merged on read: what base files hold, and what logs add.

Log rows of a key are merged among themselves, from the oldest to the newest, and then with the row in
the base file, as Hudi's readers do it. So a marked delete stays in the log with its value. What a delete
by key has erased never comes back: a later row that the row in the base file would beat is written with
a new base file.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from attrs import define, evolve, field
from hoodoo_standard.index.bucket import BucketIndex
from table_model import Counts, Model, Row, Stored

Place = tuple[str, str]  # partition path, record key
BUCKETS = 3


@define
class Entry:
    """One log row: ``row`` None is a delete by key, ``dead`` a row that is marked as deleted."""

    row: Stored | None
    dead: bool = False


@define
class Copy:
    """A key in one file group. ``planned``: how many entries a pending compaction will take in.
    ``told``: what a record index was told last, that the key is here."""

    base: Stored | None = None
    entries: list[Entry] = field(factory=list)
    planned: int = 0
    told: bool = True

    def delete(self) -> None:
        """By key."""
        self.entries.append(Entry(None))
        self.told = False


@define
class LogModel(Model):
    """``copies``: every place where a key lies, alive or not; ``rows`` is made from it. ``groups``: the
    buckets that have a file group, by partition path."""

    copies: dict[Place, list[Copy]] = field(factory=dict)
    groups: set[tuple[str, int]] = field(factory=set)

    # --- merging ----------------------------------------------------------------------------------
    def _fold(self, entries: Iterable[Entry]) -> Entry | None:
        kept: Entry | None = None
        for entry in entries:
            if (
                kept is None
                or kept.row is None
                or entry.row is None
                or self._wins(kept.row.rank, entry.row.rank)
            ):
                kept = entry
        return kept

    def _merged(self, base: Stored | None, entries: Iterable[Entry]) -> Stored | None:
        entry = self._fold(entries)
        if entry is None:
            return base
        if entry.row is None:
            return None
        if base is not None and not self._wins(base.rank, entry.row.rank):
            return base
        return None if entry.dead else entry.row

    def _alive(self, copy: Copy) -> Stored | None:
        return self._merged(copy.base, copy.entries)

    def _look(self) -> None:
        self.rows.clear()
        for place, copies in self.copies.items():
            living = [row for copy in copies if (row := self._alive(copy)) is not None]
            assert len(living) <= 1, place
            if living:
                self.rows[place] = living[0]

    # --- the index --------------------------------------------------------------------------------
    def _located(self, path: str, key: str) -> tuple[Place, Copy] | None:
        found = [
            (place, copy)
            for place, copies in self.copies.items()
            if place[1] == key and (self.setup.is_global or place[0] == path)
            for copy in copies
            if self._finds(copy)
        ]
        if len(found) > 1:
            found = [(place, copy) for place, copy in found if self._alive(copy) is not None]
        return found[0] if found else None

    def _finds(self, copy: Copy) -> bool:
        if self.setup.by_records:
            return copy.told
        if self.setup.index == "bucket" or copy.base is not None:
            return True
        return self._alive(copy) is not None  # a log file alone

    def _add(self, row: Row, path: str, key: str, instant: str) -> None:
        """A new row: in a base file, or in the log of its bucket."""
        stored = Stored(row.values, row.rank, path, key, instant)
        if self.setup.index == "bucket":
            self.groups.add((path, self._bucket(key)))
            copy = self.copies.setdefault((path, key), [Copy()])[0]
            self._log(copy, stored)
        else:
            self.copies.setdefault((path, key), []).append(Copy(stored))

    def _log(self, copy: Copy, row: Stored, dead: bool = False) -> None:
        if self._erased_wins(copy, row.rank):
            copy.base, copy.entries, copy.planned = None, [], 0
        copy.entries.append(Entry(row, dead))

    def _is_erased(self, copy: Copy) -> bool:
        """Whether a delete by key is the last that its log files say."""
        last = self._fold(copy.entries)
        return last is not None and last.row is None

    def _erased_wins(self, copy: Copy, rank: tuple[int, ...]) -> bool:
        if copy.base is None or not self._is_erased(copy):
            return False
        return not self._wins(copy.base.rank, rank)

    def has_erased_winner(self, batch: Iterable[Row]) -> bool:
        """Whether a row of ``batch`` needs a new base file."""
        return any(
            self._erased_wins(copy, row.rank)
            for row in self._folded(batch)
            if not row.dead
            for place, copies in self.copies.items()
            if place[1] == self.place(row)[1]
            for copy in copies
        )

    def _bucket(self, key: str) -> int:
        return int(BucketIndex(BUCKETS, self.setup.key).bucket(pa.array([key]))[0].as_py())

    # --- writes -----------------------------------------------------------------------------------
    def upsert(self, batch: Iterable[Row], instant: str) -> Counts:
        inserted = updated = deleted = 0
        begun = set(self.groups)
        for row in self._folded(batch):
            path, key = self.place(row)
            located = self._located(path, key)
            if located is not None and located[0][0] != path and not self.setup.moves:
                # A key whose row is gone comes back where its columns say.
                located = located if self._alive(located[1]) is not None else None
            if located is None:
                if not row.dead:
                    self._add(row, path, key, instant)
                    inserted += 1
                elif self.setup.index == "bucket" and (path, self._bucket(key)) in begun:
                    # A bucket does not know its keys: the mark is in its log, and stays there.
                    stored = Stored(row.values, row.rank, path, key, instant)
                    self.copies[path, key] = [Copy(entries=[Entry(stored, dead=True)])]
                continue
            place, copy = located
            if place[0] != path and self.setup.moves and not row.dead:
                lying = self._alive(copy)
                if lying is not None and not self._wins(lying.rank, row.rank):
                    continue
                copy.delete()
                self._add(row, path, key, instant)
                deleted += 1
                inserted += 1
                continue
            if place[0] != path and self.setup.moves:
                lying = self._alive(copy)
                if lying is not None and not self._wins(lying.rank, row.rank):
                    continue
            if row.dead and self._is_erased(copy) and self.setup.event_time:
                continue  # there is nothing to delete
            stored = Stored(row.values, row.rank, place[0], key, instant)
            is_new = not row.dead and self._erased_wins(copy, row.rank)
            self._log(copy, stored, row.dead)
            # Where a stored row may outlast the mark, the index is not told.
            copy.told = not row.dead or self.setup.event_time
            inserted += is_new  # in a new base file
            updated += not row.dead and not is_new
            deleted += row.dead
        self._look()
        return inserted, updated, deleted

    def insert(self, batch: Iterable[Row], instant: str) -> Counts:
        count = 0
        for row in batch:
            if not row.dead:
                path, key = self.place(row)
                assert (path, key) not in self.rows
                self._add(row, path, key, instant)
                count += 1
        self._look()
        return count, 0, 0

    def delete(self, batch: Iterable[Row]) -> Counts:
        return self._delete_at(self.place(row) for row in batch)

    def _delete_at(self, places: Iterable[Place]) -> Counts:
        gone: list[Copy] = []
        for path, key in places:
            located = self._located(path, key)
            if located is not None and not any(located[1] is copy for copy in gone):
                gone.append(located[1])
        return self._deleted(gone)

    def _deleted(self, gone: list[Copy]) -> Counts:
        for copy in gone:
            copy.delete()
        self._look()
        return 0, 0, len(gone)

    def delete_keys(self, keys: Iterable[str]) -> Counts:
        gone: list[Copy] = []
        for key in dict.fromkeys(keys):
            for path in sorted({place[0] for place in self.copies if place[1] == key}):
                located = self._located(path, key)
                if located is not None and not any(located[1] is copy for copy in gone):
                    gone.append(located[1])
        return self._deleted(gone)

    def overwrite(self, batch: Iterable[Row], instant: str) -> Counts:
        batch = list(batch)
        self.delete_partitions({self.place(row)[0] for row in batch})
        return self._replaced(batch, instant)

    def overwrite_table(self, batch: Iterable[Row], instant: str) -> Counts:
        self.copies.clear()
        self.groups.clear()
        return self._replaced(batch, instant)

    def _replaced(self, batch: Iterable[Row], instant: str) -> Counts:
        count = 0
        for row in batch:
            if not row.dead:
                path, key = self.place(row)
                stored = Stored(row.values, row.rank, path, key, instant)
                self.copies[path, key] = [Copy(stored)]
                self.groups.add((path, self._bucket(key)))
                count += 1
        self._look()
        return count, 0, 0

    def delete_partitions(self, paths: Iterable[str]) -> Counts:
        gone = set(paths)
        self.copies = {place: c for place, c in self.copies.items() if place[0] not in gone}
        self.groups = {group for group in self.groups if group[0] not in gone}
        self._look()
        return 0, 0, 0

    # --- compaction -------------------------------------------------------------------------------
    def schedule(self) -> None:
        for copies in self.copies.values():
            for copy in copies:
                copy.planned = len(copy.entries)

    def compact(self) -> None:
        """The planned compaction runs; no row changes, unless a later one had not been seen."""
        for place, copies in list(self.copies.items()):
            for copy in copies:
                copy.base = self._merged(copy.base, copy.entries[: copy.planned])
                copy.entries = copy.entries[copy.planned :]
                copy.planned = 0
            known = self.setup.by_records
            self.copies[place] = [
                c for c in copies if c.base is not None or c.entries or (known and c.told)
            ]
            if not self.copies[place]:
                del self.copies[place]
        self._look()

    def indexed_anew(self) -> None:
        """The record index is made of the rows that there are."""
        for copies in self.copies.values():
            for copy in copies:
                copy.told = self._alive(copy) is not None

    def stored(self) -> Iterable[Stored]:
        for copies in self.copies.values():
            for copy in copies:
                if copy.base is not None:
                    yield copy.base
                yield from (e.row for e in copy.entries if e.row is not None)

    # --- the rest ---------------------------------------------------------------------------------
    def copy(self) -> LogModel:
        copies = {
            p: [evolve(c, entries=list(c.entries)) for c in cs] for p, cs in self.copies.items()
        }
        return LogModel(self.setup, dict(self.rows), copies, set(self.groups))

    def widened(self, name: str) -> None:
        def wide(row: Stored | None) -> Stored | None:
            return row and evolve(row, values={**row.values, name: None})

        for copies in self.copies.values():
            for copy in copies:
                copy.base = wide(copy.base)
                for entry in copy.entries:
                    entry.row = wide(entry.row)
        self._look()

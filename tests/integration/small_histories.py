"""Small random histories of a table, and the same history of a dictionary."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo_rows.api import Commit

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
CITIES = ("oslo", "paris", "rome")
Key = tuple[str, int]  # city, id
Change = tuple[str, Key, Any, Any]  # op, key, fare and ts before, after


@frozen
class Kind:
    """What kind of table."""

    version: int = 9
    merged: bool = False  # on read
    index: str = "simple"
    ordered: bool = False  # by ts
    blocks: str = "parquet"
    logged: str = ""  # what change data logs hold

    def __str__(self) -> str:
        words = [f"v{self.version}", "mor" if self.merged else "cow", self.index, self.blocks]
        words += [self.logged] if self.logged else []
        return "-".join([*words, "ts"] if self.ordered else words)

    def create(self, path: Path) -> hoodoo.Table:
        options: dict[str, Any] = {}
        if self.logged:
            options["hoodie.table.cdc.enabled"] = "true"
            options["hoodie.table.cdc.supplemental.logging.mode"] = self.logged
        if self.index == "bucket":
            options["hoodie.bucket.index.num.buckets"] = 2
        if self.index == "global_simple":
            options["hoodie.simple.index.update.partition.path"] = True
        if self.merged:
            options["hoodie.logfile.data.block.format"] = self.blocks
        return hoodoo.create(
            str(path), SCHEMA, record_key="id", partition_by="city", index=self.index,
            ordering="ts" if self.ordered else (), table_version=self.version, options=options,
            table_type="MERGE_ON_READ" if self.merged else "COPY_ON_WRITE",
            merger="event_time" if self.ordered else "commit_time",
        )  # fmt: skip


@frozen
class Row:
    fare: float
    ts: int
    instant: str = ""


@define
class History:
    """``states``: after every commit that changed rows, in order; the first is the empty table."""

    kind: Kind
    path: Path
    seed: int
    table: hoodoo.Table = field(init=False)
    draw: random.Random = field(init=False)
    rows: dict[Key, Row] = field(factory=dict)
    states: list[tuple[Commit | None, dict[Key, Row]]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.table = self.kind.create(self.path)
        self.draw = random.Random(self.seed)
        self.states.append((None, {}))

    def run(self, steps: int) -> History:
        for step in range(steps):
            names = ["upsert"] * 4 + ["delete", "delete", "overwrite", "drop", "again"]
            if self.kind.merged:
                names += ["compact"]
            getattr(self, "upsert" if step == 0 else self.draw.choice(names))()
        return self

    # --- steps ------------------------------------------------------------------------------------
    def upsert(self) -> None:
        draw = self.draw
        ids = draw.sample(range(12), draw.randint(1, 6))
        self._upsert({(draw.choice(CITIES), n): self._row() for n in ids})

    def again(self) -> None:
        """Rows as they are: an update to the same values."""
        chosen = self.draw.sample(sorted(self.rows), min(2, len(self.rows)))
        self._upsert({key: Row(self.rows[key].fare, self.rows[key].ts) for key in chosen})

    def delete(self) -> None:
        ids = self.draw.sample(range(12), 3)
        gone = [key for key in self.rows if key[1] in ids]
        if gone:
            commit = self.table.delete(ids)
            self._done(commit, {k: r for k, r in self.rows.items() if k not in gone})

    def overwrite(self) -> None:
        city = self.draw.choice(CITIES)
        taken = {n for other, n in self.rows if other != city}
        free = [n for n in range(12) if n not in taken or self.kind.index != "global_simple"]
        rows = {(city, n): self._row() for n in self.draw.sample(free, min(2, len(free)))}
        if rows:
            commit = self.table.insert_overwrite(self._data(rows))
            kept = {k: r for k, r in self.rows.items() if k[0] != city}
            self._done(commit, kept | self._stamped(rows, commit))

    def drop(self) -> None:
        if self.rows and self.draw.random() < 0.4:
            city = self.draw.choice(sorted(self.rows))[0]
            commit = self.table.delete_partitions(f"{city}")
            self._done(commit, {k: r for k, r in self.rows.items() if k[0] != city})

    def compact(self) -> None:
        self.table.compact()

    # --- inside -----------------------------------------------------------------------------------
    def _upsert(self, incoming: dict[Key, Row]) -> None:
        if not incoming:
            return
        commit = self.table.upsert(self._data(incoming))
        rows = dict(self.rows)
        for key, row in self._stamped(incoming, commit).items():
            rivals = [key] if key in rows else []
            if self.kind.index == "global_simple":
                rivals = [other for other in rows if other[1] == key[1]]
            if self.kind.ordered and any(rows[other].ts > row.ts for other in rivals):
                continue
            for other in rivals:
                del rows[other]
            rows[key] = row
        self._done(commit, rows)

    def _row(self) -> Row:
        return Row(float(self.draw.randint(0, 99)), self.draw.randint(0, 5))

    def _data(self, rows: dict[Key, Row]) -> pa.Table:
        columns = {
            "id": [key[1] for key in rows],
            "city": [key[0] for key in rows],
            "fare": [row.fare for row in rows.values()],
            "ts": [row.ts for row in rows.values()],
        }
        return pa.table(columns, schema=SCHEMA)

    def _stamped(self, rows: dict[Key, Row], commit: Commit) -> dict[Key, Row]:
        return {key: Row(row.fare, row.ts, commit.instant) for key, row in rows.items()}

    def _done(self, commit: Commit, rows: dict[Key, Row]) -> None:
        if commit.instant:
            self.rows = rows
            self.states.append((commit, rows))

    # --- what is expected -------------------------------------------------------------------------
    def point(self, at: int) -> str:
        """The completion of state ``at``; what version 6 has for it."""
        commit = self.states[at][0]
        if commit is None:
            return "earliest"
        return commit.completed if self.kind.version > 6 and commit.completed else commit.instant

    def written(self, since: int, until: int) -> dict[Key, Row]:
        """The rows of state ``until`` that commits after state ``since`` wrote."""
        instants = {c.instant for c, _ in self.states[since + 1 : until + 1] if c is not None}
        return {k: r for k, r in self.states[until][1].items() if r.instant in instants}

    def changes(self, at: int) -> list[Change]:
        """What the commit of state ``at`` did."""
        before, after = self.states[at - 1][1], self.states[at][1]
        commit = self.states[at][0]
        found: list[Change] = []
        for key in sorted(before.keys() | after.keys()):
            old, new = before.get(key), after.get(key)
            if new is None and old is not None:
                found.append(("delete", key, (old.fare, old.ts), None))
            elif new is not None and commit is not None and new.instant == commit.instant:
                image = None if old is None else (old.fare, old.ts)
                op = "insert" if old is None else "update"
                found.append((op, key, image, (new.fare, new.ts)))
        return found


def rows_of(found: pa.Table) -> dict[Key, Row]:
    """Rows with their commit times; a key that is there twice fails."""
    listed = found.select([*SCHEMA.names, "_hoodie_commit_time"]).to_pylist()
    rows = {(r["city"], r["id"]): Row(r["fare"], r["ts"], r["_hoodie_commit_time"]) for r in listed}
    assert len(rows) == len(listed), "a key is there twice"
    return rows

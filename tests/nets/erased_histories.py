"""Random histories with deletes, late rows and late marks on a table of any kind, beside a dictionary.

A key that has been erased has the row that came after, with its own values, or none. So the dictionary knows the rows
that may be seen of each key, and never lets one back that was erased.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.merger import Merged

SCHEMA = pa.schema(
    [("id", pa.int64()), ("p", pa.string()), ("ts", pa.int64()), ("v", pa.int64()), ("w", pa.int64())]
)  # fmt: skip
DEAD = "_hoodie_is_deleted"
COPY, MERGE = "COPY_ON_WRITE", "MERGE_ON_READ"
MODES = ("event_time", "commit_time", "partial", "partial by arrival", "keep_first", "sums")
BUCKET, HASHING = "bucket", "consistent hashing"
INDEXES = (
    "simple", "bloom", "global_simple", "global_bloom", BUCKET, HASHING,
    "record_index", "growing_record_index", "partitioned_record_index",
)  # fmt: skip
KEYS = 6


@frozen
class KeepFirst:
    """The older row stays."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = "755b420a-d5a4-488b-a84f-dd2cfc963c81"
    columns: tuple[str, ...] | None = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pa.repeat(False, newer.num_rows))


@frozen
class Sums:
    """The newer row, with the sum of ``v``."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = "755b420a-d5a4-488b-a84f-dd2cfc963c82"
    columns: tuple[str, ...] | None = None

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        at = newer.schema.get_field_index("v")
        both = pc.add(older.column("v"), newer.column("v"))
        return Merged(rows=newer.set_column(at, newer.schema.field(at), both))


@frozen
class Kind:
    """One kind of table. ``virtual``: keys are not stored."""

    index: str
    type: str
    version: int
    mode: str
    blocks: str
    virtual: bool = False

    @property
    def name(self) -> str:
        keys = "-virtual" if self.virtual else ""
        return (
            f"{self.index}-{self.type[0]}-v{self.version}-{self.mode}-{self.blocks}{keys}".replace(
                " ", "_"
            )
        )

    @property
    def exists(self) -> bool:
        """Whether tables of this kind can be."""
        if self.index in ("growing_record_index", "partitioned_record_index") and self.version == 6:
            return False
        if self.virtual and self.index.endswith("record_index"):
            return False
        if self.index == HASHING and self.type == COPY:
            return False
        return self.type == MERGE or self.blocks == "parquet"

    @property
    def ordered(self) -> bool:
        return self.mode in ("event_time", "partial")

    @property
    def partial(self) -> bool:
        return self.mode.startswith("partial")

    @property
    def is_global(self) -> bool:
        return self.index.startswith("global_") or self.index in (
            "record_index",
            "growing_record_index",
        )

    def create(self, path: Path, engine: str | None) -> hoodoo.Table:
        merger: Any = {"keep_first": KeepFirst(), "sums": Sums(), "partial by arrival": "partial"}
        options: dict[str, Any] = {
            "hoodie.logfile.data.block.format": self.blocks,
            "hoodie.parquet.small.file.limit": 0,
            "hoodie.compact.inline": False,
            "hoodie.log.compaction.blocks.threshold": 2,
        }
        if self.index in (BUCKET, HASHING):
            options["hoodie.bucket.index.num.buckets"] = 2
        if self.index == HASHING:
            options["hoodie.index.bucket.engine"] = "CONSISTENT_HASHING"
        if self.is_global:
            for name in ("simple.index", "bloom.index", "record.index"):
                options[f"hoodie.{name}.update.partition.path"] = False
        if self.virtual:
            options["hoodie.populate.meta.fields"] = False
        return hoodoo.create(
            str(path), SCHEMA, record_key="id", partition_by="p", table_type=self.type, engine=engine,
            ordering="ts" if self.ordered else None, table_version=self.version,
            index="bucket" if self.index == HASHING else self.index,
            merger=merger.get(self.mode, self.mode), options=options,
        )  # fmt: skip


Row = tuple[int, int | None, int | None]  # ts, v, w


@define
class Key:
    """``row``: what is to be seen. ``mark``: the ordering value of a mark that won, which a log file may hold; ``late``:
    rows below it, one of which is seen once no log file holds the mark. ``lost``: values of ``w`` in rows that were
    late. Log rows are merged before they meet the base file, as Hudi's readers do it: a row that lacks ``w`` and is
    merged with one of these in the log has its value."""

    row: Row | None = None
    mark: int | None = None
    late: Row | None = None
    lost: set[int | None] = field(factory=set)


@define
class History:
    """``counts``: what the last write did, as far as the dictionary is certain."""

    kind: Kind
    folder: Path
    seed: int
    engine: str | None = None
    keys: dict[int, Key] = field(factory=dict)
    steps: list[str] = field(factory=list)
    planned: str | None = None
    erased: int = 0
    counts: tuple[int, int, int] | None = None

    def run(self, steps: int) -> None:
        rng = random.Random(f"{self.seed} {self.kind.name}")
        table = self.kind.create(self.folder / "t", self.engine)
        self.keys = {number: Key() for number in range(KEYS)}
        for number in range(steps):
            if number % 3 == 2:
                table = hoodoo.open(table.path, engine=self.engine, **self._given())
            self.counts = None
            commit = self.step(table, rng, number)
            self.check(table)
            if commit is not None and commit.instant:
                self.check_counts(table, commit)
        report = table.verify()
        assert report.ok, (self, [str(finding) for finding in report.findings])

    def _given(self) -> dict[str, Any]:
        objects = {"keep_first": KeepFirst(), "sums": Sums()}
        given: dict[str, Any] = {"options": {"hoodie.logfile.data.block.format": self.kind.blocks}}
        if self.kind.mode in objects:
            given["merger"] = objects[self.kind.mode]
        return given

    # --- steps ------------------------------------------------------------------------------------
    def step(self, table: hoodoo.Table, rng: random.Random, number: int) -> Any:
        calls = [self.upsert] * 8 + [self.delete] * 4 + [self.late] * 4
        if self.kind.type == MERGE:
            calls += [self.compact, self.compact_logs, self.schedule, self.run_planned]
        if number and self.planned is None and self.kind.index not in (BUCKET, HASHING):
            calls += [self.cluster]
        call = self.upsert if number == 0 else rng.choice(calls)
        self.steps.append(call.__name__)
        return call(table, rng)

    def upsert(self, table: hoodoo.Table, rng: random.Random) -> Any:
        count = KEYS if len(self.steps) == 1 else rng.randint(1, 3)
        rows = [(key, self._row(rng), rng.random() < 0.2) for key in rng.sample(range(KEYS), count)]
        return self._upsert(table, rows, rng)

    def late(self, table: hoodoo.Table, rng: random.Random) -> Any:
        """A row, or a mark, of a time before all others, preferably of an erased key."""
        gone = [key for key, known in self.keys.items() if known.row is None]
        key = rng.choice(gone or range(KEYS))
        ts, v, w = self._row(rng)
        return self._upsert(table, [(key, (-ts, v, w), rng.random() < 0.3)], rng)

    def _row(self, rng: random.Random) -> Row:
        return rng.randint(1, 20), rng.randrange(1000), rng.randrange(1000)

    def _upsert(
        self, table: hoodoo.Table, rows: list[tuple[int, Row, bool]], rng: random.Random
    ) -> Any:
        columns = {
            "id": [key for key, _, _ in rows],
            "p": [path_of(key) for key, _, _ in rows],
            "ts": [row[0] for _, row, _ in rows],
            "v": [row[1] for _, row, _ in rows],
            "w": [row[2] for _, row, _ in rows],
        }
        schema, lacks = SCHEMA, self.kind.partial and rng.random() < 0.6
        if lacks:
            schema = pa.schema([f for f in SCHEMA if f.name != "w"])
            rows = [(key, (row[0], row[1], None), dead) for key, row, dead in rows]
        data = pa.table({name: columns[name] for name in schema.names}, schema=schema)
        if any(dead for _, _, dead in rows):
            data = data.append_column(DEAD, pa.array([dead for _, _, dead in rows]))
        self.steps[-1] += f" {data.to_pylist()}"
        commit = table.upsert(data)
        self._learn([self._put(key, row, dead, bool(lacks)) for key, row, dead in rows])
        return commit

    def _learn(self, found: list[str]) -> None:
        if "unknown" not in found:
            self.counts = (found.count("inserted"), found.count("updated"), found.count("deleted"))

    def _put(self, key: int, row: Row, dead: bool, lacks: bool) -> str:
        """What becomes of the key."""
        known = self.keys[key]
        if known.row is None:
            if known.mark is not None and row[0] < known.mark:
                if not dead:
                    known.late = row
                return "unknown"
            if not dead:
                self.keys[key] = Key(row)
                return "inserted"
            if self.kind.type == MERGE and self.kind.ordered:
                # A log file holds the mark where the index does not know that there is no row.
                known.mark = max(row[0], known.mark or row[0])
            return "nothing"
        older = known.row
        if self.kind.mode == "keep_first" or (self.kind.ordered and row[0] < older[0]):
            if self.kind.type == MERGE and self.kind.partial and not lacks and not dead:
                known.lost.add(row[2])
            return "nothing"
        if dead:
            remembers = self.kind.type == MERGE and self.kind.ordered
            self.keys[key] = Key(mark=row[0] if remembers else None)
            self.erased += 1
            return "deleted"
        if lacks:
            row = (row[0], row[1], older[2])
        else:
            known.lost.clear()
        if self.kind.mode == "sums":
            row = (row[0], (older[1] or 0) + (row[1] or 0), row[2])
        known.row = row
        return "updated"

    def delete(self, table: hoodoo.Table, rng: random.Random) -> Any:
        keys = rng.sample(range(KEYS), rng.randint(1, 2))
        self.steps[-1] += f" {keys}"
        found = []
        if rng.random() < 0.3:
            commit = table.delete(where=pc.field("id").isin(keys))
            for key in keys:
                found.append("nothing" if self.keys[key].row is None else "deleted")
                if self.keys[key].row is not None:
                    self.keys[key] = Key()
        else:
            commit = table.delete(keys)
            for key in keys:
                found.append("nothing" if self.keys[key].row is None else "deleted")
                late = self.keys[key].late
                # A delete of a key without a row may change nothing: a log file may still hold the mark.
                mark = self.keys[key].mark if self.keys[key].row is None else None
                self.keys[key] = Key(mark=mark)
                if late is not None:
                    found.append("unknown")
        self.erased += found.count("deleted")
        self._learn(found)
        return commit

    def compact(self, table: hoodoo.Table, rng: random.Random) -> Any:
        self.planned = None
        return table.compact()

    def compact_logs(self, table: hoodoo.Table, rng: random.Random) -> Any:
        done = table.run("logcompaction")
        return done if done.instant else None

    def schedule(self, table: hoodoo.Table, rng: random.Random) -> Any:
        if self.planned is None:
            self.planned = table.schedule_compaction()
        return None

    def run_planned(self, table: hoodoo.Table, rng: random.Random) -> Any:
        if self.planned is None:
            return None
        planned, self.planned = self.planned, None
        return table.run_compaction(planned)

    def cluster(self, table: hoodoo.Table, rng: random.Random) -> Any:
        return table.cluster()

    # --- checks -----------------------------------------------------------------------------------
    def check_counts(self, table: hoodoo.Table, commit: Any) -> None:
        """The counts of the commit, which the timeline shows as well; where log files are not merged yet, of the rows
        that were written."""
        counts = (commit.inserted, commit.updated, commit.deleted)
        rows = {row.requested: row for row in table.report("timeline", limit=1000).rows}
        row = rows[commit.instant]
        assert (row.inserted, row.updated, row.deleted, row.unmerged) == (*counts, commit.unmerged)
        if commit.operation in ("compact", "log_compact", "cluster"):
            assert counts == (0, 0, 0), (self, commit)
        elif self.counts is not None and not commit.unmerged:
            assert counts == self.counts, (self, commit)
        elif self.counts is not None:
            assert counts[0] <= self.counts[0] and sum(self.counts) <= sum(counts), (self, commit)

    def check(self, table: hoodoo.Table) -> None:
        fresh = hoodoo.open(table.path, **self._given())
        seen = self._rows(fresh.read().to_arrow())
        for key, known in self.keys.items():
            row = seen.get(key)
            if known.late is not None and row == known.late:
                self.keys[key] = Key(row)  # no log file holds the mark any more
                continue
            if row is not None and known.row is not None and row[2] in known.lost:
                known.lost.add(known.row[2])
                known.row = (*known.row[:2], row[2])
            assert row == known.row, (self, key)
        self.check_other_reader(table, seen)

    def check_other_reader(self, table: hoodoo.Table, seen: dict[int, Row]) -> None:
        """The package `hudi` shows the same rows, where it knows the merger."""
        if self.kind.mode not in ("event_time", "commit_time"):
            return
        if self.kind.version == 6 and self.planned is not None:
            return  # it loses log files that are named after a pending compaction
        batches = (
            hudi.HudiTableBuilder.from_base_uri(table.path).build().read(hudi.HudiReadOptions())
        )
        theirs = self._rows(pa.Table.from_batches(batches)) if batches else {}
        assert theirs == seen, self

    @staticmethod
    def _rows(found: pa.Table) -> dict[int, Row]:
        rows = found.select([n for n in SCHEMA.names]).to_pylist()
        keys = [row["id"] for row in rows]
        assert len(keys) == len(set(keys)), keys
        return {row["id"]: (row["ts"], row["v"], row["w"]) for row in rows}


def path_of(key: int) -> str:
    return ("north", "south")[key % 2]


def run(kind: Kind, folder: Path, seed: int, steps: int, engine: str | None = None) -> int:
    """The number of erased rows. Raises AssertionError with the history."""
    history = History(kind, folder, seed, engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        history.run(steps)
    return history.erased

"""A long life of a table: many commits, with all services between them, and a model of its rows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import HoodooError

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("v", pa.int64())])
Row = tuple[str, int]  # partition path, and a value that grows with time, which orders rows, too
CITIES = ("oslo", "rome", "bern")
# Services are due often, so that a life sees each of them many times.
OPTIONS = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "3",
    "hoodie.keep.min.commits": "5",
    "hoodie.keep.max.commits": "8",
    "hoodie.metadata.compact.max.delta.commits": "4",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodoo.local.threads": "1",
}
_GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
_BUCKETS = ("bucket", "consistent_bucket")
# Indexes of the metadata table, which version 6 has not all of.
_ONLY_9 = ("growing_record_index", "partitioned_record_index", "consistent_bucket")


@frozen
class Kind:
    """A kind of table that lives: its type, version, index, and whether it has a metadata table and stored keys."""

    table_type: str
    version: int
    index: str
    metadata: bool
    virtual: bool
    ordering: bool

    def __str__(self) -> str:
        flags = [
            name
            for name, is_set in (
                ("metadata", self.metadata), ("virtual", self.virtual), ("ordering", self.ordering)
            )
            if is_set
        ]  # fmt: skip
        return "-".join((self.table_type, f"v{self.version}", self.index, *flags))

    @property
    def is_merged(self) -> bool:
        return self.table_type == "mor"

    @property
    def is_global(self) -> bool:
        return self.index in _GLOBAL

    @property
    def keeps_index(self) -> bool:
        """Whether the metadata table holds an index of the table."""
        return "record_index" in self.index

    def create(self, path: Path) -> hoodoo.Table:
        options = {
            **OPTIONS,
            "hoodie.metadata.enable": str(self.metadata or self.keeps_index).lower(),
        }
        if self.virtual:
            options["hoodie.populate.meta.fields"] = "false"
        if self.index == "bucket":
            options["hoodie.bucket.index.num.buckets"] = "2"
        return hoodoo.create(
            str(path), SCHEMA, name="trips", record_key="id", partition_by="city",
            ordering="v" if self.ordering else (), index=self.index, table_version=self.version,
            table_type="MERGE_ON_READ" if self.is_merged else "COPY_ON_WRITE", options=options,
        )  # fmt: skip


def kinds() -> Iterator[Kind]:
    """All kinds of table that can be created."""
    indexes = (
        "simple", "global_simple", "bloom", "global_bloom", "bucket", "consistent_bucket",
        "record_index", "partitioned_record_index", "growing_record_index",
    )  # fmt: skip
    for table_type, version, index, metadata, virtual, ordering in itertools.product(
        ("cow", "mor"), (6, 8, 9), indexes, (False, True), (False, True), (False, True)
    ):
        kind = Kind(table_type, version, index, metadata, virtual, ordering)
        if version == 6 and (index in _ONLY_9 or (virtual and kind.keeps_index)):
            continue
        if kind.keeps_index and not metadata:
            continue  # the index brings the metadata table
        if index == "consistent_bucket" and table_type == "cow":
            continue
        yield kind


@define
class LongLife:
    """One table at ``path``, its rows by key, and a source of chance. ``counts``: how often each step was taken."""

    kind: Kind
    path: Path
    chance: random.Random
    rows: dict[str, Row] = field(factory=dict)
    clock: int = 0
    counts: dict[str, int] = field(factory=dict)
    saved: tuple[str, dict[str, Row]] | None = None

    def begin(self) -> None:
        """Create the table and its first rows."""
        self.kind.create(self.path)
        self.upsert(self._chosen(8, new=True))

    def live(self, commits: int) -> None:
        """Take steps until ``commits`` of them have written."""
        written = 0
        while written < commits:
            name = self.chance.choices(list(_STEPS), list(_STEPS.values()))[0]
            written += bool(getattr(self, name)())
            self.counts[name] = self.counts.get(name, 0) + 1

    @property
    def table(self) -> hoodoo.Table:
        """Opened anew, as by another process."""
        return hoodoo.open(str(self.path), OPTIONS)

    # --- rows -----------------------------------------------------------------------------------
    def _chosen(self, count: int, new: bool = False) -> dict[str, Row]:
        """Rows of keys of the table, and some new ones; a key stays in its partition path."""
        self.clock += 1
        keys = self.chance.sample(sorted(self.rows), min(count, len(self.rows)))
        if new or not keys:
            keys += [f"k{self.clock}-{n}" for n in range(count)]
        rows = {}
        for key in keys:
            city = self.rows[key][0] if key in self.rows else self.chance.choice(CITIES)
            rows[key] = (city, self.clock)
        return rows

    def _arrow(self, rows: Mapping[str, Row]) -> pa.Table:
        columns = [list(column) for column in zip(*rows.values(), strict=True)] or [[], []]
        return pa.table([list(rows), *columns], schema=SCHEMA)

    def expected(self) -> list[dict[str, Any]]:
        return [{"id": key, "city": city, "v": v} for key, (city, v) in sorted(self.rows.items())]

    def actual(self) -> list[dict[str, Any]]:
        return sorted(self.table.read().to_pylist(), key=lambda row: row["id"])

    # --- writes: True where they have written ---------------------------------------------------
    def upsert(self, rows: Mapping[str, Row] | None = None) -> bool:
        chosen = self._chosen(3, self.chance.random() < 0.5) if rows is None else rows
        self.table.upsert(self._arrow(chosen))
        self.rows.update(chosen)
        return True

    def late(self) -> bool:
        """Rows that come late lose, where the table has an ordering column."""
        if not (self.kind.ordering and self.rows):
            return False
        chosen = {key: (city, 0) for key, (city, _v) in self._chosen(2).items()}
        self.table.upsert(self._arrow(chosen))
        return True

    def insert(self) -> bool:
        chosen = {k: row for k, row in self._chosen(2, new=True).items() if k not in self.rows}
        self.table.insert(self._arrow(chosen))
        self.rows.update(chosen)
        return True

    def delete(self) -> bool:
        if len(self.rows) < 4:
            return False
        keys = self.chance.sample(sorted(self.rows), 2)
        self.table.delete(self._arrow({key: self.rows[key] for key in keys}))
        for key in keys:
            del self.rows[key]
        return True

    def delete_where(self) -> bool:
        below = self.clock - self.chance.randrange(60)
        gone = [key for key, row in self.rows.items() if row[1] < below]
        if not gone or len(gone) == len(self.rows):
            return False
        self.table.delete(where=f"v < {below}")
        for key in gone:
            del self.rows[key]
        return True

    def update_where(self) -> bool:
        city = self.chance.choice(CITIES)
        self.clock += 1
        changed = {k: (c, v + 1) for k, (c, v) in self.rows.items() if c == city}
        if not changed:
            return False
        self.table.update({"v": "v + 1"}, where=f"city = '{city}'")
        self.rows.update(changed)
        return True

    def overwrite(self) -> bool:
        self.clock += 1
        city = self.chance.choice(CITIES)
        chosen = {f"k{self.clock}-{n}": (city, self.clock) for n in range(3)}
        self.table.insert_overwrite(self._arrow(chosen))
        self.rows = {key: row for key, row in self.rows.items() if row[0] != city} | chosen
        return True

    def drop_partition(self) -> bool:
        city = self.chance.choice(CITIES)
        rest = {key: row for key, row in self.rows.items() if row[0] != city}
        if not rest or len(rest) == len(self.rows):
            return False
        self.table.delete_partitions([city])
        self.rows = rest
        return True

    def failed(self) -> bool:
        """A write whose source ends with an error: the next one undoes it."""

        def batches() -> Iterator[pa.RecordBatch]:
            yield from self._arrow(self._chosen(2)).to_batches()
            raise OSError("the source is gone")

        try:
            self.table.upsert(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
        except (OSError, HoodooError):
            return False
        raise AssertionError("a source that failed was written")

    # --- services -------------------------------------------------------------------------------
    def compact(self) -> bool:
        return self.kind.is_merged and bool(self.table.compact().instant)

    def compact_logs(self) -> bool:
        """No rows of a commit: nothing appears."""
        if self.kind.is_merged:
            self.table.run("logcompaction")
        return False

    def plan_compaction(self) -> bool:
        """A plan that another process runs, after other writes."""
        if self.kind.is_merged:
            self.table.schedule_compaction()
        return False

    def run_plans(self) -> bool:
        for instant in self.table.timeline().pending():
            if instant.action == "compaction":
                self.table.run_compaction(instant.requested)
        return False

    def cluster(self) -> bool:
        if self.kind.index in _BUCKETS:
            return False
        return bool(self.table.cluster(columns="v").instant)

    def clean(self) -> bool:
        self.table.clean()
        return False

    def archive(self) -> bool:
        self.table.archive()
        return False

    def rebuild_index(self) -> bool:
        if self.kind.keeps_index:
            self.table.rebuild_index()
        return False

    def compact_metadata(self) -> bool:
        if self.kind.metadata:
            self.table.compact_metadata()
        return False

    def index_of_column(self) -> bool:
        """A secondary index comes and goes."""
        if self.kind.index != "record_index" or self.kind.version == 6 or self.kind.virtual:
            return False
        if any(index.kind == "secondary" for index in self.table.indexes()):
            self.table.drop_index("by_v")
        else:
            self.table.create_index("by_v", "v")
        return False

    def savepoint(self) -> bool:
        if self.saved is None:
            self.saved = (self.table.savepoint(), dict(self.rows))
        return False

    def delete_savepoint(self) -> bool:
        if self.saved is not None:
            self.table.delete_savepoint(self.saved[0])
            self.saved = None
        return False

    def restore(self) -> bool:
        if self.saved is None:
            return False
        self.table.restore(self.saved[0])
        self.rows = dict(self.saved[1])
        return True

    def undo(self) -> bool:
        """The last write, taken back."""
        before = dict(self.rows)
        if not self.upsert():
            return False
        newest = self.table.timeline().writes()[-1].requested
        self.table.rollback(newest)
        self.rows = before
        return False


# How often each step is taken.
_STEPS = {
    "upsert": 30, "late": 4, "insert": 6, "delete": 6, "delete_where": 4, "update_where": 4, "overwrite": 4,
    "drop_partition": 1, "failed": 2, "compact": 3, "compact_logs": 3, "plan_compaction": 2, "run_plans": 4, "cluster": 3,
    "clean": 2, "archive": 2, "rebuild_index": 1, "compact_metadata": 1, "index_of_column": 1, "savepoint": 1,
    "delete_savepoint": 1, "restore": 1, "undo": 1,
}  # fmt: skip

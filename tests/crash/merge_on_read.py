"""Tables that are merged on read, and what is done to them: for the trials beside this module."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
from crash_leaks import leaks
from crash_trials import (
    SCHEMA,
    Operation,
    State,
    age_temporaries,
    opened,
    ours,
    plus_next,
    state,
    write_next,
)
from hoodoo.model.filegroup import LogFile
from hoodoo.table.table import Table
from hoodoo_rows.testing.tables import Maker

# With the bucket index file groups begin with log files, with the simple index with base files.
INDEXES = ("bucket", "simple")
DELETED = "_hoodie_is_deleted"
MARKED = SCHEMA.append(pa.field(DELETED, pa.bool_()))
BUCKETS = {"hoodie.bucket.index.num.buckets": "1"}
TWO_BLOCKS = {"hoodie.log.compaction.blocks.threshold": "2"}
INLINE = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}

rows = Maker(MARKED, "v", "ts", DELETED, mapped="region", **{DELETED: False})


def build(path: Path, version: int, index: str, commits: int = 2) -> Path:
    """Two partitions of one file group each; from the second commit on both have a log file."""
    hoodoo.create(
        str(path), MARKED, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ", table_version=version, index=index,
        options=BUCKETS if index == "bucket" else {},
    )  # fmt: skip
    table = opened(path)
    if commits > 0:
        table.upsert(rows({1: "a", 2: "a", 3: "b", 4: "b"}, "old", 1))
    if commits > 1:
        table.upsert(rows({2: "a", 3: "b"}, "mid", 2))
    return path


def with_options(table: Table, options: dict[str, str]) -> Table:
    """``table`` on the same store and engine."""
    return Table(table.handle.storage, table.config, options, table.handle.default_engine)


def run_planned(table: Table) -> object:
    """Run the one compaction that is pending."""
    (instant,) = [i.requested for i in table.timeline().pending() if i.action == "compaction"]
    return table.run_compaction(instant)


def _inline(table: Table) -> object:
    return with_options(table, INLINE).upsert(rows({1: "a", 6: "b"}, "new", 3))


WRITES: dict[str, Operation] = {
    "upsert": lambda t: t.upsert(rows({1: "a", 6: "a", 4: "b"}, "new", 3)),
    "marked": lambda t: t.upsert(rows({1: "a", 3: "b"}, "new", 3, True)),
    "delete": lambda t: t.delete([2, 4]),
    "insert": lambda t: t.insert(rows({8: "a", 9: "c"}, "new", 3)),
    "bulk_insert": lambda t: t.bulk_insert(rows({8: "a", 9: "c"}, "new", 3)),
    "insert_overwrite": lambda t: t.insert_overwrite(rows({8: "a"}, "new", 3)),
    "inline": _inline,
}
SERVICES: dict[str, Operation] = {
    "schedule": lambda t: t.schedule_compaction(),
    "run": run_planned,
    "compact": lambda t: t.compact(),
    "log_compact": lambda t: with_options(t, TWO_BLOCKS).run("logcompaction"),
}


def first(table: Table) -> object:
    return table.upsert(rows({1: "a", 2: "b"}, "new", 1))


def logs(path: Path) -> tuple[LogFile, ...]:
    """The log files of the newest slices."""
    return tuple(log for s in opened(path).file_slices() for log in s.log_files)


def log_paths(path: Path) -> list[str]:
    """All log files that are on disk."""
    found = (str(p.relative_to(path)) for p in path.rglob(".*.log.*"))
    return sorted(name for name in found if not name.startswith(".hoodie/"))


def check_write(path: Path, found: State, where: str) -> None:
    """The next write needs no manual step, adds its key to ``found``, and leaves nothing behind; a
    compaction waits for who runs it."""
    age_temporaries(path)
    write_next(opened(path))
    # `hudi` 0.5 doesn't look at the log files that version 6 names by a pending compaction.
    asked = ours if waits(path) and opened(path).config.version == 6 else state
    assert asked(path) == plus_next(found), where
    assert leaks(path, services=True) == [], where


def waits(path: Path) -> bool:
    """Whether a compaction is pending."""
    return any(i.action == "compaction" for i in opened(path).timeline().pending())


def check_compacts(path: Path, found: State, where: str) -> None:
    """What is pending is finished and what is left is compacted, with no manual step; no row changes,
    and base files alone tell all of them."""
    if any(i.action == "logcompaction" for i in opened(path).timeline().pending()):
        opened(path).run("logcompaction")
    opened(path).compact()
    assert state(path) == found, where
    assert logs(path) == (), where

"""Random histories of tables that are merged on read: each state is read with record positions and without.

Writers come by turns: Hoodoo's on one engine, and such as other writers are: they say no positions, those of another
base file, or numbers that no row has; they write Avro blocks, or use another index. At some steps the history goes on
with a clone.
"""

from __future__ import annotations

import random
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field
from hoodoo_formats.log.writer import LogWriter

BY_KEYS = {"hoodie.merge.use.record.positions": "false"}
INDEXES = ("simple", "global_simple", "bloom", "global_bloom")
MODES = ("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING")
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("region", pa.string()),
        ("ts", pa.int64()),
        ("v", pa.string()),
        ("n", pa.int64()),
    ]
)
KEYS = 80
_AT_ROWS = LogWriter.at_rows
# What a writer does with the numbers of rows.
AS_THEY_ARE, NONE, ANOTHER_BASE, BEYOND = "as they are", "none", "another base file", "beyond"
NUMBERINGS = {AS_THEY_ARE: 6, NONE: 1, ANOTHER_BASE: 1, BEYOND: 1}
WRITERS: tuple[dict[str, str], ...] = (
    {}, {}, {"hoodie.logfile.data.block.format": "avro"}, {"hoodie.write.record.positions": "false"},
)  # fmt: skip
STEPS = {
    "upsert": 8, "partial": 3, "delete": 4, "statement": 2, "compact": 2, "log compaction": 2, "cluster": 1, "clone": 1,
    "undo": 1,
}  # fmt: skip
KEEP_ROWS = ("compact", "log compaction", "cluster", "clone", "undo")


def numbering(how: str) -> AbstractContextManager[Any]:
    """Log files are written meanwhile as such a writer does."""
    changed = {
        AS_THEY_ARE: None,
        NONE: lambda writer, base, rows: None,
        ANOTHER_BASE: lambda writer, base, rows: _AT_ROWS(writer, "20200101000000000", rows),
        BEYOND: lambda writer, base, rows: _AT_ROWS(writer, base, rows + 100_000),
    }[how]
    return nullcontext() if changed is None else patch.object(LogWriter, "at_rows", changed)


@define
class History:
    """``chance`` decides everything. ``engine``: of writes; on Spark, writers number rows as they are."""

    path: Path
    chance: random.Random
    index: str
    mode: str
    file_format: str = "PARQUET"
    engine: Any = None
    version: int = 9
    done: list[str] = field(factory=list)
    checks: int = 0
    clones: int = 0

    @classmethod
    def drawn(cls, path: Path, seed: str, **given: Any) -> History:
        chance = random.Random(seed)
        found = cls(path, chance, chance.choice(INDEXES), chance.choice(MODES), **given)
        options = {
            "hoodie.write.record.merge.mode": found.mode,
            "hoodie.table.base.file.format": found.file_format,
            "hoodie.metadata.enable": chance.choice(("true", "false")),
            # Several row groups, and several files.
            "hoodie.parquet.block.size": "2048",
            "hoodie.parquet.small.file.limit": chance.choice(("0", "104857600")),
        }
        hoodoo.create(
            str(path), SCHEMA, record_key="id", ordering="ts", partition_by="region", index=found.index,
            table_type="mor", table_version=found.version, options=options,
        ).bulk_insert(found.some(KEYS // 2))  # fmt: skip
        return found

    def some(self, most: int = 25) -> pa.Table:
        chance, numbers = self.chance, self.chance.sample(range(KEYS), self.chance.randint(1, most))
        return pa.table(
            {
                "id": [f"k{n:03d}" for n in numbers],
                "region": ["ab"[n % 2] for n in numbers],
                "ts": [chance.randint(1, 9) for _ in numbers],
                "v": [f"{chance.random():.3f}" for _ in numbers],
                "n": [chance.choice((None, n)) for n in numbers],
            },
            SCHEMA,
        )

    def opened(self, **options: str) -> hoodoo.Table:
        return hoodoo.open(str(self.path), options, engine=self.engine)

    def step(self) -> None:
        chance = self.chance
        what = chance.choices(list(STEPS), list(STEPS.values()))[0]
        plain = self.engine is not None
        how = (
            AS_THEY_ARE if plain else chance.choices(list(NUMBERINGS), list(NUMBERINGS.values()))[0]
        )
        options = chance.choice(WRITERS)
        before = self.by_keys()
        table = self.opened(**options)
        self.done.append(f"{what}, {how}, {options}")
        with numbering(how):
            match what:
                case "upsert":
                    table.upsert(self.some())
                case "partial":
                    table.upsert(
                        self.some().select(["id", "region", "ts", chance.choice(("v", "n"))])
                    )
                case "delete":
                    table.delete(self.some().select(["id", "region"]))
                case "statement":
                    table.update({"v": "concat(v, '!')"}, where=f"ts > {chance.randint(3, 9)}")
                case "compact":
                    table.compact()
                case "log compaction":
                    table.run("logcompaction")
                case "cluster":
                    table.cluster()
                case "undo":
                    table.rollback(table.upsert(self.some()).instant)
                case "clone":
                    self.clones += 1
                    self.path = self.path.with_name(f"clone{self.clones}")
                    table.clone(str(self.path))

        if what in KEEP_ROWS:  # what a service has merged by numbers is what keys say
            assert self.by_keys() == before, (self.path, self.done)

    def by_keys(self) -> list[str]:
        return _shown(hoodoo.open(str(self.path), BY_KEYS).to_arrow())

    def check(self) -> None:
        check(self.path, self.chance)
        self.checks += 1


def check(path: Path, chance: random.Random) -> None:
    """The same rows by numbers and by keys: of all columns and some, with a filter, and of what changed."""
    on, off = hoodoo.open(str(path)), hoodoo.open(str(path), BY_KEYS)
    names = on.schema.names
    number = next((n for n in names if pa.types.is_integer(on.schema.field(n).type)), None)
    filters = [None] if number is None else [None, pc.field(number) > chance.randint(1, 8)]
    for where in filters:
        some = chance.sample(names, chance.randint(1, len(names)))
        for columns in (None, some, ["_hoodie_record_key", "_hoodie_commit_time", *some[:1]]):
            found, expected = (
                _shown(t.read(columns=columns, where=where).to_arrow()) for t in (on, off)
            )
            assert found == expected, (path, columns, where)
        assert on.count(where=where) == off.count(where=where)
    found, expected = (_shown(t.incremental(since=1).to_arrow()) for t in (on, off))
    assert found == expected, f"{path}: incremental"


def _shown(rows: pa.Table) -> list[str]:
    return sorted(map(str, rows.to_pylist()))

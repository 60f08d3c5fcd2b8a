"""Random histories: whatever is done to a table, by writers that know its catalogs and by others,
and whichever calls of the catalogs fail, the next sync leaves entries that say what the table is.
"""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError, HoodooWarning
from hoodoo_catalogs import participant
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.testing.fakes import Faulty, MemoryCatalog

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])
DAYS = ("mon", "tue", "wed", "thu", "2024/01/02")
SEED = int(os.environ["HOODOO_SEED"])


class History:
    def __init__(self, path: Path, fake: list[Any], seed: int) -> None:
        self.draw, self.works, self.fails = random.Random(seed), fake[0], 0.2
        fake[0] = Faulty(self.works, self.fault)
        kind = self.draw.choice(["COPY_ON_WRITE", "MERGE_ON_READ"])
        version = self.draw.choice([6, 9])
        options = {
            "hoodoo.catalogs": f"fake://db.t,{path}/lake#t",
            "hoodie.clean.commits.retained": "1",
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "4",
            "hoodie.metadata.enable": self.draw.choice(["true", "false"]),
        }
        self.table = hoodoo.create(
            str(path / "t"),
            SCHEMA,
            record_key="id",
            partition_by="day",
            table_type=kind,
            table_version=version,
            options=options,
        )
        self.lake = hoodoo.catalog(str(path / "lake"))
        self.columns = 0

    def fault(self, call: str) -> None:
        if self.draw.random() < self.fails:
            raise CatalogError("fake", f"fails at {call}.")

    def step(self) -> None:
        step = self.draw.choice(
            [
                self.write,
                self.write,
                self.write,
                self.drop,
                self.overwrite,
                self.undo,
                self.restore,
                self.grow,
                self.table.clean,
                self.table.cluster,
                self.compact,
            ]
        )
        try:
            step()
        except (HoodooError, IndexError):  # it can't be done now
            pass

    def some(self) -> list[dict[str, Any]]:
        return [
            {"id": self.draw.randrange(50), "day": self.draw.choice(DAYS)}
            for _ in range(self.draw.randint(1, 4))
        ]

    def write(self) -> None:
        self.table.upsert(self.some())

    def drop(self) -> None:
        paths = sorted({s.partition_path for s in self.table.file_slices()})
        self.table.delete_partitions(self.draw.choice(paths or ["none"]))

    def overwrite(self) -> None:
        self.table.insert_overwrite_table(self.some())

    def undo(self) -> None:
        self.table.rollback(self.table.timeline().writes()[-1].requested)

    def restore(self) -> None:
        self.table.restore(self.draw.choice(self.table.timeline().writes()[-3:]).requested)

    def grow(self) -> None:
        self.columns += 1
        self.table.alter(add={f"c{self.columns}": "int"})

    def compact(self) -> None:
        self.table.compact()

    def check(self) -> None:
        newest = max(self.table.timeline().writes(), key=lambda i: i.completion_order)
        there = {s.partition_path for s in self.table.file_slices()}
        for entry in (self.works.find("db.t"), self.lake.entry("t")):
            assert entry.parameters["last_commit_time_sync"] == newest.requested
            names = [c.name for c in (*entry.columns, *entry.partition_keys)]
            assert sorted(names) == sorted(self.table.schema.names)
        found = {
            at.removeprefix(f"{self.table.path}/") for at in self.works.stored["db.t"].values()
        }
        assert found == there


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(16))
def test_catalogs_say_what_the_table_is(
    tmp_path: Path, fake: list[Any], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path, fake, SEED + number)
    assert isinstance(history.works, MemoryCatalog)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        history.write()
        for _ in range(12):
            with monkeypatch.context() as patched:
                if history.draw.random() < 0.3:  # a writer that knows no catalogs
                    patched.setattr(participant, "catalogs_of", lambda config, given: ())
                history.step()
        history.write()
    history.fails = 0.0
    history.table.sync()
    history.check()

"""A process that ends at any storage operation of a bootstrap: nothing or all of a commit is seen,
the same call begins again, and another writer is not kept from the table."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import TableExistsError
from hoodoo.testing.crashes import When, crash, mutations, opened
from hoodoo_bootstrap.run import asked, fill
from parquet_folders import Rows, changed, content, rows_of, source

WHEN: tuple[When, ...] = ("before", "after", "torn")
KINDS = ("cow", "mor", "both modes", "with metadata")


class Trial:
    """A table that is made and has no commit, and the bootstrap of it."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.path = folder, folder / "t"
        self.expected: Rows = source(folder / "source", rows=2)
        self.options = {"hoodie.metadata.enable": "true"} if kind == "with metadata" else {}
        self.how = {"mode": "FULL_RECORD", "regex": "city=oslo"} if kind == "both modes" else {}
        hoodoo.create(
            str(self.path), "id bigint, fare double, note string, city string", record_key="id",
            partition_by="city", table_type="mor" if kind == "mor" else "cow",
            options={
                **self.options,
                "hoodie.bootstrap.base.path": str(folder / "source"),
                "hoodie.bootstrap.index.type": "HFILE",
                "hoodie.datasource.write.hive_style_partitioning": "true",
            },
        )  # fmt: skip
        shutil.copytree(self.path, folder / "begun")
        how = {"partition_by": None, "mode": None, "regex": None, **self.how}
        self.call = asked(folder / "source", engine="local", options=self.options, **how)

    def fresh(self) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(self.folder / "begun", self.path)

    def run(self, table: hoodoo.Table) -> None:
        fill(table, self.call)

    def again(self) -> None:
        """The call of a user who sees that the process has died."""
        try:
            hoodoo.bootstrap(
                self.folder / "source", self.path, record_key="id", options=self.options, **self.how
            )
        except TableExistsError as error:
            assert "is bootstrapped already" in str(error)


def check(trial: Trial, at: int, when: When, other: bool) -> None:
    trial.fresh()
    crash(trial.path, trial.run, at, when, trial.options)
    seen = rows_of(opened(trial.path, trial.options).read())
    assert seen.items() <= trial.expected.items()
    assert len(seen) in (0, 4, 8)
    if not other:
        trial.again()
        table = opened(trial.path, trial.options)
        assert rows_of(table.read()) == trial.expected
        assert table.verify().findings == ()
        table.upsert(changed([0, 1000]))
        assert len(rows_of(table.read())) == len(trial.expected)
        return
    table = opened(trial.path, trial.options)
    table.upsert(changed([77]))  # undoes what is half done
    assert rows_of(table.read()) == {**seen, **rows_of(table.read(where="id = 77"))}
    left = list(trial.path.glob("city=*/*_00000000000001.parquet"))
    assert bool(left) == bool(seen) and bool(list(trial.path.rglob("*.hfile"))) >= bool(left)


def steps(trial: Trial) -> int:
    found = len(mutations(trial.path, trial.run, trial.options))
    assert rows_of(opened(trial.path, trial.options).read()) == trial.expected
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
def test_some_operations(tmp_path: Path, kind: str) -> None:
    trial = Trial(tmp_path, kind)
    before = content(tmp_path / "source")
    count = steps(trial)
    chance = random.Random(f"{kind} {count}")
    for at in chance.sample(range(1, count + 1), 3):
        check(trial, at, chance.choice(WHEN), other=chance.random() < 0.3)
    assert content(tmp_path / "source") == before


@pytest.mark.trial
@pytest.mark.parametrize("kind", KINDS)
def test_every_operation(tmp_path: Path, kind: str) -> None:
    trial = Trial(tmp_path, kind)
    for at in range(1, steps(trial) + 1):
        for when in WHEN:
            for other in (False, True):
                check(trial, at, when, other)

"""A healthy table has no finding, however long it has lived; a damage of an old table is found.

The trials give 200 tables of all kinds 100 commits each; the default run takes few of them, and shorter lives.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import hoodoo
import pytest
import test_verify_finds_it as damages
from effort import MORE, effort
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_cli.commandline import main
from hoodoo_cli.reports.examination import examine
from hoodoo_metadata.partitions.record_index.verify_growing import may_outlive_rows
from hoodoo_rows.placement import rows_follow_columns
from hoodoo_standard.storage.local import LocalStorage
from long_life import LongLife, kinds

LIVES = effort(3, 200)
COMMITS = effort(24, 100)
OLD = effort(1, 40)
_FIRST = 0 if MORE else random.Random(os.environ["HOODOO_SEED"]).randrange(1 << 20)


def born(number: int, path: Path) -> LongLife:
    """A new table of the kind of this number: numbers that follow each other have other kinds."""
    every = list(kinds())
    random.Random(7).shuffle(every)
    life = LongLife(every[number % len(every)], path, random.Random(number))
    life.begin()
    return life


def assert_healthy(life: LongLife) -> None:
    assert life.actual() == life.expected()
    report = life.table.verify()
    assert report.findings == () and report.skipped == ()
    assert examine(str(life.path)).findings == ()


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("number", range(_FIRST, _FIRST + LIVES))
def test_a_table_of_many_commits_has_no_finding(number: int, tmp_path: Path) -> None:
    life = born(number, tmp_path / "t")
    for _ in range(2):
        life.live(COMMITS // 2)
        assert_healthy(life)
    for command in ("doctor", "verify"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(life.path)])
        assert ended.value.code in (0, None)


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("number", range(_FIRST, _FIRST + OLD))
def test_damage_of_an_old_table_is_found(number: int, tmp_path: Path) -> None:
    life = born(number, tmp_path / "t")
    life.live(COMMITS // 2)
    old, storage = life.table, LocalStorage(str(life.path))
    old.delete_partitions(sorted({part.partition_path for part in old.file_slices()}))
    damages.fill(old)
    if life.kind.is_merged and "bucket" in life.kind.index:
        # Buckets take new rows into log files: the damages need base files, too.
        old.compact()
        old.upsert(damages.rows("ad", 3))
    assert old.verify().findings == ()
    more = "virtual" if life.kind.virtual else "metadata" if life.kind.metadata else "plain"
    kind = damages.Kind(old.config.table_type, life.kind.version, life.kind.index, more)
    for damage, fits in damages.DAMAGES:
        if damage is damages.moved_row and not rows_follow_columns(
            Snapshot(storage, old.timeline())
        ):
            continue  # readers know of no rule that the row breaks
        if damage is damages.stale_entry and may_outlive_rows(old.config):
            continue  # deletes leave such entries, and nobody goes by them
        if fits(kind):
            path = Path(shutil.copytree(life.path, tmp_path / damage.__name__))
            expected = damage(kind, path)
            found = set(hoodoo.open(str(path)).verify().kinds)
            assert found & expected, (damage.__name__, found, expected)
            shutil.rmtree(path)

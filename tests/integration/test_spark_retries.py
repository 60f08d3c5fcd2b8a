"""Tasks that fail twice and then succeed, through the public API: nothing shows, nothing stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo_gates
import pytest
from hoodoo.errors import EngineError
from hoodoo.kernel.registry import kernel
from hoodoo.testing.distributions import fake_distribution
from hoodoo_gates import marks
from spark_tables import DDL, base_files, check_files, create, leftovers, rows, seen

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def gates(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The storage plugin, installed on the driver; workers get its module alone."""
    source = Path(hoodoo_gates.__file__)
    folder = fake_distribution(
        tmp_path_factory.mktemp("gates"), "hoodoo-gates", entry_points={"gates": "hoodoo_gates"}
    )
    spark.sparkContext.addPyFile(str(source))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        kernel.cache_clear()
        yield
    kernel.cache_clear()


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        ("upsert", "fail-before"),
        ("upsert", "fail-after"),
        ("upsert", "die-after"),
        ("insert", "fail-before"),
        ("bulk_insert", "fail-after"),
    ],
)
def test_a_task_fails_twice(
    spark: Any, gates: None, tmp_path: Path, operation: str, fault: str
) -> None:
    path = tmp_path / "t"
    table = create(f"gated://{path}")
    commits = [table.upsert(spark.createDataFrame(rows(range(8), "first"), DDL))]
    base = seen(path)
    asked = tmp_path / "t.gates" / fault
    before = base_files(path)
    asked.touch()
    new = range(4, 12) if operation == "upsert" else range(8, 12)
    data = spark.createDataFrame(rows(new, "second"), DDL).repartition(2, "city")
    commits.append(getattr(table, operation)(data))
    asked.unlink()
    written = base_files(path) - before
    assert written == set(commits[-1].files), "an extra file is visible"
    tried = marks(tmp_path / "t.gates")
    assert {tried[f"begin {file.replace('/', '!')}"] for file in written} == {3}
    wanted = base | {("ab"[i % 2], i): "second" for i in new}
    assert seen(path) == wanted
    assert commits[-1].inserted == 4
    commits.append(table.upsert(spark.createDataFrame(rows([0], "third"), DDL)))
    assert seen(path) == wanted | {("a", 0): "third"}
    if fault == "die-after":  # a process that ends has no time to tidy up; others may be at work
        for name in leftovers(path):
            assert "/.hoodoo-put/" in name
            os.utime(path / name, (0, 0))
        commits.append(table.upsert(spark.createDataFrame(rows([1], "fourth"), DDL)))
    check_files(path, commits)


def test_a_task_that_fails_for_good(spark: Any, gates: None, tmp_path: Path) -> None:
    """The write fails, is undone, and the next one succeeds with no manual step."""
    path = tmp_path / "t"
    table = create(f"gated://{path}")
    commits = [table.upsert(spark.createDataFrame(rows(range(8), "first"), DDL))]
    base = seen(path)
    asked = tmp_path / "t.gates" / "fail-always"
    asked.touch()
    with pytest.raises(EngineError, match="the disk is slow"):
        table.upsert(spark.createDataFrame(rows(range(4, 12), "second"), DDL))
    assert seen(path) == base
    asked.unlink()
    commits.append(table.upsert(spark.createDataFrame(rows([0], "third"), DDL)))
    assert seen(path) == base | {("a", 0): "third"}
    check_files(path, commits)

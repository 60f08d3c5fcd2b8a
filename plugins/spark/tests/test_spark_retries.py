"""Tasks that fail twice and then succeed, through the public API: nothing shows, nothing stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import hoodoo_gates
import pytest
from hoodoo.errors import EngineError, StorageError
from hoodoo.kernel.registry import kernel
from hoodoo.storage.processes import has_ended
from hoodoo.testing.distributions import fake_distribution
from hoodoo_gates import marks, place, until
from hoodoo_rows.api import Commit
from spark_tables import DDL, base_files, check_files, create, leftovers, rows, running, seen

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
        pytest.param("upsert", "fail-before", marks=pytest.mark.trial),
        pytest.param("upsert", "fail-after", marks=pytest.mark.trial),
        ("upsert", "die-after"),
        pytest.param("insert", "fail-before", marks=pytest.mark.trial),
        pytest.param("bulk_insert", "fail-after", marks=pytest.mark.trial),
    ],
)
@pytest.mark.sampled(2, among="long, on Spark")
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
    assert {tried[f"begin {place(file)}"] for file in written} == {3}
    wanted = base | {("ab"[i % 2], i): "second" for i in new}
    assert seen(path) == wanted
    assert commits[-1].inserted == 4
    commits.append(table.upsert(spark.createDataFrame(rows([0], "third"), DDL)))
    assert seen(path) == wanted | {("a", 0): "third"}
    check_files(path, commits)


@pytest.mark.trial
def test_tasks_that_fail_twice_over_staged_buckets(spark: Any, gates: None, tmp_path: Path) -> None:
    """They read their buckets where these are staged; of rows that differ each time, those that were staged."""
    from pyspark.sql import functions as F

    path = tmp_path / "t"
    table = create(
        f"gated://{path}", index="bucket", options={"hoodie.bucket.index.num.buckets": "2"}
    )
    source = spark.createDataFrame(rows(range(2000), ""), DDL).withColumn("v", F.expr("uuid()"))
    asked = tmp_path / "t.gates" / "fail-before"
    asked.touch()
    commits = [table.bulk_insert(source.repartition(3))]
    asked.unlink()
    tried = marks(tmp_path / "t.gates")
    files = base_files(path)
    assert len(files) == 4  # one for each task
    assert {tried[f"begin {place(file)}"] for file in files} == {3}
    found = seen(path)
    assert sorted(id for _city, id in found) == list(range(2000))
    assert len(set(found.values())) == 2000
    commits.append(table.upsert(spark.createDataFrame(rows(range(10), "second"), DDL)))
    assert [v for (_city, id), v in sorted(seen(path).items()) if id < 10] == ["second"] * 10
    check_files(path, commits)


KILL = "spark.python.task.killTimeout"


def ended(gates: Path) -> int:
    """How many attempts to put a file have come to their end."""
    return sum(count for name, count in marks(gates).items() if name.startswith("end "))


def scratch(path: Path, worker: str) -> list[str]:
    """What the process ``worker`` has under construction."""
    return [name for name in leftovers(path) if f"/scratch-{worker}-" in name]


def two_tasks(spark: Any, ids: Iterable[int], v: str) -> Any:
    """The rows of each city, which are as many, in a partition of their own."""
    found = sorted(rows(ids, v), key=lambda row: row[1])
    return spark.createDataFrame(spark.sparkContext.parallelize(found, 2), DDL)


@pytest.mark.trial
def test_a_task_that_fails_for_good(spark: Any, gates: None, tmp_path: Path) -> None:
    """The write fails, is undone, and the next one succeeds with no manual step.

    The other task may still be at work then, or be killed by Spark: so the next write is the one after
    all of them have come to their end.
    """
    path = tmp_path / "t"
    table = create(f"gated://{path}")
    commits = [table.upsert(spark.createDataFrame(rows(range(8), "first"), DDL))]
    base = seen(path)
    asked = tmp_path / "t.gates" / "fail-always"
    asked.touch()
    with pytest.raises(StorageError, match="the disk is slow"):
        table.upsert(spark.createDataFrame(rows(range(4, 12), "second"), DDL))
    assert seen(path) == base
    until(lambda: not running(spark))
    asked.unlink()
    commits.append(table.upsert(spark.createDataFrame(rows([0], "third"), DDL)))
    assert seen(path) == base | {("a", 0): "third"}
    check_files(path, commits)


@pytest.fixture
def patient(spark: Any) -> Iterator[None]:
    """Spark leaves the worker of a task that it has given up alive, as it does where it lost the executor."""
    conf, key = spark.sparkContext._jsc.sc().conf(), KILL
    conf.set(key, "1h")
    yield
    conf.remove(key)


WRITES: dict[str, Callable[[hoodoo.Table, Any], Any]] = {
    "upsert": lambda table, data: table.upsert(data),
    "bulk_insert": lambda table, data: table.bulk_insert(data),
    "cluster": lambda table, data: table.cluster(columns=["v"], engine="spark"),
}


def failing(
    spark: Any, tmp_path: Path, operation: str, *more: str
) -> tuple[hoodoo.Table, list[Commit], str]:
    """A table, its commits, and the worker process whose task is held back at its put while the job of
    ``operation`` has failed and was rolled back."""
    path, gates = tmp_path / "t", tmp_path / "t.gates"
    table = create(f"gated://{path}")
    commits = [table.upsert(two_tasks(spark, range(8), "first"))]
    if operation == "cluster":
        commits.append(table.bulk_insert(two_tasks(spark, range(8, 12), "first")))
    old = seen(path)
    for name in (*more, "die-others"):
        (gates / name).touch()
    (gates / "hold").write_text("a/")
    with pytest.raises(EngineError):
        WRITES[operation](table, two_tasks(spark, range(8, 12), "second"))
    assert seen(path) == old
    assert not table.timeline().pending()
    return table, commits, (gates / "held").read_text()


def check_next(spark: Any, table: hoodoo.Table, commits: list[Commit], tmp_path: Path) -> None:
    """Whoever comes next takes away what is left, of that and of everything."""
    for gate in ("hold", "die-others"):
        (tmp_path / "t.gates" / gate).unlink()
    base = seen(tmp_path / "t")
    commits.append(table.upsert(spark.createDataFrame(rows([0], "third"), DDL)))
    assert seen(tmp_path / "t") == base | {("a", 0): "third"}
    check_files(tmp_path / "t", commits)


@pytest.mark.trial
def test_a_worker_that_spark_kills_at_its_put(spark: Any, gates: None, tmp_path: Path) -> None:
    """Its job has failed because of another task. A killed process tidies nothing up."""
    table, commits, worker = failing(spark, tmp_path, "upsert")
    until(lambda: has_ended(worker))
    assert scratch(tmp_path / "t", worker), "it left nothing: this proves nothing"
    check_next(spark, table, commits, tmp_path)


@pytest.mark.sampled(2, among="long, on Spark")
def test_a_task_that_puts_its_file_after_the_roll_back(
    spark: Any, gates: None, patient: None, tmp_path: Path
) -> None:
    """It notices, and takes its file away."""
    path = tmp_path / "t"
    table, commits, worker = failing(spark, tmp_path, "upsert")
    old, files, before = seen(path), base_files(path), ended(tmp_path / "t.gates")
    (tmp_path / "t.gates" / "open").touch()
    until(lambda: ended(tmp_path / "t.gates") == before + 1)
    until(lambda: base_files(path) == files and not scratch(path, worker))
    assert seen(path) == old
    check_next(spark, table, commits, tmp_path)


@pytest.mark.trial
@pytest.mark.parametrize("operation", ["bulk_insert", "cluster"])
def test_a_task_that_dies_after_it_has_put_its_file_after_the_roll_back(
    spark: Any, gates: None, patient: None, tmp_path: Path, operation: str
) -> None:
    """Its file stays, and is seen by nobody, until the next write."""
    path = tmp_path / "t"
    table, commits, worker = failing(spark, tmp_path, operation, "die-held")
    old, files = seen(path), base_files(path)
    (tmp_path / "t.gates" / "open").touch()
    until(lambda: has_ended(worker))
    assert base_files(path) > files, "it left nothing: this proves nothing"
    assert seen(path) == old
    check_next(spark, table, commits, tmp_path)

"""Tasks that fail and are run again; errors that are data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import DataError, EngineError, StorageError
from hoodoo.hookspecs.engine import PART, Workspace
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine_streams import ROWS, by_key, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def four(engine: Any) -> Any:
    """200 rows in four partitions."""
    return engine.union([engine.source(rows(50, 50 * i)) for i in range(4)])


@pytest.mark.trial
def test_a_task_that_fails_twice(engine: Any, four: Any, workspace: Any, folder: Path) -> None:
    """Before the exchange, after it and at the stage: every row is there once."""
    from spark_helpers import FailsAtFirst, marks

    stream = engine.map(four, FailsAtFirst(ROWS, str(folder), 2, name="before"))
    stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 3, 4)), 3)
    stream = engine.map(stream, FailsAtFirst(stream.schema, str(folder), 2, name="after"))
    staged = engine.stage(stream, workspace)
    staged = engine.map(staged, steps.Numbered(staged.schema))
    found = by_key(engine.collect(staged))
    assert found.select(["key", "name"]) == rows(200)
    assert found.column(PART) == found.column("task")
    wanted = {f"before{i}": 3 for i in range(4)} | {f"after{i}": 3 for i in range(3)}
    assert marks(folder) == wanted


@pytest.mark.sampled(1, among="long")
def test_a_retry_adopts_the_staged_file(spark: Any, engine: Any, folder: Path) -> None:
    """The store did not know whether the first attempt's file landed. It did: the second attempt,
    whose random rows differ, takes it."""
    from pyspark.sql import functions as F
    from spark_helpers import UnsureStorage, marks

    storage = UnsureStorage(str(folder.parent / "table"), durable=False, folder=str(folder))
    data = spark.range(0, 1000, 1, 4).select("id", F.expr("uuid()").alias("token"))
    staged = engine.stage(engine.source(data), Workspace(storage, "stage"))
    first, second = engine.collect(staged), engine.collect(staged)
    assert first == second
    assert sorted(first.column("id").to_pylist()) == list(range(1000))
    assert set(marks(folder).values()) == {2}
    assert len(storage.list("stage")) == 4
    assert not list(Path(storage.scratch()).glob("*.arrow")), "temporaries are left"


@pytest.mark.sampled(1, among="long")
def test_bad_data_is_met_once(engine: Any, four: Any, folder: Path) -> None:
    stream = engine.map(four, steps.Same(ROWS, str(folder)))
    with pytest.raises(DataError, match="key 70"):
        engine.collect(engine.map(stream, steps.Refuse(ROWS, 70)))
    assert len(list(folder.iterdir())) == 4, "a task ran again for an error that stays"


@pytest.mark.sampled(1, among="long")
def test_other_errors_are_tried_again(engine: Any, folder: Path) -> None:
    from spark_helpers import FailsAtFirst, marks

    stream = engine.map(engine.source(rows(5)), FailsAtFirst(ROWS, str(folder), 9, KeyError))
    with pytest.raises(EngineError, match="KeyError.*is slow") as caught:
        engine.collect(stream)
    assert caught.value.__cause__ is not None
    assert marks(folder) == {"task0": 4}


@pytest.mark.sampled(1, among="long")
def test_errors_of_the_store_are_tried_again(engine: Any, folder: Path) -> None:
    from spark_helpers import FailsAtFirst, marks

    step = FailsAtFirst(ROWS, str(folder), 3, StorageError)
    assert engine.collect(engine.map(engine.source(rows(5)), step)).combine_chunks() == rows(5)
    assert marks(folder) == {"task0": 4}


@pytest.mark.sampled(1, among="long")
def test_errors_of_the_store_that_stay_keep_their_class(engine: Any, folder: Path) -> None:
    from spark_helpers import FailsAtFirst, marks

    step = FailsAtFirst(ROWS, str(folder), 9, StorageError)
    with pytest.raises(StorageError, match=r"disk: is slow\."):
        engine.collect(engine.map(engine.source(rows(5)), step))
    assert marks(folder) == {"task0": 4}


def test_a_staged_file_that_vanished(engine: Any, workspace: Any) -> None:
    staged = engine.stage(engine.source(rows(5)), workspace)
    workspace.storage.delete_prefix(workspace.prefix)
    with pytest.raises(EngineError, match="staged file .* is gone"):
        engine.collect(staged)


def test_tasks_are_tried_as_often_as_the_master_says(spark: Any) -> None:
    from hoodoo_spark.stream import attempts

    assert attempts(spark) == 4


@pytest.mark.sampled(1, among="long")
def test_an_error_with_rows_before_it(engine: Any, four: Any) -> None:
    """Rows that an exchange has already packed when the error comes are no obstacle."""
    wide = pa.table({"key": pa.array(range(60), pa.int64()), "name": ["x" * (1 << 20)] * 60})
    stream = engine.map(engine.source(wide.cast(ROWS)), steps.Refuse(ROWS, 59))
    stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 2, 1)), 2)
    with pytest.raises(DataError, match="key 59"):
        engine.collect(engine.map(stream, steps.Count()))

"""Stores that Spark's workers would find empty, and stores whose files are not for any reader."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import EngineError
from hoodoo.testing.stores import Delegating
from hoodoo_spark.dataframe import split_slices, to_dataframe
from hoodoo_spark.engine import SparkEngine
from hoodoo_standard.storage.local import LocalStorage

ROWS = pa.table({"id": [1, 2], "v": ["a", "b"]})


class Alone(Delegating):
    shared = False


class Veiled(Delegating):
    """Its root begins with ``file:``, and its files are not what Spark would find there."""

    plain_files = False


def test_a_store_of_one_process_is_refused(tmp_path: Path) -> None:
    store = LocalStorage(str(tmp_path), durable=False)
    engine = SparkEngine(None)
    assert engine.on(store) is engine
    with pytest.raises(EngineError, match="seen by the process alone that made it"):
        engine.on(Alone(store))


@pytest.mark.parametrize(("kind", "native"), [(Delegating, 1), (Veiled, 0)])
def test_spark_reads_itself_what_the_store_says_is_plain(
    tmp_path: Path, kind: type[Delegating], native: int
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    table.upsert(ROWS)
    scan = table.read()
    object.__setattr__(scan.source, "storage", kind(scan.source.storage))
    assert len(split_slices(scan).native) == native


def test_a_scan_of_a_store_of_one_process_is_refused(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    table.upsert(ROWS)
    scan = table.read()
    object.__setattr__(scan.source, "storage", Alone(scan.source.storage))
    with pytest.raises(EngineError, match="Use the local engine"):
        to_dataframe(scan, spark=_Classic())


class _Classic:
    """What is taken for a session until it is asked for anything."""

    sparkContext = None

"""Savepoints, restores and rollbacks of completed writes: what one side begins the other understands."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from both import Both
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from model import SCHEMA, Model
from mor import MARKED, MarkedModel, check, check_travel, instants, rows, spark_compact
from spark_hudi import SparkHudi

KINDS = [("COPY_ON_WRITE", 9), ("COPY_ON_WRITE", 6), ("MERGE_ON_READ", 9), ("MERGE_ON_READ", 6)]
kinds = pytest.mark.parametrize(("kind", "version"), KINDS)
# Else Spark's procedures upgrade tables of version 6 and make a metadata table.
QUIET = {"hoodie.metadata.enable": "false", "hoodie.write.auto.upgrade": "false"}


@pytest.fixture(autouse=True)
def quiet(worker: SparkHudi, version: int) -> Iterator[None]:
    session = {**QUIET, "hoodie.write.table.version": str(version)}
    worker.set(session)
    yield
    worker.unset(list(session))


def setup(both: Both, kind: str, version: int) -> None:
    merged = kind == "MERGE_ON_READ"
    model = MarkedModel(ordering="ts") if merged else Model(ordering="ts")
    schema = MARKED if merged else SCHEMA
    both.setup(model, schema, version, "SIMPLE", False, ("region",), table_type=kind)
    quiet_too = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    both.options.update(quiet_too)
    both.opened = {"options": quiet_too}


def some(both: Both, numbers: range, ts: int, name: str) -> list[dict[str, Any]]:
    return [{k: row[k] for k in both.schema.names} for row in rows(numbers, ts, name)]


def early(both: Both) -> None:
    both.hoodoo_upsert(some(both, range(16), 1, "hoodoo"))
    both.spark_upsert(some(both, range(4, 20), 2, "spark"))
    both.hoodoo_upsert(some(both, range(6, 10), 3, "hoodoo"))


def later(both: Both) -> None:
    both.spark_upsert(some(both, range(8, 24), 4, "spark"))
    both.hoodoo_delete(some(both, range(3), 4, ""))
    if both.options.get("hoodie.datasource.write.table.type"):
        both.hoodoo().compact()
    both.hoodoo_upsert(some(both, range(6, 30), 5, "hoodoo"))
    if both.options.get("hoodie.datasource.write.table.type"):
        spark_compact(both)
    both.spark_delete(some(both, range(10, 12), 6, ""))
    check(both, "before the restore")


def write_on(both: Both) -> None:
    both.spark_upsert(some(both, range(12, 34), 6, "spark"))
    both.hoodoo_upsert(some(both, range(8, 20), 7, "hoodoo"))
    check(both, "both write on")


def spark_calls(both: Both, procedure: str, instant: str) -> None:
    (answer,) = both.spark.worker.call(
        f"{procedure}(path => '{both.path}', instant_time => '{instant}')"
    )
    assert all(value is not False for value in answer.values()), answer


@kinds
def test_spark_restores_to_hoodoos_savepoint(both: Both, kind: str, version: int) -> None:
    setup(both, kind, version)
    both.create()
    early(both)
    kept = both.hoodoo().savepoint(comment="by Hoodoo", user="me")
    then = copy.deepcopy(both.model.rows)
    later(both)
    spark_calls(both, "rollback_to_savepoint", kept)
    both.model.rows = then
    assert instants(both)[-1] == kept and both.hoodoo().timeline().pending() == ()
    check(both, "restored by Spark")
    write_on(both)
    spark_calls(both, "delete_savepoint", kept)
    assert both.hoodoo().savepoints() == ()


@kinds
def test_hoodoo_restores_to_sparks_savepoint(both: Both, kind: str, version: int) -> None:
    setup(both, kind, version)
    both.spark_upsert(some(both, range(12), 1, "first"))
    early(both)
    (first, *_rest, kept) = instants(both)
    both.spark.worker.call(f"create_savepoint(path => '{both.path}', commit_time => '{kept}')")
    (savepoint,) = both.hoodoo().savepoints()
    slices = both.hoodoo().file_slices()
    assert savepoint.files == {
        f.path for s in slices for f in (s.base_file, *s.log_files) if f is not None
    }
    then = copy.deepcopy(both.model.rows)
    later(both)
    assert both.hoodoo().restore(kept).undone
    both.model.rows = then
    check(both, "restored by Hoodoo")
    check_travel(both, first)
    write_on(both)
    both.hoodoo().delete_savepoint(kept)
    then = copy.deepcopy(both.model.rows)
    both.spark_upsert(some(both, range(5, 40), 9, "undone"))
    both.hoodoo().rollback(instants(both)[-1])
    both.hoodoo_upsert(some(both, range(9), 9, "undone"))
    both.hoodoo().rollback(instants(both)[-1])
    both.model.rows = then
    check(both, "Spark's and Hoodoo's newest writes rolled back")
    write_on(both)


@kinds
def test_a_restore_that_stops_half_way(both: Both, kind: str, version: int) -> None:
    """Hoodoo's restore dies at some operations; Spark finishes it by the same call, or Hoodoo does."""
    setup(both, kind, version)
    both.create()
    early(both)
    kept = both.hoodoo().savepoint()
    then = copy.deepcopy(both.model.rows)
    for n, at in enumerate((14, 23)):
        later(both)
        store = CrashingStorage(LocalStorage(str(both.path)), at)
        with pytest.raises(Crash):
            Table(store, properties.load(store), {}, LocalEngine(1)).restore(kept)
        if n % 2:
            both.hoodoo().restore(kept)
        else:
            spark_calls(both, "rollback_to_savepoint", kept)
        both.model.rows = copy.deepcopy(then)
        check(both, f"stopped at operation {at}")
    write_on(both)

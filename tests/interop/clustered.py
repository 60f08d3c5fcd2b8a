"""What the tests of clustering share: tables of small files that overlap, plans and runs of either side."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import indexed
import mor
import pyarrow as pa
import pyarrow.parquet as pq
from both import Both
from hoodoo.model.instant import State
from hoodoo.timeline import codec
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_clustering.plan import ClusteringPlan, pending_clusterings
from indexed import SCHEMA, rows
from model import Model, Row, table

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
KINDS = [(9, COW), (6, COW), (9, MOR), (6, MOR)]
SORT = "hoodie.clustering.plan.strategy.sort.columns"
SORTS = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
LOGS = {"hoodoo.clustering.with.log.files": "true"}
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
FILES = 3  # of Hoodoo's, in each partition; Spark's come besides


# --- the table ------------------------------------------------------------------------------------
def made(both: Both, version: int, kind: str, metadata: bool = False, **options: str) -> Both:
    """An empty table, made by Hoodoo; with all partitions of a metadata table, or without."""
    if metadata:
        indexed.made(both, kind, "region", **{k.replace(".", "__"): v for k, v in QUIET.items()})
        both.options.update({**QUIET, **options})
        return both
    both.setup(
        Model(("id",)), SCHEMA, version, "SIMPLE", False, ("region",), table_type=kind,
        **{k.replace(".", "__"): v for k, v in {**QUIET, **options}.items()},
    )  # fmt: skip
    both.opened = {"options": {**QUIET, **options}}
    both.create()
    return both


def filled(both: Both) -> None:
    """Files of both sides in each of two partitions, each all over the values."""
    for number in range(FILES):
        hoodoo_appends(both, rows(range(number, 42, FILES), 1, "hoodoo"))
    spark_appends(both, rows(range(60, 80), 2, "spark"))


def hoodoo_appends(both: Both, found: Sequence[Row]) -> None:
    both.hoodoo().append(table(both.model.upsert(found), both.schema))


def spark_appends(both: Both, found: Sequence[Row]) -> None:
    both.spark_write("bulk_insert", both.model.upsert(found))


def write_on(both: Both, ts: int) -> None:
    """Both sides change rows of before, and add some."""
    both.spark_upsert(rows([*range(5, 15), 61, 62, 200 + ts], ts, "spark"))
    both.hoodoo_upsert(rows([*range(10, 20), 62, 63, 300 + ts], ts + 1, "hoodoo"))
    both.spark_delete(rows([12, 64], ts + 1, ""))
    both.hoodoo_delete(rows([13, 65], ts + 1, ""))


# --- plans and runs -------------------------------------------------------------------------------
@contextlib.contextmanager
def session(both: Both, options: Mapping[str, str] = {}) -> Iterator[None]:
    """Spark's procedures know of a table what their session says."""
    chosen = {**both.options, **options}
    both.spark.worker.set(chosen)
    try:
        yield
    finally:
        both.spark.worker.unset(list(chosen))


def call(both: Both, name: str, options: Mapping[str, str] = {}, **more: Any) -> list[Any]:
    """A stored procedure on the table."""
    given = ", ".join(f"{k} => {v!r}" for k, v in {"path": str(both.path), **more}.items())
    with session(both, options):
        return both.spark.worker.call(f"{name}({given})")


def spark_plans(both: Both, options: Mapping[str, str] = {}, **arguments: Any) -> str:
    """The instant of a plan that Spark makes. Of tables after version 6 the procedure does not tell it."""
    before = set(pending(both))
    call(both, "run_clustering", options, op="schedule", **arguments)
    (instant,) = set(pending(both)) - before
    return instant


def spark_runs(both: Both, instant: str, options: Mapping[str, str] = {}) -> None:
    answer = call(both, "run_clustering", options, op="execute", instants=instant)
    assert [row["timestamp"] for row in answer] == [instant], answer
    assert [row["state"] for row in answer] == ["COMPLETED"], answer


def spark_rolls_back(both: Both, instant: str) -> None:
    """The procedure goes by the name of a table, and looks at version 6 where its timeline is not."""
    sql, name = both.spark.worker.sql, "rolled_back"
    with session(both):
        sql(f"CREATE TABLE {name} USING hudi LOCATION '{both.path}'")
        try:
            answer = sql(
                f"CALL rollback_to_instant(table => '{name}', instant_time => '{instant}')"
            )
        finally:
            sql(f"DROP TABLE {name}")
    assert answer == [{"rollback_result": True}]


def hoodoo_plans(both: Both, plan: str = "size", order: str = "linear", **more: Any) -> str:
    columns = None if order == "combine" else more.pop("columns", ["n", "name"])
    instant = both.hoodoo().schedule_clustering(plan, order, columns=columns, **more)
    assert instant is not None
    return instant


def hoodoo_runs(both: Both, instant: str) -> None:
    assert both.hoodoo().run_clustering(instant).instant == instant


# --- what is there --------------------------------------------------------------------------------
def pending(both: Both) -> dict[str, ClusteringPlan]:
    opened = both.hoodoo()
    found = pending_clusterings(Snapshot(opened.handle.storage, opened.timeline()))
    return {instant.requested: plan for instant, plan in found}


def plan_file(both: Both, instant: str) -> Path:
    (found,) = (
        path
        for action in ("clustering", "replacecommit")
        for path in both.path.glob(f".hoodie/**/{instant}.{action}.requested")
    )
    return found


def plan_record(both: Both, instant: str) -> dict[str, Any]:
    path = plan_file(both, instant)
    return codec.decode(path.read_bytes(), str(path))


def files(both: Both) -> list[str]:
    """The newest base files."""
    return sorted(s.base_file.path for s in both.hoodoo().file_slices() if s.base_file)


def rows_of(both: Both, path: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    found = pq.read_table(both.path / path, columns=list(columns), partitioning=None)
    return list(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


def sorted_by(both: Both, path: str, columns: Sequence[str]) -> bool:
    """Ascending, nulls first."""
    keys = [tuple((v is not None, v) for v in row) for row in rows_of(both, path, columns)]
    return all(_before(a, b) for a, b in zip(keys, keys[1:], strict=False))


def _before(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    for (a, x), (b, y) in zip(one, other, strict=True):
        if (a, x) != (b, y):
            return a < b if a != b else bool(x < y)
    return True


def check(both: Both, where: str, metadata: bool = False) -> None:
    """All three readers see the model; with a metadata table, that is right too."""
    if metadata:
        gone = [f"k{n}" for n in range(90)]
        indexed.check(both, where, keys=gone)
    else:
        mor.check(both, where)


def seen(both: Both) -> pa.Table:
    """What was written when, by key."""
    columns = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"]
    return both.hoodoo().read(columns=columns).to_arrow().sort_by("_hoodie_record_key")


def completed(both: Both, instant: str) -> Any:
    """The metadata of its replacecommit."""
    opened = both.hoodoo()
    found = opened.timeline().find(instant)
    assert found is not None and found.action == "replacecommit"
    assert found.state is State.COMPLETED
    return opened.timeline().metadata(opened.handle.storage, found)

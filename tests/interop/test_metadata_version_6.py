"""Metadata tables of version 6 under two writers, of Hudi 0.15 and of 1.2: each uses what the other one wrote, also after
services, and after either has stopped in the middle."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import test_metadata_crashes as crashes
import test_metadata_services as services
from both import CRASH, Both, Spark
from indexed import (
    GONE,
    KEPT,
    KEPT_BY_0_15,
    STRANGE,
    by_turns,
    check,
    compact_metadata,
    doubts,
    made,
    rows,
    said,
    setup,
    written,
)
from spark_hudi import HudiError

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
kinds = pytest.mark.parametrize("kind", [COW, MOR], ids=["cow", "mor"])
OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3"}


@pytest.fixture(params=["0.15", "1.2"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Both:
    """One table of version 6, still to be made."""
    worker = request.getfixturevalue("old_worker" if request.param == "0.15" else "worker")
    return Both(Spark(worker, tmp_path / "exchange"), tmp_path / "t", 6)


@kinds
def test_made_by_hoodoo(both: Both, kind: str) -> None:
    made(both, kind, "region")
    both.hoodoo_upsert(rows([*range(20), *STRANGE], 1, "hoodoo"))
    check(both, "written by Hoodoo", keys=GONE)
    by_turns(both, 2)


@kinds
def test_made_by_spark(both: Both, kind: str) -> None:
    """Both compact it by turns."""
    setup(both, kind, "region")
    both.options.update(OFTEN)
    both.spark_upsert(rows([*range(20), *STRANGE], 1, "spark"))
    check(both, "written by Spark", keys=GONE)
    for ts in (2, 3, 4):
        both.hoodoo_upsert(rows([*range(15 + ts, 24), "'q'"], ts, "hoodoo"))
        both.spark_upsert(rows([*range(ts, 12), 24 + ts], ts, "spark"))
    check(both, "by turns", keys=GONE)
    compact_metadata(both)
    check(both, "compacted by Hoodoo", keys=GONE)
    by_turns(both, 5)


SERVICES = [
    (services.clean, COW), (services.compaction, MOR), (services.archive, MOR), (services.rollback, MOR),
    (services.rollback_of_compacted, COW), (services.restore, MOR), (services.insert_overwrite, COW),
    (services.delete_partitions, MOR), (services.rebuild, MOR), (services.rebuild_one, COW),
    (services.compact_metadata, MOR),
]  # fmt: skip


@pytest.mark.parametrize(
    ("service", "kind"), SERVICES, ids=[f"{s.__name__}-{k[0]}or{k[-1]}" for s, k in SERVICES]
)
def test_after_hoodoos(both: Both, service: services.Service, kind: str) -> None:
    services.begin(both, kind)
    service(both)
    at = said(both)
    check(both, "after the service", keys=GONE)
    both.spark_upsert(rows([1, 3, 6, 7, 20, 29, 30, 44, 50, 51], 7, "spark"))
    assert doubts(both, at) == []
    check(both, "Spark writes on", spark=False, keys=GONE)
    both.hoodoo_upsert(rows([0, 3, 7, 21, 29, 51, 52], 8, "hoodoo"))
    check(both, "Hoodoo writes on", keys=GONE)


STEPS = {
    point: crashes.WRITES[point]
    for point in ("index inflight", "files told", "all keys told", "decided", "index completed")
}


@pytest.mark.parametrize("point", STEPS)
@kinds
def test_hoodoo_stops(both: Both, kind: str, point: str) -> None:
    """In a write; Spark goes on, or Hoodoo does."""
    crashes.begin(both, kind)
    lost = rows([3, *range(14, 16), *range(28, 36)], 3, "lost")
    crashes.stop(both, lambda table: table.upsert(written(both, lost)), STEPS[point])
    other = crashes.twin(both, "other")
    if point not in crashes.DECIDED:
        check(both, point, keys=GONE)
    else:
        other.model.upsert(lost)
    crashes.spark_next(both, point)
    crashes.hoodoo_next(both, point)
    crashes.hoodoo_next(other, point, spark=True)


@kinds
def test_spark_stops(both: Both, kind: str) -> None:
    """Right before its commit, with its metadata table written or not; Hoodoo goes on, or Spark does."""
    made(both, kind, "region")
    both.hoodoo_upsert(rows(range(24), 1, "first"))
    both.spark_upsert(rows(range(12, 32), 2, "second"))
    before = copy.deepcopy(both.model)
    with pytest.raises(HudiError):
        both.spark_upsert(rows([3, *range(28, 36)], 3, "lost"), **CRASH)
    both.model = before
    other = crashes.twin(both, "other")
    crashes.hoodoo_next(both, "Spark stopped", spark=True)
    crashes.spark_next(both, "Spark stopped")
    crashes.spark_next(other, "Spark stopped")
    crashes.hoodoo_next(other, "Spark stopped")


@pytest.mark.parametrize("both", ["0.15"], indirect=True)
@kinds
def test_spark_undoes(both: Both, kind: str) -> None:
    """A completed write of Hoodoo's, by a procedure, which of 1.2 does not take tables of version 6; Hoodoo goes on."""
    made(both, kind, "region")
    both.hoodoo_upsert(rows(range(24), 1, "first"))
    before = copy.deepcopy(both.model)
    commit = both.hoodoo_upsert(rows([3, *range(20, 36)], 2, "undone"))
    both.model = before
    name = f"undone_{both.spark.worker.version}_{kind}".replace(".", "_").lower()
    both.spark.worker.sql(f"CREATE TABLE {name} USING hudi LOCATION '{both.path}'")
    if kind == COW:
        # Hudi 0.15 stores the properties anew, and a payload class only where tables are merged on read
        # (``HoodieTableMetaClient.PropertyBuilder.build``): from here on its own last write of a key counts, whatever
        # that has in the ordering column. Hudi 1.2 and Hoodoo go on by the column.
        assert "hoodie.compaction.payload.class" not in both.hoodoo().config.properties
        both.model.ordering = before.ordering = None
    session = {k: v for k, v in {**KEPT, **KEPT_BY_0_15}.items() if "metadata" in k}
    both.spark.worker.set(session)  # else it takes away what it does not ask for
    found = both.spark.worker.call(
        f"rollback_to_instant(table => '{name}', instant_time => '{commit.instant}')"
    )
    both.spark.worker.unset(list(session))
    assert found == [{"rollback_result": True}]
    check(both, "undone by Spark", keys=GONE)
    crashes.hoodoo_next(both, "undone by Spark", spark=True)
    crashes.spark_next(both, "undone by Spark")

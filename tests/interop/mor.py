"""What the merge-on-read tests share: settings, Spark's compaction, and three readers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hudi
import pyarrow as pa
from attrs import define
from both import Both, same_rows
from hoodoo_rows.testing.tables import Maker
from model import SCHEMA, Model, Row

IS_DELETED = "_hoodie_is_deleted"
MARKED = SCHEMA.append(pa.field(IS_DELETED, pa.bool_()))
BLOCKS = "hoodie.logfile.data.block.format"
READ_OPTIMIZED = {"hoodie__datasource__query__type": "read_optimized"}


@define
class MarkedModel(Model):
    """Rows with a mark are deletes that compare like any row.

    It keeps no tombstones, as merged log files do: no test lets a row come back with a lower ordering
    value than its delete.
    """

    def upsert(self, rows: Iterable[Row]) -> list[Row]:
        rows = list(rows)
        for row in rows:
            old = self.rows.get(self.key(row))
            if not row[IS_DELETED]:
                Model.upsert(self, [{k: v for k, v in row.items() if k != IS_DELETED}])
            elif old and (self.ordering is None or row[self.ordering] >= old[self.ordering]):
                del self.rows[self.key(row)]
        return rows


def setup(
    both: Both,
    version: int,
    index: str = "SIMPLE",
    blocks: str = "parquet",
    ordering: str | None = "ts",
    partition_by: Sequence[str] = ("region",),
) -> Both:
    """A merge-on-read table, still to be made; both sides write log blocks of the kind ``blocks``."""
    both.setup(
        MarkedModel(ordering=ordering), MARKED, version, index, False, partition_by,
        buckets=2, table_type="MERGE_ON_READ", hoodie__logfile__data__block__format=blocks,
    )  # fmt: skip
    both.opened = {"options": {BLOCKS: blocks}}
    return both


rows = Maker(
    MARKED, "ts", "name", IS_DELETED, id="k{}".format, region=("us", "eu"), **{IS_DELETED: False}
).dicts


def rows_for(both: Both, numbers: Iterable[int], ts: int, name: str) -> list[Row]:
    """The same rows, without the mark where the table has none."""
    found = rows(numbers, ts, name)
    return [{k: v for k, v in row.items() if k in both.schema.names} for row in found]


def log_files(both: Both) -> list[Path]:
    """Every log file of the table, of whichever slice."""
    found = both.path.rglob(".*.log.*")
    return sorted(p for p in found if p.suffix != ".crc" and ".hoodie" not in p.parts)


def base_files(both: Both) -> list[Path]:
    found = both.path.rglob("*.parquet")
    return sorted(p for p in found if ".hoodie" not in p.parts)


def wheel(path: Path, as_of: str | None = None, read_optimized: bool = False) -> pa.Table | None:
    """What the reader of the package ``hudi`` gives; None for no rows."""
    options = hudi.HudiReadOptions()
    if as_of is not None:
        options = options.with_as_of_timestamp(as_of)
    if read_optimized:
        options = options.with_hudi_option("hoodie.read.use.read_optimized.mode", "true")
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(options)
    return pa.Table.from_batches(batches) if batches else None


def check(both: Both, where: str, others: bool = True) -> None:
    """Hoodoo and Spark see what the model says; ``others``: and ``hudi`` the same, with meta columns."""
    both.check(where)
    if others:
        _agrees(
            both.hoodoo().read(meta=True).to_arrow(), wheel(both.path), f"{where}, read by hudi"
        )


def check_optimized(both: Both, where: str) -> pa.Table:
    """All three readers see the same without the log files; the rows."""
    ours = both.hoodoo().read(mode="read_optimized", meta=True).to_arrow()
    same_rows(ours, both.spark_read(**READ_OPTIMIZED), f"{where}, read-optimized by Spark")
    _agrees(ours, wheel(both.path, read_optimized=True), f"{where}, read-optimized by hudi")
    return ours


def check_travel(both: Both, instant: str, others: bool = True) -> pa.Table:
    """All three readers see the same as of an instant; the rows. ``others``: as in :func:`check`."""
    ours = both.hoodoo().read(as_of=instant, meta=True).to_arrow()
    same_rows(ours, both.spark_read(as__of__instant=instant), f"as of {instant}, read by Spark")
    if others:
        _agrees(ours, wheel(both.path, as_of=instant), f"as of {instant}, read by hudi")
    return ours


def instants(both: Both) -> list[str]:
    """Of all completed writes, compactions too."""
    return [i.requested for i in both.hoodoo().timeline().writes()]


def spark_compact(both: Both, operation: str = "both") -> list[dict[str, Any]]:
    """``schedule``, ``run`` (what is scheduled) or ``both``; what the procedure answers last."""
    options = ",".join([
        "hoodie.metadata.enable=false", "hoodie.compact.inline.max.delta.commits=1",
        # Without it the procedure dies of any table whose properties say that it has buckets.
        "hoodie.datasource.write.recordkey.field=id",
    ])  # fmt: skip
    answer: list[dict[str, Any]] = []
    for step in ("schedule", "run") if operation == "both" else (operation,):
        answer = both.spark.worker.call(
            f"run_compaction(op => '{step}', path => '{both.path}', options => '{options}')"
        )
        assert answer, f"Spark had nothing to {step}"
    return answer


def _agrees(ours: pa.Table, theirs: pa.Table | None, where: str) -> None:
    if theirs is None:
        assert ours.num_rows == 0, where
    else:
        same_rows(ours, theirs, where)

"""One table under two writers: Hoodoo in this process, Spark Hudi in the worker's."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field
from hoodoo.errors import HoodooWarning
from model import Model, table
from spark_hudi import SparkHudi

# A failing validator is Hudi's own way to leave a write half done: files, markers, inflight.
CRASH = {
    "hoodie.precommit.validators": (
        "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator"
    ),
    "hoodie.precommit.validators.single.value.sql.queries": "select count(*) from <TABLE_NAME>#-1",
}


@define
class Spark:
    """Arrow in, Arrow out."""

    worker: SparkHudi
    folder: Path
    count: int = 0

    def write(self, path: Path, rows: pa.Table, operation: str, options: Mapping[str, str]) -> None:
        source = self._next("in")
        pq.write_table(rows, source)
        self.worker.write(source, path, operation, options)

    def read(self, path: Path, options: Mapping[str, str] | None = None) -> pa.Table:
        """All columns, meta columns included."""
        output = self._next("out")
        self.worker.read(path, output, options or {})
        return pq.read_table(output, partitioning=None)

    def _next(self, kind: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count += 1
        return self.folder / f"{kind}{self.count}.parquet"


@define
class Both:
    """``options``: what every Spark write needs to know, ``model``: what the table must hold."""

    spark: Spark
    path: Path
    version: int = 9
    options: dict[str, str] = field(factory=dict)
    opened: dict[str, Any] = field(factory=dict)
    model: Model = field(factory=Model)
    schema: pa.Schema = field(default=None)

    def setup(
        self,
        model: Model,
        schema: pa.Schema,
        version: int = 9,
        index: str = "SIMPLE",
        metadata: bool = False,
        partition_by: Sequence[str] = (),
        record_key: Sequence[str] = ("id",),
        buckets: int = 4,
        table_type: str = "COPY_ON_WRITE",
        **more: str,
    ) -> Both:
        self.model, self.schema, self.version = model, schema, version
        self.options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": ",".join(record_key),
            "hoodie.metadata.enable": str(metadata).lower(),
            "hoodie.index.type": index,
        }
        if table_type == "MERGE_ON_READ":
            self.options["hoodie.datasource.write.table.type"] = table_type
            self.options["hoodie.compact.inline"] = "false"  # Spark's own default: every 5th write
        if partition_by:
            self.options["hoodie.datasource.write.partitionpath.field"] = ",".join(partition_by)
        if model.ordering:
            self.options["hoodie.table.ordering.fields"] = model.ordering
        if version != 9:
            self.options["hoodie.write.table.version"] = str(version)
            self.options["hoodie.write.auto.upgrade"] = "false"
        if index == "BUCKET":
            self.options["hoodie.bucket.index.num.buckets"] = str(buckets)
            self.options["hoodie.index.bucket.engine"] = "SIMPLE"
        self.options.update({key.replace("__", "."): value for key, value in more.items()})
        return self

    # --- Hoodoo -----------------------------------------------------------------------------------
    def create(self, options: Mapping[str, Any] | None = None, **given: Any) -> hoodoo.Table:
        """The table made by Hoodoo, as :meth:`setup` says."""
        keys = self.options["hoodie.datasource.write.recordkey.field"].split(",")
        parts = self.options.get("hoodie.datasource.write.partitionpath.field")
        chosen = dict(options or {})
        if "hoodie.datasource.write.table.type" in self.options:
            given["table_type"] = self.options["hoodie.datasource.write.table.type"]
        if self.options["hoodie.index.type"] == "BUCKET":
            given["index"] = "bucket"
            chosen["hoodie.bucket.index.num.buckets"] = self.options[
                "hoodie.bucket.index.num.buckets"
            ]
        return hoodoo.create(
            str(self.path), self.schema, name="t", record_key=keys,
            partition_by=parts.split(",") if parts else (), ordering=self.model.ordering or (),
            table_version=self.version, options=chosen, **given,
        )  # fmt: skip

    def hoodoo(self) -> hoodoo.Table:
        """The table as Hoodoo opens it now."""
        return hoodoo.open(str(self.path), **self.opened)

    def hoodoo_upsert(self, rows: Sequence[dict[str, Any]]) -> hoodoo.Commit:
        with _metadata_table_may_go():
            whole = table(self.model.upsert(self._plain(rows)), self.schema)
            return self.hoodoo().upsert(whole, add_columns=True)

    def hoodoo_delete(self, rows: Sequence[dict[str, Any]]) -> hoodoo.Commit:
        with _metadata_table_may_go():
            return self.hoodoo().delete(table(self.model.delete(self._plain(rows)), self.schema))

    def _plain(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The values as the schema's types have them (a float column rounds, say)."""
        return table(rows, self.schema).to_pylist()

    # --- Spark Hudi -------------------------------------------------------------------------------
    def spark_upsert(self, rows: Sequence[dict[str, Any]], **options: str) -> None:
        self.spark_write("upsert", self.model.upsert(self._plain(rows)), options)

    def spark_delete(self, rows: Sequence[dict[str, Any]], **options: str) -> None:
        self.spark_write("delete", self.model.delete(self._plain(rows)), options)

    def spark_write(
        self, operation: str, rows: Sequence[dict[str, Any]], options: Mapping[str, str] = {}
    ) -> None:
        chosen = {**self.options, **options}
        self.spark.write(self.path, table(rows, self.schema), operation, chosen)

    def spark_read(self, **options: str) -> pa.Table:
        given = {key.replace("__", "."): value for key, value in options.items()}
        given.setdefault("hoodie.metadata.enable", self.options["hoodie.metadata.enable"])
        return self.spark.read(self.path, given)

    # --- both -------------------------------------------------------------------------------------
    def write_at_once(
        self, made: Callable[..., list[dict[str, Any]]], spark: Mapping[str, str], own: Any
    ) -> None:
        """Spark changes rows of ``eu`` with the options ``spark``, and Hoodoo, opened with ``own``,
        those of ``us`` meanwhile: what either acknowledges is there, and nothing twice."""
        failed: list[BaseException] = []
        done = threading.Event()

        def by_spark() -> None:
            try:
                for ts in range(2, 6):
                    self.spark_upsert(made(range(ts, ts + 5), ts, "eu"), **spark)
            except BaseException as error:
                failed.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=by_spark)
        thread.start()
        writer = hoodoo.open(self.path, options=own)
        count = 0
        while not done.is_set() and count < 40:
            count += 1
            changed = made(range(count, count + 5), count + 1, "us")
            self.model.upsert(changed)
            writer.upsert(table(changed))
        thread.join()
        assert failed == []
        assert count > 4
        self.check("after both")

    def check(self, where: str, spark: bool = True) -> None:
        """Both readers see what the model says, and the same meta columns."""
        ours = self.hoodoo().read(meta=True).to_arrow()
        self.model.expect(ours, f"{where}, read by Hoodoo")
        if spark:
            theirs = self.spark_read()
            self.model.expect(theirs, f"{where}, read by Spark")
            same_rows(ours, theirs, where)


def travel(both: Both, instant: str) -> None:
    """Both readers see the same rows as of an instant."""
    ours = both.hoodoo().read(as_of=instant, meta=True).to_arrow()
    theirs = both.spark_read(**{"as.of.instant": instant})
    same_rows(ours, theirs, f"as of {instant}")


def same_rows(ours: pa.Table, theirs: pa.Table, where: str) -> None:
    """Equal rows in any order, by all columns that both have; types only as far as values go."""
    assert set(ours.column_names) == set(theirs.column_names), where
    names = sorted(ours.column_names)
    left, right = (sorted(map(repr, t.select(names).to_pylist())) for t in (ours, theirs))
    different = [(a, b) for a, b in zip(left, right, strict=False) if a != b]
    assert len(left) == len(right) and not different, f"{where}: {different[:2]}"


def _metadata_table_may_go() -> warnings.catch_warnings[None]:
    """Hoodoo says that it drops the metadata table; that is expected after a Spark write."""
    context = warnings.catch_warnings(action="ignore", category=HoodooWarning)
    return context

"""Who takes part, each with the settings that its own documentation recommends for such a table.

A contender runs in a Spark session of its own. What it can't do it does not have (``None``): the table of
results has a dash there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from attrs import define, field

KEY, PARTITION = "id", "l_shipmode"
ORDER = ("l_shipdate", "l_partkey")  # what clustering is by
BUCKETS = 8


@define
class Contender:
    """``path`` is the folder of the table; ``parted``: by the ship mode. ``buckets``: where the index has them."""

    spark: Any
    path: str
    parted: bool
    name: str = field(default="lineitem", kw_only=True)
    key: tuple[str, ...] = field(default=(KEY,), kw_only=True)
    buckets: int = field(default=BUCKETS, kw_only=True)
    settings: ClassVar[dict[str, str]] = {}
    family: ClassVar[str]

    def load(self, rows: Any) -> None:
        raise NotImplementedError

    def upsert(self, rows: Any) -> None:
        raise NotImplementedError

    def insert(self, rows: Any) -> None:
        """Rows with new keys, in the way for them that looks for none."""
        raise NotImplementedError

    def delete(self, keys: Any) -> None:
        raise NotImplementedError

    def delete_where(self, condition: str) -> None:
        raise NotImplementedError

    def read(self) -> Any:
        """All rows, without columns of the format's own."""
        raise NotImplementedError

    # How to compact (or make few files of many), to order rows by two columns (one of ``orders``), and to read what
    # came since a point.
    compact: ClassVar[Any] = None
    cluster: ClassVar[Any] = None
    orders: ClassVar[tuple[str, ...]] = ("linear", "zorder")
    index: str = ""

    @property
    def moves(self) -> bool:
        """Whether a row that comes with another partition goes there; with a bucket index it is another row."""
        return self.index != "bucket"

    point: ClassVar[Any] = None
    since: ClassVar[Any] = None


@define
class Hoodoo(Contender):
    family = "hoodoo"
    index: str = "bucket"
    table_type: str = "COPY_ON_WRITE"
    _table: Any = None

    def load(self, rows: Any) -> None:
        import hoodoo

        options = (
            {"hoodie.bucket.index.num.buckets": str(self.buckets)} if self.index == "bucket" else {}
        )
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(rows.schema)
        self._table = hoodoo.create(
            self.path, schema, name=self.name, record_key=self.key, index=self.index,
            table_type=self.table_type, partition_by=(PARTITION,) if self.parted else (), options=options,
        )  # fmt: skip
        self._table.bulk_insert(rows)

    def upsert(self, rows: Any) -> None:
        self._table.upsert(rows)

    def insert(self, rows: Any) -> None:
        self._table.insert(rows)

    def delete(self, keys: Any) -> None:
        self._table.delete(keys)

    def delete_where(self, condition: str) -> None:
        self._table.delete(where=condition)

    def read(self) -> Any:
        return self._table.read().to_spark()

    def compact(self) -> object:
        return self._table.compact() if self.table_type == "MERGE_ON_READ" else None

    @property
    def cluster(self) -> Callable[[str], object] | None:  # type: ignore[override]
        """A row of a bucket index lies where its key says."""
        if self.index == "bucket":
            return None
        return lambda order: self._table.cluster(order=order, columns=ORDER)

    def point(self) -> str:
        return str(self._table.timeline().writes()[-1].completion_order)

    def since(self, point: str) -> Any:
        return self._table.incremental(since=point).to_spark()


@define
class Hudi(Contender):
    """Its bulk insert, then its upserts; the metadata table is on, as it is by default."""

    family = "hudi"
    settings: ClassVar[dict[str, str]] = {
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    }
    index: str = "bucket"
    table_type: str = "COPY_ON_WRITE"

    def load(self, rows: Any) -> None:
        self._write(rows, "bulk_insert", "overwrite")

    def upsert(self, rows: Any) -> None:
        self._write(rows, "upsert")

    def insert(self, rows: Any) -> None:
        self._write(rows, "insert")

    def delete(self, keys: Any) -> None:
        # Its delete wants rows of the table's schema.
        self._write(self.read().join(keys.select(*self.key), list(self.key), "left_semi"), "delete")

    def delete_where(self, condition: str) -> None:
        self._write(self.read().where(condition), "delete")

    def read(self) -> Any:
        found = self.spark.read.format("hudi").load(self.path)
        return found.drop(*_meta(found))

    def compact(self) -> object:
        if self.table_type != "MERGE_ON_READ":
            return None
        return self._call(f"run_compaction(op => 'scheduleAndExecute', path => '{self.path}')")

    def cluster(self, order: str) -> object:
        by, how = ",".join(ORDER), {"linear": "linear", "zorder": "z-order"}[order]
        return self._call(f"run_clustering(path => '{self.path}', order => '{by}', order_strategy => '{how}')")  # fmt: skip

    def point(self) -> str:
        found = self.spark.sql(f"call show_commits(path => '{self.path}', limit => 1)").collect()
        row = found[0].asDict()
        return str(row.get("state_transition_time") or row["commit_time"])

    def since(self, point: str) -> Any:
        options = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": point,
        }
        return self.spark.read.format("hudi").options(**options).load(self.path)

    def _call(self, procedure: str) -> object:
        return self.spark.sql(f"call {procedure}").collect()

    def _write(self, rows: Any, operation: str, mode: str = "append") -> None:
        kind = "RECORD_INDEX" if self.index == "record_index" else self.index.upper()
        options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": ",".join(self.key),
            "hoodie.datasource.write.operation": operation,
            "hoodie.index.type": kind,
        }
        if self.parted:
            options |= {"hoodie.datasource.write.partitionpath.field": PARTITION}
        else:
            options["hoodie.datasource.write.keygenerator.class"] = (
                "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
            )
        if kind == "BUCKET":
            options |= {"hoodie.bucket.index.num.buckets": str(self.buckets)}
        else:
            options |= {
                "hoodie.metadata.record.index.enable": "true",
                "hoodie.metadata.global.record.level.index.enable": "true",
                "hoodie.record.index.update.partition.path": "true",
            }
        rows.write.format("hudi").options(**options).mode(mode).save(self.path)


@define
class Delta(Contender):
    family = "delta"
    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    vectors: bool = False  # of deletion, as its documentation recommends for merges since 3.1
    feed: bool = False  # of changes: it has no incremental read without

    def load(self, rows: Any) -> None:
        writer = rows.write.format("delta")
        for name, chosen in (("DeletionVectors", self.vectors), ("ChangeDataFeed", self.feed)):
            writer = writer.option(f"delta.enable{name}", str(chosen).lower())
        (writer.partitionBy(PARTITION) if self.parted else writer).save(self.path)

    def upsert(self, rows: Any) -> None:
        _merge(self.spark, self._full, self.key, rows)

    def insert(self, rows: Any) -> None:
        rows.write.format("delta").mode("append").save(self.path)

    def delete(self, keys: Any) -> None:
        _drop(self.spark, self._full, self.key, keys)

    def delete_where(self, condition: str) -> None:
        self.spark.sql(f"delete from {self._full} where {condition}")

    def read(self) -> Any:
        return self.spark.read.format("delta").load(self.path)

    def compact(self) -> object:
        return self.spark.sql(f"optimize {self._full}").collect()

    @property
    def point(self) -> Callable[[], str] | None:  # type: ignore[override]
        if not self.feed:
            return None
        return lambda: str(self.spark.sql(f"describe history {self._full} limit 1").collect()[0]["version"])  # fmt: skip

    @property
    def since(self) -> Callable[[str], Any] | None:  # type: ignore[override]
        if not self.feed:
            return None
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        return lambda point: (
            reader.option("startingVersion", int(point) + 1).load(self.path)
            .where("_change_type in ('insert', 'update_postimage')")
        )  # fmt: skip

    orders = ("zorder",)

    def cluster(self, order: str) -> object:
        return self.spark.sql(f"optimize {self._full} zorder by ({', '.join(ORDER)})").collect()

    @property
    def _full(self) -> str:
        return f"delta.`{self.path}`"


@define
class Iceberg(Contender):
    family = "iceberg"
    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
    }
    mode: str = "copy-on-write"

    def load(self, rows: Any) -> None:
        writer = rows.writeTo(self._full).using("iceberg").tableProperty("format-version", "2")
        for action in ("update", "merge", "delete"):
            writer = writer.tableProperty(f"write.{action}.mode", self.mode)
        if self.parted:
            from pyspark.sql.functions import col

            writer = writer.partitionedBy(col(PARTITION))
        writer.create()

    def upsert(self, rows: Any) -> None:
        _merge(self.spark, self._full, self.key, rows)

    def delete(self, keys: Any) -> None:
        _drop(self.spark, self._full, self.key, keys)

    def insert(self, rows: Any) -> None:
        rows.writeTo(self._full).append()

    def delete_where(self, condition: str) -> None:
        self.spark.sql(f"delete from {self._full} where {condition}")

    def read(self) -> Any:
        return self.spark.table(self._full)

    def compact(self) -> object:
        return self._rewrite("strategy => 'binpack', options => map('delete-file-threshold', '1')")

    def cluster(self, order: str) -> object:
        by = ",".join(ORDER)
        how = f"zorder({by})" if order == "zorder" else by
        return self._rewrite(f"strategy => 'sort', sort_order => '{how}', options => map('rewrite-all', 'true')")  # fmt: skip

    def point(self) -> str:
        found = self.spark.sql(
            f"select snapshot_id from {self._full}.snapshots order by committed_at desc limit 1"
        )
        return str(found.collect()[0][0])

    def since(self, point: str) -> Any:
        self.spark.sql(
            f"call local.system.create_changelog_view(table => 'db.{self.name}', changelog_view => 'since', "
            f"options => map('start-snapshot-id', '{point}'))"
        )
        return self.spark.table("since").where("_change_type in ('INSERT', 'UPDATE_AFTER')")

    def _rewrite(self, how: str) -> object:
        return self.spark.sql(
            f"call local.system.rewrite_data_files(table => 'db.{self.name}', {how})"
        ).collect()

    @property
    def _full(self) -> str:
        return f"local.db.{self.name}"


def _merge(spark: Any, name: str, key: tuple[str, ...], rows: Any) -> None:
    rows.createOrReplaceTempView("changes")
    spark.sql(
        f"merge into {name} t using changes s on {_equal(key)} "
        "when matched then update set * when not matched then insert *"
    )


def _drop(spark: Any, name: str, key: tuple[str, ...], keys: Any) -> None:
    keys.createOrReplaceTempView("gone")
    spark.sql(f"merge into {name} t using gone s on {_equal(key)} when matched then delete")


def _equal(key: tuple[str, ...]) -> str:
    return " and ".join(f"t.{name} = s.{name}" for name in key)


def _meta(frame: Any) -> list[str]:
    return [name for name in frame.columns if name.startswith("_hoodie_")]


ALL: dict[str, tuple[type[Contender], dict[str, Any]]] = {
    "hoodoo cow bucket": (Hoodoo, {}),
    "hoodoo cow record_index": (Hoodoo, {"index": "record_index"}),
    "hoodoo cow simple": (Hoodoo, {"index": "simple"}),
    "hoodoo mor bucket": (Hoodoo, {"table_type": "MERGE_ON_READ"}),
    "hudi cow bucket": (Hudi, {}),
    "hudi cow record_index": (Hudi, {"index": "record_index"}),
    "hudi mor bucket": (Hudi, {"table_type": "MERGE_ON_READ"}),
    "delta": (Delta, {}),
    "delta vectors": (Delta, {"vectors": True}),
    "delta feed": (Delta, {"feed": True}),
    "iceberg cow": (Iceberg, {}),
    "iceberg mor": (Iceberg, {"mode": "merge-on-read"}),
}

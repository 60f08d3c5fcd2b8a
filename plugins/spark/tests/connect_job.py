"""A client of Spark Connect with a server of its own (the argument: an empty folder): what classic sessions do works."""

from __future__ import annotations

import sys

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import EngineError
from hoodoo_spark import stream
from hoodoo_spark.engine import SparkEngine
from hoodoo_spark.streaming import sink
from pyspark.sql import SparkSession


def main(home: str) -> None:
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    rides = spark.range(300).selectExpr(
        "id", "CONCAT('c', id % 3) AS city", "id * 0.5D AS fare", "1L AS ts"
    )
    assert ".connect." in type(rides).__module__
    for number, (kind, index) in enumerate(
        (("COPY_ON_WRITE", None), ("MERGE_ON_READ", "record_index"))
    ):
        path = f"{home}/{kind}"
        table = hoodoo.create(
            path, rides.schema, record_key="id", partition_by="city", ordering="ts", table_type=kind, index=index
        )  # fmt: skip
        assert table.insert(rides).inserted == 300
        newer = rides.where("id < 50").selectExpr("id", "city", "-1D AS fare", "2L AS ts")
        assert table.upsert(newer).updated == 50
        if number:  # as if the payloads were many: they travel as rows
            stream.ENCLOSED_BYTES = 0
        more = pa.table({"id": [900, 901], "city": ["c0", "c1"], "fare": [1.0, 2.0], "ts": [1, 1]})
        assert table.upsert(more, engine="spark").inserted == 2
        assert table.delete(rides.where("id < 20").select("id")).deleted == 20
        scan = table.read(columns=["id", "fare"])
        expected = sorted(scan.to_arrow()["id"].to_pylist())
        for wanted in (scan, table.read(columns=["id", "fare"], where=pc.field("id") >= 0)):
            found = wanted.to_spark(spark)
            assert found.where("fare < 0").count() == 30
            assert sorted(row["id"] for row in found.collect()) == expected
        source = spark.read.format("hoodoo").load(path)
        assert sorted(row["id"] for row in source.collect()) == expected
        source.limit(5).write.format("hoodoo").mode("append").save(path)
    out = f"{home}/out"
    query = (
        spark.readStream.format("hoodoo")
        .load(f"{home}/COPY_ON_WRITE")
        .writeStream.format("hoodoo")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("checkpointLocation", f"{home}/checkpoint")
        .trigger(availableNow=True)
        .start(out)
    )
    query.awaitTermination()
    assert hoodoo.open(out).read().count() == 282
    for call in (SparkEngine(spark).meter, lambda: sink(out)(rides, 1)):
        try:
            call()
        except EngineError as error:
            assert "Spark Connect" in str(error)
        else:
            raise AssertionError("no error")
    print("connected")


if __name__ == "__main__":
    main(sys.argv[1])

"""Make the tables of this folder with real Spark Hudi, an archive for each of its releases.

    python make_old_tables.py LABEL BUNDLE OUT

``LABEL``: the release of Hudi, which names the tables. ``BUNDLE``: its jar for the PySpark that runs this
(``hudi-spark3.4-bundle_2.12:0.14.0`` and PySpark 3.4, ``hudi-spark3.5-bundle_2.12`` and PySpark 3.5 for
0.15.0 and 1.2.0). ``OUT``: a folder. The tables named ``upgraded`` are made by 1.2.0 of what 0.15.0 left there.

Every table gets the same three writes, so that all hold the same five rows. The tests do not run it.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

SCHEMA = "id string, k2 int, name string, ts long, region string, day string"
FIRST = [(k, n, "first", 1, "eu" if n % 2 else "us", "mon")
         for n, k in enumerate(["k0", "k1", "a,b", "c:d", "ключ", "k5"])]  # fmt: skip
SECOND = [(k, n, "second", 2, region, day) for k, n, _name, _ts, region, day in FIRST[1:3]]
GONE = FIRST[5:]

KEYGEN = "org.apache.hudi.keygen."
ONE = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "region,day",
    "hoodie.datasource.write.keygenerator.class": KEYGEN + "ComplexKeyGenerator",
}
SIMPLE = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "region",
}
TWO = {**ONE, "hoodie.datasource.write.recordkey.field": "id,k2"}
MERGED = {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "false"}
VIRTUAL = {"hoodie.populate.meta.fields": "false"}
KINDS = {
    "cow_simple": SIMPLE,
    "cow_complex1": ONE,
    "cow_complex2": TWO,
    "mor_complex1": {**ONE, **MERGED},
    "mor_virtual1": {**ONE, **MERGED, **VIRTUAL},
    "mor_virtual2": {**TWO, **MERGED, **VIRTUAL},
}
COMMON = {
    "hoodie.table.name": "old",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.metadata.enable": "false",
    "hoodie.index.type": "SIMPLE",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.datasource.hive_sync.enable": "false",
}
UNCHECKED = {"hoodie.write.complex.keygen.validation.enable": "false"}
BARE = {"hoodie.write.complex.keygen.new.encoding": "true"}
SIX = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false", **UNCHECKED}


def of_release(label: str) -> dict[str, dict[str, str]]:
    if label.startswith("0."):
        return {f"{label}_{kind}": more for kind, more in KINDS.items()}
    made = {f"{label}_v6_{kind}": {**more, **SIX} for kind, more in KINDS.items()}
    for kind in ("cow_complex1", "mor_virtual1"):
        made[f"{label}_v6_{kind}_bare"] = {**KINDS[kind], **SIX, **BARE}
    made |= {f"{label}_v9_{kind}": more for kind, more in KINDS.items()}
    return made


def session(jar: str, scratch: str) -> SparkSession:
    settings = {
        "spark.jars": jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.local.dir": scratch,
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("old tables")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def write(spark: Any, path: Path, rows: list[Any], operation: str, more: dict[str, str]) -> None:
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    options = {**COMMON, **more, "hoodie.datasource.write.operation": operation}
    frame.write.format("hudi").options(**options).mode("append").save(str(path))


def packed(tables: list[Path], archive: Path) -> None:
    with tarfile.open(archive, "w:xz", preset=9) as out:
        for table in tables:
            for file in sorted(f for f in table.rglob("*") if f.is_file() and f.suffix != ".crc"):
                info = out.gettarinfo(file, f"{table.name}/{file.relative_to(table)}")
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                with file.open("rb") as content:
                    out.addfile(info, content)
    print(archive.name, archive.stat().st_size, [table.name for table in tables], flush=True)


def main(label: str, jar: str, out: Path, scratch: Path) -> None:
    spark = session(jar, str(scratch))
    tables = []
    for name, more in of_release(label).items():
        table = scratch / name
        write(spark, table, FIRST, "upsert", more)
        write(spark, table, SECOND, "upsert", more)
        write(spark, table, GONE, "delete", more)
        tables.append(table)
    for name in ("0.15.0_cow_complex1", "0.15.0_mor_complex1") if label == "1.2.0" else ():
        with tarfile.open(out / "0.15.0.tar.xz") as archive:
            mine = [member for member in archive if member.name.startswith(f"{name}/")]
            archive.extractall(scratch, mine, filter="data")
        table = (scratch / name).rename(scratch / f"upgraded_{name}")
        more = {**KINDS[name[7:]], **UNCHECKED, "hoodie.write.auto.upgrade": "true"}
        # A key of its own, so that what is there stays as 0.15.0 wrote it.
        new = ("k9", 9, "first", 1, "eu", "mon")
        write(spark, table, [new], "upsert", more)
        write(spark, table, [new], "delete", more)
        tables.append(table)
    spark.stop()
    packed(tables, out / f"{label}.tar.xz")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(folder))

"""A program that reads with Spark and the jars of Iceberg and of Delta Lake: one state of a table a
line in, as JSON; the rows go into an Arrow file.

It runs in an environment of its own (``HOODOO_SPARK_PYTHON``), as the jars are for one version of
Spark, and the tests run with another one:

    uv venv E; uv pip install --python E "pyspark==4.1.*" pyarrow pandas setuptools

``HOODOO_OPEN_JARS``: a folder with all jars, such as those that
``tests/interop/test_open_formats.py`` names for Spark 4.1."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark prints is no answer
    jars = sorted(Path(os.environ["HOODOO_OPEN_JARS"]).glob("*.jar"))
    settings = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        # The tables are tiny: compiled queries cost more than they save.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            source = spark.read.format(asked["format"])
            if asked["state"] is not None:
                source = source.option("versionAsOf", asked["state"])  # the id of a snapshot, too
            found = source.load(asked["path"]).toArrow()
            with (
                pa.OSFile(asked["target"], "wb") as file,
                pa.ipc.new_file(file, found.schema) as to,
            ):
                to.write_table(found)
            answer = ""
        except Exception as error:
            answer = f"{type(error).__name__}: {str(error)[:2000]}"
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

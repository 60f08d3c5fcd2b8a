"""Worker process: runs real Spark Hudi, driven by JSON lines.

It runs under the interpreter that has the PySpark version the Hudi bundle was built for, so it
imports nothing of Hoodoo.  One request per line on stdin, one answer per line on stdout, each
answer prefixed with MARKER; everything else (Spark's and the JVM's own output) goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

MARKER = "@@hudi "


def session(jar: str, scratch: str, more: dict[str, str]) -> SparkSession:
    """A local session as Hudi requires it, and ``more`` settings of it."""
    settings = {
        "spark.jars": jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.warehouse.dir": scratch + "/warehouse",
        "spark.local.dir": scratch,
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        # Hudi makes instants in the JVM's zone unless the table says otherwise.
        # Its bloom index serializes locks where it asks the metadata table.
        "spark.driver.extraJavaOptions": (
            "-Duser.timezone=UTC --add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
        ),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        # pyarrow-made comparisons need microseconds, not INT96.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Old dates as they stand in the file: pyarrow knows no other calendar.
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    }
    builder = SparkSession.builder.master("local[2]").appName("hudi-interop")
    for key, value in {**settings, **more}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def plain(value: Any) -> Any:
    """A row value as JSON: temporal values ISO, bytes hex, decimals as text, structs as objects."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if hasattr(value, "asDict"):
        return {k: plain(v) for k, v in value.asDict().items()}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def reason(error: Exception) -> str:
    """One line: Hudi wraps the exception that says what is wrong several times."""
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return f"{type(error).__name__}: {error}"
    lines = [str(cause.toString()).splitlines()[0]]
    while cause.getCause() is not None:
        cause = cause.getCause()
        lines.append(str(cause.toString()).splitlines()[0])
    return " <- ".join(dict.fromkeys(lines))


class Verbs:
    """The requests this worker answers; one method per verb."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def version(self) -> str:
        return str(self.spark.version)

    def sql(self, statement: str) -> list[Any]:
        return [plain(row) for row in self.spark.sql(statement).collect()]

    def set(self, options: dict[str, str]) -> None:
        for key, value in options.items():
            self.spark.conf.set(key, value)

    def unset(self, keys: list[str]) -> None:
        for key in keys:
            self.spark.conf.unset(key)

    def write(
        self, source: str, table: str, operation: str, options: dict[str, str], mode: str
    ) -> None:
        frame = self.spark.read.parquet(source)
        writer = frame.write.format("hudi").options(**options)
        writer.option("hoodie.datasource.write.operation", operation).mode(mode).save(table)

    def read(self, table: str, output: str, options: dict[str, str], order_by: list[str]) -> int:
        frame: DataFrame = self.spark.read.format("hudi").options(**options).load(table)
        if order_by:
            frame = frame.orderBy(*order_by)
        frame.coalesce(1).write.mode("overwrite").parquet(output)
        count: int = self.spark.read.parquet(output).count()
        return count


def main(scratch: str) -> None:
    # The JVM inherits file descriptor 1 and may print to it: keep the real stdout for answers only.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(message: dict[str, Any]) -> None:
        answers.write(MARKER + json.dumps(message) + "\n")
        answers.flush()

    try:
        verbs = Verbs(session(sys.argv[1], scratch, json.loads(sys.argv[2])))
    except Exception:
        answer({"error": traceback.format_exc()})
        raise
    answer({"ok": verbs.version()})
    for line in sys.stdin:
        request = json.loads(line)
        verb: Callable[..., Any] = getattr(verbs, request["verb"])
        try:
            answer({"ok": verb(**request["args"])})
        except Exception as error:  # a failed request must not end the worker: Spark starts slowly
            answer({"error": reason(error), "trace": traceback.format_exc()})
    verbs.spark.stop()


if __name__ == "__main__":
    # The JVM may still be deleting its own files there when it ends.
    with tempfile.TemporaryDirectory(
        prefix="hudi-worker-", ignore_cleanup_errors=True
    ) as directory:
        main(directory)

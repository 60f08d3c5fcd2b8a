"""A worker that also asks Hudi's key generators directly, row by row, without writing a table.

Runs as ``hudi_worker`` does, under the interpreter with Hudi's PySpark, and imports nothing of Hoodoo.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import hudi_worker
from py4j.protocol import Py4JJavaError

FACTORY = "hoodie.datasource.write.keygenerator.class"


class Verbs(hudi_worker.Verbs):
    """One request more."""

    def key_strings(self, source: str, asked: list[dict[str, Any]]) -> list[Any]:
        """For each of ``asked`` ({class, options}) the key and partition path of each row of a Parquet
        file, ``[text, error]`` each; one text, the error, where there can't be such a generator.

        Rows become Avro records by the converter of Spark Hudi's writer, in the file's order.
        """
        jvm: Any = self.spark.sparkContext._jvm
        frame: Any = self.spark.read.parquet(source).coalesce(1)._jdf
        convert = jvm.org.apache.hudi.AvroConversionUtils.createConverterToAvro(
            frame.schema(), "rows", "hoodie"
        )
        records = [convert.apply(row) for row in frame.collect()]
        return [self._strings(one["class"], one["options"], records) for one in asked]

    def _strings(self, java_class: str, options: dict[str, str], records: list[Any]) -> Any:
        jvm: Any = self.spark.sparkContext._jvm
        properties = jvm.org.apache.hudi.common.config.TypedProperties()
        for key, value in {**options, FACTORY: java_class}.items():
            properties.setProperty(key, value)
        factory = jvm.org.apache.hudi.keygen.factory.HoodieSparkKeyGeneratorFactory
        try:
            made = factory.createKeyGenerator(properties)
        except Py4JJavaError as error:
            return hudi_worker.reason(error)
        asked = (made.getRecordKey, made.getPartitionPath)
        return [[_text(ask, record) for ask in asked] for record in records]


def _text(ask: Callable[[Any], Any], record: Any) -> tuple[str | None, str | None]:
    try:
        found = ask(record)
    except Py4JJavaError as error:
        return None, hudi_worker.reason(error)
    return (None, None) if found is None else (str(found), None)


if __name__ == "__main__":
    # A name of that module, which its main() looks up.
    hudi_worker.Verbs = Verbs  # type: ignore[misc]
    with tempfile.TemporaryDirectory(
        prefix="hudi-worker-", ignore_cleanup_errors=True
    ) as directory:
        hudi_worker.main(directory)

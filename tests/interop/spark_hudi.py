"""Drives real Spark Hudi from tests.

The Hudi bundle wants its own PySpark version, so it runs in a subprocess of another interpreter:
``HOODOO_INTEROP_PYTHON`` (an interpreter with that PySpark) and ``HOODOO_INTEROP_JAR`` (the
bundle; ``HOODOO_INTEROP_JAR_015`` is that of Hudi 0.15).  Start one ``SparkHudi`` per test session: the first
answer takes some ten seconds, later ones about a second.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

WORKER = Path(__file__).with_name("hudi_worker.py")
MARKER = "@@hudi "  # as in hudi_worker.py, which this module cannot import: it needs that PySpark
PYTHON_VARIABLE = "HOODOO_INTEROP_PYTHON"
JAR_VARIABLE = "HOODOO_INTEROP_JAR"
OLD_JAR_VARIABLE = "HOODOO_INTEROP_JAR_015"  # of Hudi 0.15, for tables of version 6
S3_JARS_VARIABLE = "HOODOO_INTEROP_S3"  # a folder of those that Spark Hudi needs for tables on S3
LANCE_JARS_VARIABLE = "HOODOO_INTEROP_LANCE"  # and of those for Lance base files
# Set for the tests' own PySpark; the worker's must find its own home and interpreter.
FOREIGN = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "PYSPARK_PYTHON",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
)


class HudiError(Exception):
    """What Spark Hudi raised; ``trace`` is the worker's whole traceback."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def available() -> bool:
    """Whether the environment names an interpreter and a bundle."""
    python, jar = os.environ.get(PYTHON_VARIABLE), os.environ.get(JAR_VARIABLE)
    return bool(python and jar and Path(python).exists() and Path(jar).exists())


class SparkHudi:
    """One running Spark Hudi; a context manager.

    ``log`` receives Spark's output (default: a temporary file; see ``log_path``).
    """

    def __init__(
        self,
        python: str | None = None,
        jar: str | None = None,
        log: Path | None = None,
        timeout: float = 300.0,
        more_jars: Sequence[Path] = (),
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.timeout = timeout
        if log is None:
            handle, name = tempfile.mkstemp(prefix="spark-hudi-", suffix=".log")
            os.close(handle)
            log = Path(name)
        self.log_path = log
        self._log = log.open("w", encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if k not in FOREIGN}
        python = python or os.environ[PYTHON_VARIABLE]
        environment["PYSPARK_PYTHON"] = python
        environment |= variables or {}
        jar, settings = jar or os.environ[JAR_VARIABLE], dict(settings or {})
        if more_jars:  # large ones, where they are: Spark copies those of spark.jars
            settings["spark.driver.extraClassPath"] = os.pathsep.join([jar, *map(str, more_jars)])
            settings["spark.jars"] = ""
        self._process = subprocess.Popen(
            [python, str(WORKER), jar, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        assert self._process.stdout is not None
        # A thread, so that waiting for an answer can time out.
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True, name="spark-hudi"
        )
        self._listener.start()
        try:
            self.version: str = self._answer()
        except BaseException:
            self.close()
            raise

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """Rows as dictionaries (times ISO text, decimals text, bytes hex)."""
        rows: list[dict[str, Any]] = self._ask("sql", statement=statement)
        return rows

    def call(self, procedure: str) -> list[dict[str, Any]]:
        """``call("show_commits(table => 't')")``: a stored procedure's rows."""
        return self.sql(f"CALL {procedure}")

    def set(self, options: Mapping[str, str]) -> None:
        """Session settings: SQL statements take Hudi's options from there."""
        self._ask("set", options=dict(options))

    def unset(self, keys: Sequence[str]) -> None:
        self._ask("unset", keys=list(keys))

    def write(
        self,
        source: Path | str,
        table: Path | str,
        operation: str,
        options: Mapping[str, str],
        mode: str = "append",
    ) -> None:
        """Write the rows of a parquet file (or directory) to a table.

        ``operation`` is Hudi's: upsert, insert, bulk_insert, delete, insert_overwrite,
        insert_overwrite_table, delete_partition.  ``mode`` overwrite recreates the table.
        """
        self._ask(
            "write",
            source=str(source),
            table=str(table),
            operation=operation,
            options=dict(options),
            mode=mode,
        )

    def read(
        self,
        table: Path | str,
        output: Path | str,
        options: Mapping[str, str] | None = None,
        order_by: Sequence[str] = (),
    ) -> int:
        """Read a table into the parquet directory ``output`` (one file); returns the row count.

        ``options``: ``as.of.instant``, ``hoodie.datasource.query.type`` = incremental with
        ``hoodie.datasource.read.begin.instanttime``, ``hoodie.metadata.enable`` and the like.
        """
        count: int = self._ask(
            "read",
            table=str(table),
            output=str(output),
            options=dict(options or {}),
            order_by=list(order_by),
        )
        return count

    def close(self) -> None:
        """End the worker: its stdin is closed, then it gets time to stop Spark."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(timeout=30)  # its pipe ends with the process
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> SparkHudi:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _listen(self, stdout: TextIO) -> None:
        for line in stdout:
            if line.startswith(MARKER):
                self._answers.put(line[len(MARKER) :])
        self._answers.put(None)

    def _ask(self, verb: str, **args: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"verb": verb, "args": args}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        try:
            line = self._answers.get(timeout=self.timeout)
        except queue.Empty:
            # A late answer would be taken for the next request's.
            self._process.kill()
            raise HudiError(f"no answer in {self.timeout} s; see {self.log_path}") from None
        if line is None:
            raise HudiError(f"the worker has ended; see {self.log_path}")
        message = json.loads(line)
        if "error" in message:
            raise HudiError(message["error"], message.get("trace", ""))
        return message["ok"]

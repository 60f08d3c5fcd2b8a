"""What is said of Spark jobs that fail."""

from __future__ import annotations

import pytest
from hoodoo.errors import EngineError
from hoodoo_spark.failures import failure

_CALL = "An error occurred while calling o131.collectToPython.\n"
_ABORTED = "org.apache.spark.SparkException: Job aborted due to stage failure: "


@pytest.mark.parametrize(
    ("text", "says", "fix"),
    [
        (
            f"{_CALL}: {_ABORTED}Total size of serialized results of 3 tasks (1100.0 MiB) is bigger than "
            "spark.driver.maxResultSize (1024.0 MiB)\n\tat org.apache.spark.X.y(X.scala:1)",
            "what its tasks hand to the driver is 1100.0 MiB, and spark.driver.maxResultSize is 1024.0 MiB",
            "spark.driver.maxResultSize",
        ),
        (f"{_CALL}: java.lang.OutOfMemoryError: Java heap space", "out of memory", "spark.executor"),
        (f"{_CALL}: java.io.IOException: No space left on device", "disk is full", "spark.local.dir"),
        ("ModuleNotFoundError: No module named 'hoodoo'", "lacks the module hoodoo", "PYSPARK_PYTHON"),
        (f"{_CALL}: {_ABORTED}Python worker exited unexpectedly (crashed)", "without saying why",
         "memoryOverhead"),
        (f"{_CALL}: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
         "was stopped", "session"),
        (f"{_CALL}: {_ABORTED}\nTraceback:\n  File \"x.py\"\nValueError: no such thing\n",
         "failed: ValueError: no such thing", "traceback"),
        (f"{_CALL}: org.apache.spark.sql.AnalysisException: cannot resolve\n\tat a.b(C.java:1)",
         "failed: org.apache.spark.sql.AnalysisException: cannot resolve", "traceback"),
    ],
)  # fmt: skip
def test_fault_c_a_failed_job_is_a_sentence(text: str, says: str, fix: str) -> None:
    found = failure(RuntimeError(text))
    assert isinstance(found, EngineError)
    assert says in found.rule and fix in found.fix
    assert "o131" not in str(found) and "\n" not in str(found)

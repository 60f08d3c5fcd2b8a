"""Failures: what a Spark job that failed is said to have failed of, and what to do about it.

The exception of Spark, with the traces of Python and Java, is the cause of the error raised.
"""

from __future__ import annotations

import re
from typing import Any

from hoodoo.errors import EngineError

_OBJ = "Spark job"
_TRACE = "The exception that this one was raised from has the worker's traceback."
# (what its text holds, the rule, the fix); groups are filled in. The first one that is found
# counts.
_KNOWN = tuple(
    (re.compile(pattern, re.DOTALL), rule, fix)
    for pattern, rule, fix in (
        (
            r"Total size of serialized results of \d+ tasks \((?P<had>[^)]*)\).{0,40}"
            r"spark\.driver\.maxResultSize \((?P<most>[^)]*)\)",
            "what its tasks hand to the driver is {had}, and spark.driver.maxResultSize is {most}.",
            'Raise it where the session is made, .config("spark.driver.maxResultSize", "4g"), and '
            "spark.driver.memory with it; or write fewer partitions and files at once.",
        ),
        (
            r"Java heap space|GC overhead limit exceeded|java\.lang\.OutOfMemoryError",
            "Java ran out of memory.",
            "Give more to spark.executor.memory, or to spark.driver.memory, before Spark starts.",
        ),
        (
            r"No space left on device",
            "a disk is full.",
            "Free space where the table is and in spark.local.dir, and repeat; nothing was "
            "published.",
        ),
        (
            r"ModuleNotFoundError: No module named '(?P<module>[^']*)'",
            "the workers' Python lacks the module {module}.",
            "Install it there in the version of the driver; PYSPARK_PYTHON says which Python that "
            "is.",
        ),
        (
            r"Python worker exited unexpectedly|Python worker .{0,40}crashed",
            "a Python worker ended without saying why, often because the system ran out of memory.",
            "Give more to spark.executor.memoryOverhead, or fewer cores to each executor.",
        ),
        (
            r"SparkContext (?:was|has been) shut ?down|stopped SparkContext",
            "Spark was stopped while it ran.",
            "Make a session again, and repeat; the next write undoes what is left of this one.",
        ),
        (
            r"Job \d+ cancelled|cancelled part of cancelled job group",
            "it was cancelled.",
            "Repeat it; the next write undoes what is left of this one.",
        ),
        (
            r"ExecutorLostFailure|Remote RPC client disassociated",
            "executors were lost too often, usually because of their memory.",
            "Give more to spark.executor.memory and spark.executor.memoryOverhead.",
        ),
    )
)


def failure(error: Exception) -> EngineError:
    """The one error of a Spark job that failed for a reason of its own."""
    text = f"{_text(error)}\n{error}"
    for pattern, rule, fix in _KNOWN:
        found = pattern.search(text)
        if found is not None:
            return EngineError(_OBJ, rule.format(**found.groupdict()), fix)
    return EngineError(_OBJ, f"failed: {_cause(text) or type(error).__name__}", _TRACE)


def _cause(text: str) -> str:
    """The line that says most: Python's own last one, or what Java was raised from."""
    lines = [line.strip() for line in text.splitlines()]
    raised = [line for line in lines if ": " in line and not line.startswith(("File ", "at "))]
    python = (x for x in reversed(raised) if x.split(":")[0].endswith(("Error", "Exception")))
    java = (
        line.removeprefix("Caused by").lstrip(": ")
        for line in reversed(raised)
        if re.match(r"(Caused by)?: ?[\w.$]+(Error|Exception): ", line)
    )
    return next(python, "") or next(java, "") or next(iter(filter(None, lines)), "")


def _text(error: Any) -> str:
    found = getattr(error, "desc", None) or getattr(error, "_desc", None)
    return str(found or error)

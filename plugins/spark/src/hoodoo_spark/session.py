"""The SparkSession: the user's, or one that Hoodoo starts where there is none."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from hoodoo.errors import EngineError
from hoodoo.storage.api import Storage, is_shared

OLDEST = (3, 5)


def find() -> Any:
    """The active session; else the one of the running SparkContext; else a new local one.

    Raises EngineError where PySpark is missing or older than 3.5, or Java is missing.
    """
    check_pyspark()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        return session
    if SparkContext._active_spark_context is not None:
        # No options: getOrCreate would set them on a session that belongs to the user.
        return SparkSession.builder.getOrCreate()
    return start()


def check_pyspark() -> None:
    """Raise EngineError unless PySpark, pandas and their versions allow the engine to run."""
    try:
        import pyspark
    except ImportError as error:
        raise EngineError(
            "PySpark", "can't be imported.", 'Install it: pip install "hoodoo[spark]".'
        ) from error
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < OLDEST:
        raise EngineError(
            f"PySpark {pyspark.__version__}",
            "is too old: 3.5 is the oldest that works.",
            "Install a newer one, of the version of the cluster.",
        )
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise EngineError(
            "pandas",
            "can't be imported, and PySpark's mapInArrow needs it.",
            'Install it: pip install "hoodoo[spark]".',
        ) from error


def refuse_unshared(storage: Storage) -> None:
    """Raise EngineError for a store that only its own process sees: workers would find it empty."""
    if not is_shared(storage):
        raise EngineError(
            f"storage {storage.root}",
            "is seen by the process alone that made it, and Spark's workers are others.",
            'Use the local engine (engine="local"), or a store that all processes share.',
        )


def is_connect(owner: Any) -> bool:
    """Whether a session, or a DataFrame, is one of Spark Connect: there is no ``sparkContext``."""
    return ".connect." in type(owner).__module__


def functions(spark: Any) -> Any:
    """The functions of columns for the session: a process may have sessions of both kinds."""
    if is_connect(spark):
        from pyspark.sql.connect import functions as found
    else:
        from pyspark.sql import functions as found
    return found


def past_views(spark: Any, query: str) -> Any:
    """The DataFrame of a query. Not by the session's own ``sql``, which makes views of
    :mod:`hoodoo_spark.views` anew: one of them may be what asks."""
    return type(spark).sql(spark, query)


def parallelism(spark: Any) -> int:
    """How many tasks the session's cluster runs at once."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    found = _parallelism.get(spark.session_id)
    if found is None:  # a range has as many partitions
        count = (
            "SELECT count(DISTINCT n) FROM (SELECT spark_partition_id() AS n FROM range(100000))"
        )
        found = _parallelism[spark.session_id] = int(past_views(spark, count).first()[0])
    return found


_parallelism: dict[str, int] = {}


def application(spark: Any) -> str:
    """What tells the workers of the session from those of others."""
    return str(spark.session_id if is_connect(spark) else spark.sparkContext.applicationId)


def start() -> Any:
    """A new session ``local[*]``. Only sessions started here get settings from Hoodoo."""
    if os.environ.get("SPARK_REMOTE"):  # a server's, which has the Java
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        raise EngineError(
            "Java",
            f"was not found ({java}): Spark runs in a Java virtual machine.",
            "Install a JDK (17 or 21) and put java on the PATH or set JAVA_HOME to its folder; "
            'or use engine="local", which needs none.',
        )
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.appName("hoodoo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if not os.environ.get("SPARK_MASTER") and not os.environ.get("MASTER"):
        builder = builder.master("local[*]")
    # The workers of a local session are like the driver. PySpark reads the variable, not the
    # setting.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            "Spark",
            f"did not start: {str(error).strip().splitlines()[0] if str(error) else error!r}",
            "Check that this version of Spark supports the Java found "
            f"({java}), or start the session yourself.",
        ) from error

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
        check_classic(session, "the active session")
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


def check_classic(owner: Any, what: str) -> None:
    """Raise EngineError for objects of Spark Connect."""
    if ".connect." in type(owner).__module__:
        raise EngineError(
            what,
            "belongs to Spark Connect, whose client has no access to tasks and broadcasts.",
            "Use a classic session: SparkSession.builder.master(...) without a remote.",
        )


def start() -> Any:
    """A new session ``local[*]``. Only sessions started here get settings from Hoodoo."""
    if os.environ.get("SPARK_REMOTE"):
        raise EngineError(
            "SPARK_REMOTE", "is set, and Spark Connect is not supported.", "Unset it."
        )
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
    # The workers of a local session are like the driver. PySpark reads the variable, not the setting.
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

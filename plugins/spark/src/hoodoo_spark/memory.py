"""How much memory a Python task of an executor may take, and a result of all tasks, by the settings
of the session."""

from __future__ import annotations

from typing import Any

from hoodoo.hookspecs.engine import memory_share
from hoodoo.options import Number, Size, Whole
from hoodoo.options.kinds import BadValueError, Kind

_MIB = 1 << 20
# Spark's own defaults.
_HEAP, _OVERHEAD, _FACTOR = 1024, 384, 0.1


def of_executors(spark: Any) -> int | None:
    """Bytes for each task; None where tasks run on the driver's machine, which no setting of
    executors bounds.

    ``spark.python.worker.memory`` says what a worker takes before it spills. Else it is a part of
    what a task slot has of ``spark.executor.pyspark.memory``, or of
    ``spark.executor.memoryOverhead``, where Python lives otherwise."""
    master = _said(spark, "spark.master") or ""
    if master == "local" or master.startswith("local["):
        return None
    mib: Kind[int] = Size(1, unit="m")
    worker = _value(spark, "spark.python.worker.memory", mib)
    if worker is not None:
        return worker * _MIB
    cores = _value(spark, "spark.executor.cores", Whole(1)) or 1
    slots = max(1, cores // (_value(spark, "spark.task.cpus", Whole(1)) or 1))
    python = _value(spark, "spark.executor.pyspark.memory", mib)
    if python is None:
        python = _value(spark, "spark.executor.memoryOverhead", mib) or _overhead(spark, mib)
    return memory_share(python * _MIB, slots)


def of_driver(spark: Any, held: int) -> int:
    """Bytes of rows that the driver takes from all tasks: an eighth of
    ``spark.driver.maxResultSize``, as what tasks send of them may be a few times as much, and at
    most ``held``: the driver's Python holds them, and what is made of them."""
    most = _value(spark, "spark.driver.maxResultSize", Size())
    return min(most // 8, held) if most else held  # 0: without a limit


def _overhead(spark: Any, mib: Kind[int]) -> int:
    heap = _value(spark, "spark.executor.memory", mib) or _HEAP
    factor = _value(spark, "spark.executor.memoryOverheadFactor", Number(above=0)) or _FACTOR
    return max(_OVERHEAD, int(heap * factor))


def _value(spark: Any, key: str, kind: Kind[Any]) -> Any:
    """What the session says; None where it does not, or nothing that can be read."""
    text = _said(spark, key)
    try:
        return None if text is None else kind.parse(text)
    except BadValueError:
        return None


def _said(spark: Any, key: str) -> str | None:
    try:
        found = spark.conf.get(key, None)
    except Exception:  # a service that shows its own settings only
        return None
    return None if found is None else str(found)

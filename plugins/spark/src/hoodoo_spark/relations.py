"""Relations: the plans of DataFrames that a session of Spark has made of the same files before.

A file of a table never changes, so the next query of an unchanged table takes the plan of the last
one: to make it takes Spark some ten messages and an analysis."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from hoodoo_spark.session import is_connect

MOST_RELATIONS, MOST_FILES = 64, 1000  # the JVM keeps a name for each file
_lock = Lock()
_plans: weakref.WeakKeyDictionary[Any, OrderedDict[Hashable, list[Any]]] = (
    weakref.WeakKeyDictionary()
)


def known(
    spark: Any, key: tuple[Hashable, ...], files: int, make: Callable[[], list[Any] | None]
) -> list[Any] | None:
    """DataFrames of ``make``, or new ones of the plans that it made for the same ``key`` in this
    session. None, which ``make`` may answer, is asked again."""
    if is_connect(spark) or files > MOST_FILES:
        return make()
    with _lock:
        plans = _plans.setdefault(spark, OrderedDict())
        found = plans.get(key)
        if found is not None:
            plans.move_to_end(key)
    if found is not None:
        return [_frame(spark, *one) for one in found]
    frames = make()
    if frames is not None:
        with _lock:
            plans[key] = [(type(frame), frame._jdf) for frame in frames]
            while len(plans) > MOST_RELATIONS:
                plans.popitem(last=False)
    return frames


def _frame(spark: Any, kind: Any, plan: Any) -> Any:
    # Another object each time: who has one may change its class (see scan_frame).
    return kind(plan, spark)

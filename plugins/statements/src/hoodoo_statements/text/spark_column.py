"""A Column of Spark as text: what it means is then computed as any other text."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError


def is_column(value: Any) -> bool:
    """Whether ``value`` is a Column of PySpark, of whichever version."""
    kind = type(value)
    return kind.__name__ == "Column" and kind.__module__.split(".")[0] == "pyspark"


def text_of(column: Any, what: str) -> str:
    """SQL that means what ``column`` does. ConfigError for columns of Spark Connect, and such as call Python."""
    java = getattr(column, "_jc", None)
    if java is None:
        raise ConfigError(
            f"{what} {column}", "is a column of Spark Connect, which has no text.", _INSTEAD
        )
    node = java.node() if "node" in dir(java) else java.expr()
    text = str(node.sql())
    if "PythonUDF" in text or "pythonUDF" in str(node.getClass().getSimpleName()):
        raise ConfigError(f"{what} {column}", "calls a function of Python.", _UDF)
    return text


_INSTEAD = 'Give it as text, such as "fare > 10".'
_UDF = "Compute it in a DataFrame, and merge that: table.merge(df, on=...)."

"""Functions: those that text may call, each in the module of what it works on.

A signature has a letter for each argument: S text, V text that is no other value as text, I int, L
bigint, D double, B boolean, T date, E date and no timestamp, Z timestamp, Q timestamp and no date,
Y binary, N any number, W any whole number, M a number with digits after the point (decimal or
double), C any plain value, of one kind with the other C; X: anything, also nested. In lower case: a
literal of the statement. ``*`` repeats the last one. ``0``: no argument."""

from __future__ import annotations

# Each of these adds its functions.
from hoodoo_statements.spark_sql import numbers, texts, times, values  # noqa: F401
from hoodoo_statements.spark_sql.aggregates import AGGREGATES, WINDOWS
from hoodoo_statements.spark_sql.function import FUNCTIONS, Function

__all__ = ["AGGREGATES", "FUNCTIONS", "WINDOWS", "Function"]

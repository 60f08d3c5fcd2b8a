"""The same predicates, asked by Spark, DuckDB and polars.

For each kind of read: what the engine itself filters out of all rows, and, of Spark, what the scan's own
``where`` leaves when Spark reads it. Many predicates make one job, as a job costs more than it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import predicates as ast
from attrs import evolve, fields
from predicates import Both, Col, IsNull, Not, Predicate, Truth
from read_checks import TALLY, Read, report, three
from render_arrow import arrow
from render_polars import polars
from render_sql import duckdb_sql, spark_sql

# Plans of more frames than these take Spark longer than two jobs.
_FRAMES = 24


def check_duckdb(read: Read, predicates: Sequence[Predicate]) -> None:
    """The truth of every predicate for every row of the scan's Arrow stream."""
    import duckdb

    scan = read.plan(None, None).to_reader()  # DuckDB finds it by the name of the variable
    asked = ", ".join(duckdb_sql(p) for p in predicates)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.execute(f'SELECT "{read.id}", {asked} FROM scan').fetchall()
    del scan
    _truths(read, predicates, found, "duckdb", duckdb_sql)


def check_polars(read: Read, predicates: Sequence[Predicate]) -> None:
    import polars as pl

    frame = pl.DataFrame(read.plan(None, None))
    asked = [polars(p).alias(f"p{n}") for n, p in enumerate(predicates)]
    # A literal alone is one row.
    found = frame.with_columns(asked).select(read.id, *(f"p{n}" for n in range(len(asked)))).rows()
    _truths(read, predicates, found, "polars", lambda p: str(polars(p)))


def _truths(
    read: Read, predicates: Sequence[Predicate], found: Sequence[Any], engine: str, text: Any
) -> None:
    for n, p in enumerate(predicates, 1):
        there = Counter((row[0], row[n]) for row in found)
        expected = Counter((row[read.id], p.truth(row)) for row in read.rows)
        if there != expected:
            wrong = sorted((there - expected).elements(), key=repr)
            raise AssertionError(report(read, p, f"{engine} says {wrong} of\n{text(p)}"))
        TALLY.add(f"{read.kind}, {engine}", p)


# --- Spark ---------------------------------------------------------------------------------------
def check_spark(read: Read, predicates: Sequence[Predicate], spark: Any) -> None:
    """Each predicate twice, in the scan's ``where`` and as SQL in Spark's: where it is true, and where it is
    false or null, in turn."""
    from pyspark.sql import functions as F

    def frame(n: int, side: str, truth: Any, found: Any) -> Any:
        told = [F.lit(n).alias("n"), F.lit(side).alias("side"), F.lit(str(truth)).alias("truth")]
        return found.select(*told, *_identity(read, F))

    whole = read.plan(None, None).to_spark(spark)
    frames = []
    for n, p in enumerate(predicates):
        for truth, q in _asked(n, p):
            scan = read.plan([read.id], arrow(q))
            frames.append(frame(n, "where of the scan", truth, scan.to_spark(spark)))
            sql = _changed(q) if read.of_changes else spark_sql(q)
            frames.append(frame(n, "where of Spark", truth, whole.where(sql)))
    found: Counter[Any] = Counter()
    for first in range(0, len(frames), _FRAMES):
        some = frames[first : first + _FRAMES]
        union = some[0]
        for more in some[1:]:
            union = union.union(more)
        found.update(_row(read, row) for row in union.collect())
    for n, p in enumerate(predicates):
        for side in ("where of the scan", "where of Spark"):
            for truth, q in _asked(n, p):
                there = {k[3]: c for k, c in found.items() if k[:3] == (n, side, str(truth))}
                _compare(read, p, q, side, there)
            TALLY.add(f"{read.kind}, Spark, {side}", p, 2)


def _asked(n: int, p: Predicate) -> list[tuple[Truth, Predicate]]:
    found = three(p)
    return [found[0], found[1 + n % 2]]


def _compare(read: Read, p: Predicate, q: Predicate, side: str, there: dict[Any, int]) -> None:
    expected = read.expected(q)
    if Counter(there) != expected:
        told = (
            f"Spark, {side}: {_changed(q) if read.of_changes else spark_sql(q)}\n{arrow(q)}\n"
            f"  missing: {sorted((expected - Counter(there)).elements(), key=repr)}\n"
            f"  too many: {sorted((Counter(there) - expected).elements(), key=repr)}"
        )
        raise AssertionError(report(read, p, told))


def check_spark_truths(read: Read, predicates: Sequence[Predicate], spark: Any) -> None:
    """The truth of every predicate for every row, in one job: no filter that could prune."""
    frame = read.plan(None, None).to_spark(spark)
    asked = [f"{spark_sql(p)} AS p{n}" for n, p in enumerate(predicates)]
    found = [tuple(row) for row in frame.selectExpr(read.id, *asked).collect()]
    _truths(read, predicates, found, "Spark", spark_sql)


def _identity(read: Read, F: Any) -> list[Any]:
    if not read.of_changes:
        return [F.col(read.id)]
    return [F.col("op"), F.col("instant"), F.col(f"before.{read.id}"), F.col(f"after.{read.id}")]


def _row(read: Read, row: Any) -> tuple[Any, ...]:
    rest = tuple(row)
    return (*rest[:3], rest[3:] if read.of_changes else rest[3])


def _changed(p: Predicate) -> str:
    """True where an image is there and matches."""
    sides = []
    for side in ("before", "after"):
        there = Not(IsNull(Col((side,), "struct")))
        sides.append(f"coalesce({spark_sql(Both('and', there, below(p, side)))}, FALSE)")
    return f"({sides[0]} OR {sides[1]})"


def below(p: Any, side: str) -> Any:
    """``p``, of the fields of the struct ``side``."""
    if isinstance(p, Col):
        return evolve(p, path=(side, *p.path))
    changed = {
        f.name: below(value, side)
        for f in fields(type(p))
        if isinstance(value := getattr(p, f.name), ast.Term | ast.Predicate)
    }
    return evolve(p, **changed) if changed else p

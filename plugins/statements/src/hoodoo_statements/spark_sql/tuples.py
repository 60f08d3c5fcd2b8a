"""Tuples: rows of values that are compared with each other, as Spark compares structs."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo_statements.spark_sql.kinds import BOOLEAN, Made

_EQUAL = {"=": False, "IS NOT DISTINCT FROM": False, "<>": True, "IS DISTINCT FROM": True}


def any_of(parts: Sequence[Made]) -> Made:
    """Whether one of ``parts`` is true."""
    raises = any(part.raises for part in parts)
    return Made(f"({' OR '.join(part.sql for part in parts)})", BOOLEAN, raises)


def tuples_compared(sign: str, pairs: Sequence[tuple[Made, Made]]) -> Made:
    """The comparison of two tuples, place by place: ``pairs`` has the two values of each place, as
    one type.

    Within a tuple, NULL is a value as others: it is equal to NULL, and less than all else. So a
    comparison of tuples is true or false and never NULL."""
    raises = any(value.raises for pair in pairs for value in pair)
    if sign in _EQUAL:
        equal = " AND ".join(f"{a.sql} IS NOT DISTINCT FROM {b.sql}" for a, b in pairs)
        return Made(f"(NOT ({equal}))" if _EQUAL[sign] else f"({equal})", BOOLEAN, raises)
    least = "a" if sign[0] == "<" else "b"
    whens = " ".join(
        f"WHEN {a.sql} IS DISTINCT FROM {b.sql} "
        f"THEN coalesce({a.sql} {sign[0]} {b.sql}, {(a if least == 'a' else b).sql} IS NULL)"
        for a, b in pairs
    )
    return Made(f"(CASE {whens} ELSE {str(sign.endswith('=')).upper()} END)", BOOLEAN, raises)

"""A predicate as SQL text, for Spark and for DuckDB.

Texts and bytes are written as hexadecimal digits, so that no rule of quoting comes between.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import predicates as ast
from random_tables import is_float

_OPS = {"==": "=", "!=": "<>"}


def spark_sql(p: ast.Predicate) -> str:
    return _Spark().text(p)


def duckdb_sql(p: ast.Predicate) -> str:
    return _DuckDB().text(p)


class _Sql:
    def text(self, p: ast.Predicate) -> str:
        if isinstance(p, ast.Compare):
            return self._compare(p)
        if isinstance(p, ast.In):
            return self._in(p)
        if isinstance(p, ast.IsNull):
            return f"({self.term(p.term)} IS NULL)"
        if isinstance(p, ast.IsNan):
            term = self.term(p.term)
            return f"(CASE WHEN {term} IS NULL THEN NULL ELSE isnan({term}) END)"
        if isinstance(p, ast.Text):
            return self.matches(p)
        if isinstance(p, ast.Flag):
            return self.term(p.term)
        if isinstance(p, ast.Constant):
            return "CAST(NULL AS BOOLEAN)" if p.value is None else str(p.value).upper()
        if isinstance(p, ast.Both):
            a, b = self.text(p.a), self.text(p.b)
            return f"({a} <> {b})" if p.how == "xor" else f"({a} {p.how.upper()} {b})"
        if isinstance(p, ast.Not):
            return f"(NOT {self.text(p.a)})"
        if isinstance(p, ast.Unknown):
            return f"({self.text(p.a)} IS NULL)"
        when, a, b = (self.text(x) for x in (p.when, p.a, p.b))
        return f"(CASE WHEN {when} THEN {a} WHEN NOT {when} THEN {b} END)"

    def _compare(self, p: ast.Compare) -> str:
        a, op = self.term(p.term), _OPS.get(p.op, p.op)
        other = isinstance(p.other, ast.Term)
        b = self.term(p.other) if other else self.literal(p.other, p.term.kind)
        if not is_float(p.term.kind) and not (other and is_float(p.other.kind)):
            return f"({a} {op} {b})"
        # NaN is not equal to anything, and otherwise no comparison with it is true.
        if ast.is_nan(p.other):
            return f"(CASE WHEN {a} IS NOT NULL THEN {p.op == '!='} END)"
        if other:
            nans = " OR ".join(f"isnan({t})" for t, k in ((a, p.term.kind), (b, p.other.kind)) if is_float(k))  # fmt: skip
            return (
                f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL "
                f"WHEN {nans} THEN {p.op == '!='} ELSE {a} {op} {b} END)"
            )
        # No literal is NaN here, so that for both only the greater ones differ; of null all are null.
        plain = f"({a} {op} {b})"
        greater = p.op in (">", ">=") and p.other is not None
        return f"({plain} AND NOT isnan({a}))" if greater else plain

    def _in(self, p: ast.In) -> str:
        a = self.term(p.term)
        values = [self.literal(v, p.term.kind) for v in p.values if v is not None]
        found = f"coalesce({a} IN ({', '.join(values)}), FALSE)" if values else "FALSE"
        return f"({found} OR {a} IS NULL)" if None in p.values else found

    def term(self, term: ast.Term) -> str:
        if isinstance(term, ast.Length):
            return self.length(term)
        if isinstance(term, ast.Coalesce):
            return f"coalesce({self.term(term.of)}, {self.literal(term.default, term.kind)})"
        return ".".join(self.name(part) for part in term.path)

    def literal(self, value: Any, kind: str) -> str:
        if value is None:
            return f"CAST(NULL AS {self.kind(kind)})"
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, int):
            return f"CAST('{value}' AS BIGINT)"
        if isinstance(value, float):
            return f"CAST('{value!r}' AS DOUBLE)"
        if isinstance(value, decimal.Decimal):
            fits = kind != "decimal" or (abs(value) < 10**8 and value == round(value, 2))
            return f"CAST('{value:f}' AS {self.kind('decimal' if fits and kind == 'decimal' else 'long decimal')})"
        if isinstance(value, dt.datetime):
            name = self.local if value.tzinfo is None else self.zoned
            return f"TIMESTAMP{name}'{value.isoformat(sep=' ')}'"
        if isinstance(value, dt.date):
            return f"DATE'{value.isoformat()}'"
        return self.bytes(value) if isinstance(value, bytes) else self.string(value)

    # --- what differs -----------------------------------------------------------------------------
    zoned, local = "", "_NTZ"

    def name(self, part: str) -> str:
        raise NotImplementedError

    def kind(self, kind: str) -> str:
        raise NotImplementedError

    def length(self, term: ast.Length) -> str:
        raise NotImplementedError

    def bytes(self, value: bytes) -> str:
        raise NotImplementedError

    def string(self, value: str) -> str:
        raise NotImplementedError

    def matches(self, p: ast.Text) -> str:
        raise NotImplementedError


class _Spark(_Sql):
    def name(self, part: str) -> str:
        return f"`{part}`"

    def kind(self, kind: str) -> str:
        return {
            "int32": "INT", "int64": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE", "text": "STRING",
            "bytes": "BINARY", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "local": "TIMESTAMP_NTZ",
            "decimal": "DECIMAL(10,2)", "long decimal": "DECIMAL(38,10)",
        }[kind]  # fmt: skip

    def length(self, term: ast.Length) -> str:
        a = self.term(term.of)
        if term.of.kind == "text":
            return f"char_length({a})"
        return f"(CASE WHEN {a} IS NOT NULL THEN size({a}) END)"

    def bytes(self, value: bytes) -> str:
        return f"X'{value.hex()}'"

    def string(self, value: str) -> str:
        if value.isascii() and value.isprintable() and not set(value) & set("'\\"):
            return f"'{value}'"  # so that Spark pushes it down into its own reader
        return f"decode(X'{value.encode().hex()}', 'UTF-8')"

    def matches(self, p: ast.Text) -> str:
        name = {"starts": "startswith", "ends": "endswith", "contains": "contains"}.get(p.how)
        a, text = self.term(p.term), self.string(p.text)
        return f"{name}({a}, {text})" if name else f"({a} LIKE {text})"


class _DuckDB(_Sql):
    zoned, local = "TZ", ""

    def name(self, part: str) -> str:
        return f'"{part}"'

    def kind(self, kind: str) -> str:
        return {
            "int32": "INTEGER", "int64": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE",
            "text": "VARCHAR", "bytes": "BLOB", "bool": "BOOLEAN", "date": "DATE",
            "timestamp": "TIMESTAMPTZ", "local": "TIMESTAMP", "decimal": "DECIMAL(10,2)", "long decimal": "DECIMAL(38,10)",
        }[kind]  # fmt: skip

    def term(self, term: ast.Term) -> str:
        if isinstance(term, ast.Col) and len(term.path) > 1:
            return f"({super().term(term)})"
        return super().term(term)

    def length(self, term: ast.Length) -> str:
        return f"len({self.term(term.of)})"

    def bytes(self, value: bytes) -> str:
        return f"unhex('{value.hex()}')"

    def string(self, value: str) -> str:
        return f"decode(unhex('{value.encode().hex()}'))"

    def matches(self, p: ast.Text) -> str:
        name = {"starts": "starts_with", "ends": "ends_with", "contains": "contains"}.get(p.how)
        a, text = self.term(p.term), self.string(p.text)
        return f"{name}({a}, {text})" if name else f"({a} LIKE {text} ESCAPE '\\')"

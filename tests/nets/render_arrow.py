"""A predicate as a pyarrow expression: what ``where=`` takes."""

from __future__ import annotations

from typing import Any

import predicates as ast
import pyarrow as pa
import pyarrow.compute as pc
from random_tables import KINDS

_TEXT = {
    "starts": pc.starts_with, "ends": pc.ends_with, "contains": pc.match_substring,
    "like": pc.match_like,
}  # fmt: skip
_COMPARE = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def arrow(p: ast.Predicate) -> pc.Expression:
    if isinstance(p, ast.Compare):
        return _COMPARE[p.op](_term(p.term), _other(p))
    if isinstance(p, ast.In):
        return _term(p.term).isin(pa.array(list(p.values), KINDS[p.term.kind]))
    if isinstance(p, ast.IsNull):
        return _term(p.term).is_null()
    if isinstance(p, ast.IsNan):
        return _term(p.term).is_nan()
    if isinstance(p, ast.Text):
        return _TEXT[p.how](_term(p.term), p.text)
    if isinstance(p, ast.Flag):
        return _term(p.term)
    if isinstance(p, ast.Constant):
        return pc.scalar(pa.scalar(p.value, pa.bool_()))
    if isinstance(p, ast.Both):
        a, b = arrow(p.a), arrow(p.b)
        return pc.xor(a, b) if p.how == "xor" else (a & b if p.how == "and" else a | b)
    if isinstance(p, ast.Not):
        return ~arrow(p.a)
    if isinstance(p, ast.Unknown):
        return arrow(p.a).is_null()
    return pc.if_else(arrow(p.when), arrow(p.a), arrow(p.b))


def _other(p: ast.Compare) -> Any:
    if isinstance(p.other, ast.Term):
        return _term(p.other)
    kind = KINDS[p.term.kind]
    if p.other is None:
        return pa.scalar(None, kind)
    if isinstance(p.other, float) or pa.types.is_decimal(kind):
        return p.other  # as a user writes it: Arrow finds the type in which both compare
    return pa.scalar(p.other, kind) if not pa.types.is_integer(kind) else p.other


def _term(term: ast.Term) -> pc.Expression:
    if isinstance(term, ast.Length):
        kind = KINDS[term.of.kind]
        size = pc.utf8_length if pa.types.is_string(kind) else pc.list_value_length
        return size(_term(term.of))
    if isinstance(term, ast.Coalesce):
        return pc.coalesce(_term(term.of), pa.scalar(term.default, KINDS[term.kind]))
    return pc.field(*term.path)

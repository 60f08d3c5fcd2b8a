"""``hudi_vector_search(...)`` in the FROM of a query, with the arguments of Spark Hudi. The search
itself is a method of tables, which hoodoo-vectors brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from sqlglot import exp

FUNCTION = "hudi_vector_search"
DISTANCE = "_hudi_distance"
_META = "vector_search"  # of the node of a table, in the place of the call
_FIX = f"Write {FUNCTION}('table', 'column', ARRAY(0.1, 0.7), 10, 'cosine')."


@frozen
class VectorSearch:
    """The arguments of a call but the name of the table."""

    column: str
    vector: list[float]
    k: int
    metric: str = "cosine"
    where: str | None = None
    max_distance: float | None = None

    def rows(self, table: Any, columns: Sequence[str]) -> pa.Table:
        """The nearest rows of ``table`` with ``columns``, without that of the vectors, and the
        distance."""
        if not isinstance(table, Table):
            raise ConfigError(
                f"{FUNCTION}(...)",
                "searches in tables of Hoodoo only, not in other rows.",
                "Name a table of Hoodoo there: hoodoo.open(path).",
            )
        wanted = [name for name in columns if name != self.column]
        found = table.search(self.column, self.vector, self.k, self.metric, self.where, wanted)
        found = found.rename_columns([*wanted, DISTANCE])
        if self.max_distance is not None:
            found = found.filter(pc.less_equal(found[DISTANCE], self.max_distance))
        return found


def without_calls(tree: Any) -> Any:
    """``tree`` with the name of a table in the place of each call, which :func:`search_of` gives.
    Raises ConfigError for arguments that are none."""
    for node in list(tree.find_all(exp.Table)):
        call = node.this
        if isinstance(call, exp.Anonymous) and call.name.lower() == FUNCTION:
            name, search = _arguments(call)
            place = exp.to_table(name) if "/" not in name else _at_path(name)
            for key in ("this", "db", "catalog"):
                node.set(key, place.args.get(key))
            node.meta[_META] = search
    return tree


def search_of(node: Any) -> VectorSearch | None:
    """The call whose place ``node`` has; None for the name of a table."""
    found: VectorSearch | None = node.meta.get(_META)
    return found


def _at_path(path: str) -> Any:
    return exp.Table(this=exp.to_identifier(path, quoted=True), db=exp.to_identifier("hudi"))


def _arguments(call: Any) -> tuple[str, VectorSearch]:
    given = call.expressions
    if not 4 <= len(given) <= 8:
        raise ConfigError(f"{FUNCTION}(...)", f"takes 4 to 8 arguments, not {len(given)}.", _FIX)
    given = [*given, *[None] * (8 - len(given))]
    name, column = _text("table", given[0]), _text("column", given[1])
    listed = given[2].this if isinstance(given[2], exp.Cast) else given[2]
    is_list = isinstance(listed, exp.Array) or listed.name.lower() == "array"
    vector = [_number("vector", one) for one in listed.expressions] if is_list else []
    k = _number("k", given[3])
    metric = _text("metric", given[4], "cosine").lower()
    algorithm = _text("algorithm", given[5], "brute_force").lower()
    where, most = _text("filter", given[6], ""), given[7]
    if not vector or k != int(k):
        raise ConfigError(f"{call.sql('spark')}", "has arguments of other kinds.", _FIX)
    if algorithm != "brute_force":
        raise ConfigError(
            f"{FUNCTION}(...)", f"has the algorithm {algorithm!r}.", "Use brute_force."
        )
    limit = None if most is None or isinstance(most, exp.Null) else _number("max_distance", most)
    return name, VectorSearch(column, vector, int(k), metric, where.strip() or None, limit)


def _text(name: str, node: Any, default: str | None = None) -> str:
    if default is not None and (node is None or isinstance(node, exp.Null)):
        return default
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise ConfigError(
            f"{FUNCTION}(...)", f"takes a text as {name}, not {node.sql('spark')}.", _FIX
        )
    return str(node.this)


def _number(name: str, node: Any) -> float:
    if isinstance(node, exp.Neg):
        return -_number(name, node.this)
    is_cast = isinstance(node, (exp.Cast, exp.Paren))  # a parameter is a text that is cast
    literal = node.this if is_cast else node
    try:
        if isinstance(literal, exp.Literal) and (is_cast or not literal.is_string):
            return float(literal.this)
        if is_cast:
            return _number(name, literal)
    except ValueError:
        pass
    raise ConfigError(
        f"{FUNCTION}(...)", f"takes numbers as {name}, not {node.sql('spark')}.", _FIX
    )

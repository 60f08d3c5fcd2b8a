"""By query: statements whose conditions or values have queries. A query finds the rows, and the
statement changes those with their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from hoodoo.model.meta import COMMIT_SEQNO, COMMIT_TIME, PARTITION_PATH, RECORD_KEY
from hoodoo.table.table import Table
from sqlglot import exp

from hoodoo_statements.query import Query
from hoodoo_statements.text.scope import FOUND, SOURCE, TARGET


@frozen
class FoundRows:
    """What stands in the place of a condition with a query. ``source``: the rows that the query has
    found, by what they are known by, and values for them. ``on``: which row of the table each of
    them is. ``values``: column -> what it becomes."""

    source: Any
    on: Any
    values: dict[str, Any]


def has_queries(*trees: Any) -> bool:
    """Whether one of ``trees`` has a query in it."""
    return any(tree is not None and tree.find(exp.Query) is not None for tree in trees)


def found_rows(
    node: Any, table: Table, where: Any, values: Mapping[str, Any], query: Query
) -> FoundRows:
    """The rows of ``table``, called as ``node`` says, of which ``where`` is true. ``values``:
    column -> expression; what has a query is computed by ``query``, too. Raises what the query
    raises."""
    known = _known_by(table)
    columns = [exp.alias_(exp.column(name), f"{FOUND}{n}") for n, name in enumerate(known)]
    becomes = dict(values)
    for name, value in values.items():
        if has_queries(value):
            called = f"{FOUND}{len(columns)}"
            columns.append(exp.Alias(this=value.copy(), alias=exp.to_identifier(called)))
            becomes[name] = exp.column(called, table=SOURCE)
    asked = exp.select(*columns, dialect="spark").from_(node.copy())
    if where is not None:
        asked = asked.where(where.copy())
    if not has_queries(*values.values()):
        asked = asked.distinct()  # a key may have several rows
    plain = known if len(known) == 1 else (RECORD_KEY, PARTITION_PATH, COMMIT_TIME)
    pairs = [
        (exp.EQ if name in plain else exp.NullSafeEQ)(
            this=exp.column(name, table=TARGET),
            expression=exp.column(f"{FOUND}{n}", table=SOURCE),
        )
        for n, name in enumerate(known)
    ]
    return FoundRows(query.run(asked), exp.and_(*pairs), becomes)


def _known_by(table: Table) -> tuple[str, ...]:
    """What a row is known by. The commit that has written it is one of these: a row that another
    writer changes between the query and the statement is left as that writer has it, as if it had
    come after. Its number within the commit tells rows with the same key apart."""
    if table.config.populate_meta_fields:
        return RECORD_KEY, PARTITION_PATH, COMMIT_TIME, COMMIT_SEQNO
    config = table.config
    return tuple(dict.fromkeys((*config.record_key_fields, *config.partition_fields)))

"""``read_blob(column)`` in the SELECT of a query: the bytes of blobs. The query gives the blobs,
and a method of tables, which hoodoo-blob brings, their bytes: only files of rows of the result are
read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from sqlglot import exp

FUNCTION = "read_blob"


def is_call(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == FUNCTION


def without_blobs(tree: Any) -> dict[str, str]:
    """``tree`` is changed: it gives blobs where it asks for bytes. Their columns in the answer ->
    what they are to be called. Raises ConfigError for calls elsewhere."""
    found: dict[str, str] = {}
    for one in tree.expressions if isinstance(tree, exp.Select) else ():
        call = one.unalias()
        if is_call(call) and len(call.expressions) == 1:
            column = call.expressions[0]
            if isinstance(column, exp.Column):
                name = f"hoodoo_blob_{len(found)}"
                found[name] = one.alias or f"{FUNCTION}({column.name})"
                one.replace(exp.alias_(column.copy(), name))
    wrong = next(filter(is_call, tree.find_all(exp.Anonymous)), None)
    if wrong is not None:
        raise ConfigError(
            f"{wrong.sql('spark')}",
            "is no column of the answer, with a column of blobs in it.",
            "Write SELECT read_blob(column) FROM table, and compute with its bytes after that.",
        )
    return found


def with_bytes(answer: pa.Table, blobs: Mapping[str, str], known: Iterable[Any]) -> pa.Table:
    """The ``answer`` with bytes in the columns ``blobs``. ``known``: what the query reads."""
    tables = [one for one in known if isinstance(one, Table)]
    if blobs and len(tables) != 1:
        raise ConfigError(
            f"{FUNCTION}(...)",
            "is known for queries of one table of Hoodoo: it says which files may be read.",
            "Query the table alone, or call its method read_blob.",
        )
    for name in blobs:
        at = answer.schema.get_field_index(name)
        answer = answer.set_column(at, name, tables[0].blob_bytes(answer.column(at)))
    return answer.rename_columns([blobs.get(name, name) for name in answer.column_names])

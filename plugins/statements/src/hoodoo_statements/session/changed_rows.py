"""``hudi_table_changes('t', 'latest_state', begin, end)`` in a query: an incremental read."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.table.table import Table
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.moments import instant_of

_FUNCTION = "hudi_table_changes"


def with_changed_rows(tree: Any, names: SessionNames) -> dict[str, Any]:
    """The reads that the calls in ``tree`` mean, by the names that stand in their place afterwards.

    Columns are those of the table, with Hudi's meta columns first, as Spark Hudi has them. Raises
    ConfigError for calls of another form, and what ``table.incremental`` raises."""
    found: dict[str, Any] = {}
    for node in list(tree.find_all(exp.Table)):
        if not isinstance(node.this, exp.Anonymous) or str(node.this.this).lower() != _FUNCTION:
            continue
        name = f"{_FUNCTION}_{len(found) + 1}"
        found[name] = _read(node.this.expressions, names)
        node.set("this", exp.to_identifier(name))
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(_FUNCTION)))
    return found


def _read(arguments: list[Any], names: SessionNames) -> Any:
    texts = [str(one.this) for one in arguments if isinstance(one, exp.Literal)]
    if not 3 <= len(arguments) <= 4 or len(texts) < len(arguments):
        raise ConfigError(
            f"call of {_FUNCTION}",
            "takes the name of a table, a type, a begin, and perhaps an end, all as literals.",
            f"Write {_FUNCTION}('t', 'latest_state', 'earliest').",
        )
    name, kind, *times = texts
    if kind.lower() not in ("latest_state", "incremental"):
        raise ConfigError(
            f"{kind!r} of {_FUNCTION}",
            "is not supported here.",
            'Use latest_state; session.table("t").changes(since) has rows before and after.',
        )
    table = _table(name, names)
    since, until = [instant_of(text) for text in (*times, "")[:2]]
    columns = [*META_COLUMNS, *table.schema.names]
    return table.incremental(since, until or None, columns)


def _table(name: str, names: SessionNames) -> Table:
    if "/" in name:
        return open_table(name)
    return names.table(exp.to_table(name, dialect=DIALECT))

"""Parts of statements that are not known here, and what to write in their place."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT

_LEAVE_OUT = "Leave it out; to use other rows, MERGE INTO ... USING them."
_REPLACED = (
    "Write MERGE INTO t USING (SELECT ...) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN "
    "NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND condition THEN DELETE; of "
    "partitions, INSERT OVERWRITE t PARTITION (city = 'oslo') SELECT ..."
)
# By kind of statement and part: what it is called, and what to write in its place.
_OF_PART: dict[tuple[type, str], tuple[str, str]] = {
    (exp.Insert, "where"): ("REPLACE WHERE", _REPLACED),
    (exp.Insert, "using"): ("REPLACE USING", _REPLACED),
    (exp.Delete, "tables"): ("DELETE without FROM", "Write DELETE FROM t WHERE ..."),
    (exp.Update, "from_"): (
        "FROM",
        "Write MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a.",
    ),
}


def refuse_more(tree: Any, *known: str) -> None:
    """A part that is not known is never left out: without the join of ``DELETE FROM t JOIN s``, all
    rows are deleted."""
    parts = [part for part, value in tree.args.items() if value and part not in (*known, "hint")]
    if isinstance(tree, exp.Table) and tree.alias_column_names:
        parts.append("columns after its name")
    if parts:
        what, fix = _OF_PART.get((type(tree), parts[0]), (parts[0].rstrip("_").upper(), _LEAVE_OUT))
        raise ConfigError(
            f"statement {cut(tree.sql(DIALECT))}", f"has {what}, which is not known here.", fix
        )


def cut(text: str) -> str:
    """The text of a statement for an error."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")

"""Makes docs/sql-of-hudi.md from tests/hudi_sql.py: `python -m tests.meta.sql_of_hudi_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hoodoo_statements.session.procedures.call import PROCEDURES
from hoodoo_statements.session.procedures.others import ELSEWHERE

from tests.hudi_sql import GROUPS, OTHER, SAME, Statement

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sql-of-hudi.md"
_HEAD = """# Hudi's SQL, statement by statement

In short: `hoodoo.session(...).sql(text)` takes nearly all statements of Spark Hudi, with the same rows.
[A session of SQL](session.md) says how to begin; search this page for a statement or a procedure.

This page has the statements of Hudi's pages for Spark SQL, in tables of Hoodoo's own, and what
a session does with each. It is generated from `tests/hudi_sql.py`. Tests
run every statement without Spark, and every statement that Spark Hudi 1.2 knows beside it, and
compare the rows.

Statements in the blocks return the same rows as in Spark Hudi. Those in the tables:

| result | meaning |
|---|---|
| works | it works, with these rows; Spark Hudi was not asked |
| differs | it works, and the note says what differs |
| refused | an error that says what to do |

`SELECT *` shows the columns of the table; Spark Hudi puts its five `_hoodie_*` columns before them,
which you can name here, too. Statements that change a table return a row with counts, and Spark
Hudi returns none.
"""
_VERDICTS = {SAME: "same", OTHER: "differs"}
_PROCEDURES = """
## All procedures

`CALL` takes these procedures, with Hudi's arguments, which `CALL help(cmd => 'show_commits')` lists, and the columns of its
answers. A limit counts from the newest. An argument `filter` is a condition on the columns of the answer.

"""
_ELSEWHERE = """
These are refused, with an error that says what to call in their place:

"""


def render() -> str:
    """The text of the page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    for group in GROUPS:
        yield f"\n## {group.title}\n"
        same = [one for one in group.statements if _verdict(one) == "same"]
        if same:
            yield "\n```sql\n" + "".join(_line(one) for one in same) + "```\n"
        others = [one for one in group.statements if one not in same]
        if others:
            yield "\n| statement | result | note |\n|---|---|---|\n"
            yield from (_row(one) for one in others)
    yield _PROCEDURES
    yield ",\n".join(f"`{name}`" for name in PROCEDURES) + ".\n"
    yield _ELSEWHERE
    yield ",\n".join(f"`{name}`" for name in ELSEWHERE) + ".\n"


def _verdict(statement: Statement) -> str:
    if statement.verdict == SAME and statement.spark == "":
        return "works"
    return _VERDICTS.get(statement.verdict, "refused")


def _text(statement: Statement) -> str:
    return statement.text.replace("{place}", "/data")


def _line(statement: Statement) -> str:
    return f"{_text(statement)};{f'  -- {statement.note}' if statement.note else ''}\n"


def _row(statement: Statement) -> str:
    text = _cell(_text(statement))
    return f"| `{text}` | {_verdict(statement)} | {_cell(statement.note)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

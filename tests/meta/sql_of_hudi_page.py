"""Makes docs/sql-of-hudi.md from tests/hudi_sql.py: `python -m tests.meta.sql_of_hudi_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hoodoo_statements.session.procedures.call import PROCEDURES
from hoodoo_statements.session.procedures.others import ELSEWHERE

from tests.hudi_sql import GROUPS, OTHER, SAME, Statement

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sql-of-hudi.md"
_HEAD = """# Hudi's SQL, statement by statement

The statements of Hudi's pages for Spark SQL, in tables of Hoodoo's own, and what a
[session](session.md) does with each: nearly all work. Tests run them without Spark, and beside
Spark Hudi 1.2 those that it knows. Statements in blocks return the same rows there. In the tables,
*differs* means that it works, and the note says what differs; *refused*, that the error says what
to do.

`SELECT *` shows no `_hoodie_*` columns, which you can name. Changes return a row with counts.
"""
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
        same = [one for one in group.statements if one.verdict == SAME]
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
    return "differs" if statement.verdict == OTHER else "refused"


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

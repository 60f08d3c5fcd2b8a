"""Makes the table of docs/spark-source.md: `python -m tests.meta.spark_sql_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.spark_sql import GROUPS, LATER, Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark-source.md"
# What stands before and behind the table.
BEGIN, END = "<!-- statements -->\n", "<!-- end of statements -->\n"
_VERDICTS = {LATER: "refused later"}
# Notes on options, of which the page speaks before.
_SAID_ABOVE = ("an option", "the error names the nearest option")


def render() -> str:
    """The text of the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return before + BEGIN + "".join(_parts()) + END + rest.partition(END)[2]


def _parts() -> Iterator[str]:
    for group in GROUPS:
        yield f"\n| {group.title} | | |\n|---|---|---|\n"
        rows: dict[tuple[str, str], list[str]] = {}
        for case in group.cases:
            verdict = _VERDICTS.get(case.verdict, case.verdict)
            if (verdict == "works" and not case.note) or case.note.startswith(_SAID_ABOVE):
                continue  # as everywhere
            # "likewise": as the row before.
            note = list(rows)[-1][1] if case.note == "likewise" else case.note
            rows.setdefault((verdict, note), []).append(_text(case))
        for (verdict, note), texts in rows.items():
            yield f"| {'<br>'.join(texts)} | {verdict} | {note} |\n"
    yield "\n"


def _text(case: Case) -> str:
    text = case.text.replace("{path}", "/data/t").replace("{new}", "/data/new")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

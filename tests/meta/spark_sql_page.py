"""Makes the table of docs/spark-source.md: `python -m tests.meta.spark_sql_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.spark_sql import GROUPS, LATER, Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark-source.md"
# What stands before and behind the table.
BEGIN, END = "<!-- statements -->\n", "<!-- end of statements -->\n"
_VERDICTS = {LATER: "refused later"}


def render() -> str:
    """The text of the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return before + BEGIN + "".join(_parts()) + END + rest.partition(END)[2]


def _parts() -> Iterator[str]:
    for group in GROUPS:
        yield f"\n| {group.title} | | |\n|---|---|---|\n"
        for case in group.cases:
            if case.note or _VERDICTS.get(case.verdict, case.verdict) != "works":
                yield _row(case)
    yield "\n"


def _row(case: Case) -> str:
    verdict = _VERDICTS.get(case.verdict, case.verdict)
    text = case.text.replace("{path}", "/data/t").replace("{new}", "/data/new")
    text = f"`` {text} ``" if "`" in text else f"`{text}`"
    return f"| {text} | {verdict} | {case.note} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

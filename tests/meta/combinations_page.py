"""Makes docs/combinations.md of tests/property/pair_space.py: `python tests/meta/combinations_page.py`."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "property"))

import pair_space as space  # noqa: E402
from pair_history import STEPS  # noqa: E402

PAGE = _ROOT / "docs" / "combinations.md"
# What the table has a column for.
_ACROSS = ("type", "version", "record keys", "index", "engine")
_SHORT = {
    space.COPY: "copy", space.MERGE: "merge", "partitioned_record_index": "partitioned record",
    "growing_record_index": "growing record", "record_index": "record",
}  # fmt: skip
_HEAD = """# All combinations

Which features, table types, versions, virtual keys, indexes, engines and options go together. This page is made of
`tests/property/pair_space.py`; a test holds it.

*yes*: random histories draw the two together (`tests/property/test_pairwise.py`; on Spark with `HOODOO_TRIALS=more`). Each is
inserts, upserts, deletes, moves to other partition paths, overwrites and dropped partitions, with clusterings,
compactions, cleans, rollbacks, savepoints, restores, archivings, rebuilt and changed indexes and rewritten keys between
them. After each step rows, where all keys lie (`locate`), counts, filters, older states and what came since are compared
with a dictionary, at the end the table's index with all rows (`check_index`), and the table with `verify` and the independent
reader `hudi`. A number: refused, with the [message](#refused) of that number, and its test is `test_what_is_refused_says_why`.
A dash: [not drawn](#not-drawn), with the reason.

`python tests/property/pairwise.py 5000 --processes 2` runs 5,000 histories, 40 of them on Spark, and says how often each pair was
drawn, those of options among themselves, which the table leaves out, too: what was seldom drawn is drawn next, and each
history takes one step for sure. Of options among themselves only what is listed below it is refused.

Not compared by `hudi` 0.5, which reads them wrongly or not at all: `CUSTOM` partitions of version 9; with log files also
two ordering columns, virtual keys with `TIMESTAMP` or `CUSTOM` partitions (also without log files), virtual keys of one column with several partition columns or a concatenator, archived deltacommits, tables of version 6
under a pending compaction, and file groups of log files alone beside a metadata table.
"""


def _numbers() -> dict[int, str]:
    """Of each rule, by its identity, the number of its message."""
    says = list(dict.fromkeys(_message(rule) for rule in _rules()))
    return {id(rule): str(1 + says.index(_message(rule))) for rule in _rules()}


def _rules() -> tuple[space.Refusal, ...]:
    return (*space.REFUSALS, *space.STEP_REFUSALS)


def _message(rule: space.Refusal) -> str:
    return rule.says


def _cell(pair: dict[str, str], step: str = "") -> str:
    numbers = _numbers()
    for rule in _rules():
        if rule.step and rule.step != step:
            continue
        if all(name in pair and pair[name] in values for name, values in rule.where.items()):
            return numbers[id(rule)]
    return "–" if space.why_not({**pair, space.STEP: step}) else "yes"


def _row(label: str, name: str, value: str, step: str = "") -> str:
    found = []
    for across in _ACROSS:
        for other in space.FACTORS[across]:
            pair = {across: other, **({name: value} if name else {})}
            same = across == name
            found.append("" if same else _cell(pair, step))
    return f"| {label} | {' | '.join(found)} |"


def render() -> str:
    columns = [_SHORT.get(v, v) for name in _ACROSS for v in space.FACTORS[name]]
    head = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines = [_HEAD, "## Kinds of tables, and options", "", *head]
    for name, values in space.FACTORS.items():
        lines += [_row(f"{name}: {value}", name, value) for value in values]
    lines += ["", "## What is done to them", "", *head]
    lines += [_row(step, "", "", step) for step in STEPS]
    lines += ["", "Refused with other options:", "", "| | with | |", "|---|---|---|"]
    numbers = _numbers()
    for rule in _rules():
        if len(rule.where) > 1 or rule.step:
            where = "; ".join(f"{name}: {', '.join(v)}" for name, v in rule.where.items())
            lines.append(f"| {rule.step or 'the table'} | {where} | {numbers[id(rule)]} |")
    lines += ["", "## Refused", "", "| | the message has |", "|---|---|"]
    told = {numbers[id(rule)]: _message(rule) for rule in _rules()}
    lines += [f"| {number} | {says} |" for number, says in sorted(told.items(), key=_first)]
    lines += ["", "## Not drawn", "", "| | why |", "|---|---|"]
    for left in space.NOT_DRAWN:
        where = "; ".join(f"{name}: {', '.join(values)}" for name, values in left.where.items())
        lines.append(f"| {where} | {left.why} |")
    return "\n".join(lines) + "\n"


def _first(pair: tuple[str, str]) -> int:
    return int(pair[0])


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

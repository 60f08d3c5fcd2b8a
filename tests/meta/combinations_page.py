"""Makes docs/combinations.md from tests/property/pair_space.py: `python tests/meta/combinations_page.py`."""

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

This page shows which features, table types, table versions, virtual keys, indexes, engines and options work together.
It is generated from `tests/property/pair_space.py`, and a test compares the two.

| cell | meaning |
|---|---|
| ✓ | random histories test the two together |
| a number | the combination is refused with the [message](#refused) of that number; the test is `test_what_is_refused_says_why` |
| – | the combination is [not tested](#not-tested); the reason is given there |

**A history** is a random sequence of operations on one table: inserts, upserts, deletes, moves to other partition
paths, overwrites and deletes of partitions. Between them come clusterings, compactions, cleans, rollbacks, savepoints,
restores, archivings, rebuilds and changes of the index, and rewrites of keys. The test is
`tests/property/test_pairwise.py`. It uses Spark if you set `HOODOO_TRIALS=more`.

**After each step** the test compares the table with a dictionary: the rows, the places of all keys (`locate`), counts,
filters, older states of the table, and the rows that changed. At the end it compares the index with all rows
(`check_index`), and checks the table with `verify` and with the independent reader `hudi`.

**More histories**: `python tests/property/pairwise.py 5000 --processes 2` runs 5,000 histories, 40 of them on Spark. It
prints how often each pair was tested. This includes pairs of two options, which the tables below do not show. Pairs that
were rarely tested come next, and each history contains at least one chosen step. If two options do not work together,
the pair is listed under *Refused with other options*. The newest run (`--seed s2 --spark 90`) had 5,000 histories and no
difference. Each of the 7,400 pairs of values that can be drawn was drawn at least 8 times, and each of the 3,715 pairs of
a step and a value at least 5 times.

**Not compared with `hudi`**: version 0.5 of that package reads some tables wrongly or not at all:

- `CUSTOM` partitions of version 9;
- virtual keys with `TIMESTAMP` or `CUSTOM` partitions;
- with log files: two ordering columns, archived deltacommits, and virtual keys of one column with several partition
  columns or a concatenator;
- tables of version 6 with a pending compaction;
- file groups that have only log files, in a table with a metadata table.
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
    return "–" if space.why_not({**pair, space.STEP: step}) else "✓"


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
    lines += ["", "## Operations", "", *head]
    lines += [_row(step, "", "", step) for step in STEPS]
    lines += ["", "Refused with other options:", "", "| | with | |", "|---|---|---|"]
    numbers = _numbers()
    for rule in _rules():
        if len(rule.where) > 1 or rule.step:
            where = "; ".join(f"{name}: {', '.join(v)}" for name, v in rule.where.items())
            lines.append(f"| {rule.step or 'the table'} | {where} | {numbers[id(rule)]} |")
    lines += ["", "## Refused", "", "| | part of the message |", "|---|---|"]
    found = {numbers[id(rule)]: _message(rule) for rule in _rules()}
    lines += [f"| {number} | {says} |" for number, says in sorted(found.items(), key=_first)]
    lines += ["", "## Not tested", "", "| | why |", "|---|---|"]
    for left in space.NOT_DRAWN:
        where = "; ".join(f"{name}: {', '.join(values)}" for name, values in left.where.items())
        lines.append(f"| {where} | {left.why} |")
    return "\n".join(lines) + "\n"


def _first(pair: tuple[str, str]) -> int:
    return int(pair[0])


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

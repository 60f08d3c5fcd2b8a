"""Makes tests/combinations.md from tests/property/pair_space.py: `python tests/meta/combinations_page.py`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "property"))

import pair_space as space  # noqa: E402
from pair_history import STEPS  # noqa: E402

PAGE = _ROOT / "tests" / "combinations.md"
_HEAD = """# All combinations

Each value of each option below works with each value of all others, and with each operation. The exceptions are in two
tables: what is [refused](#refused), with the message, and what is [not tested](#not-tested), with the reason. This page
is made from `tests/property/pair_space.py`, and a test compares the two.

**Works** means: random histories test the two together (`tests/property/test_pairwise.py`). A history is a random
sequence of operations on one table. After each step, the test compares the table with a dictionary: the rows, the places
of all keys, counts, filters, older states, and the rows that changed. At the end it compares the index with all rows, and
checks the table with `verify` and with the independent reader `hudi`. `HOODOO_TRIALS=more` adds Spark.

**More histories**: `python tests/property/pairwise.py 5000 --processes 2` runs 5,000 histories and prints how often each
pair was drawn. The newest run (`--seed s2 --spark 90`) found no difference. It drew each of the 7,400 pairs of values at
least 8 times, and each of the 3,715 pairs of a step and a value at least 5 times.

The options `columns` and `made by`, and the operation `resize buckets`, are newer than that run. The columns `of Hudi 1.2`
are a time without a zone, two vectors, a blob and a variant. A table `made by` a `bootstrap` begins with rows in Parquet
files of a source, of which `some copied` copies a partition path.

**Not compared with `hudi`**: version 0.5 of that package reads some tables wrongly or not at all:

- `CUSTOM` partitions of version 9;
- virtual keys with `TIMESTAMP` or `CUSTOM` partitions;
- with log files: two ordering columns, archived deltacommits, and virtual keys of one column with several partition
  columns or a concatenator;
- tables of version 6 with a pending compaction;
- file groups that have only log files, in a table with a metadata table;
- columns of the types of Hudi 1.2;
- bootstrapped tables: of a skeleton it reads Hudi's columns alone.
"""


def _numbers() -> dict[int, str]:
    """Of each rule, by its identity, the number of its message."""
    says = list(dict.fromkeys(_message(rule) for rule in _rules()))
    return {id(rule): str(1 + says.index(_message(rule))) for rule in _rules()}


def _rules() -> tuple[space.Refusal, ...]:
    return (*space.REFUSALS, *space.STEP_REFUSALS)


def _message(rule: space.Refusal) -> str:
    return rule.says


def render() -> str:
    lines = [_HEAD, "## Options", "", "| option | values |", "|---|---|"]
    lines += [f"| {name} | {_values(values)} |" for name, values in space.FACTORS.items()]
    lines += ["", "## Operations", "", f"{'; '.join(STEPS)}."]
    lines += ["", "## Refused", "", "The test is `test_what_is_refused_says_why`.", ""]
    lines += ["| operation | with | message |", "|---|---|---|"]
    numbers = _numbers()
    for rule in _rules():
        lines.append(f"| {rule.step or 'any'} | {_where(rule.where)} | {numbers[id(rule)]} |")
    lines += ["", "| message | a part of it |", "|---|---|"]
    found = {numbers[id(rule)]: _message(rule) for rule in _rules()}
    lines += [f"| {number} | {says} |" for number, says in sorted(found.items(), key=_first)]
    lines += ["", "## Not tested", "", "| with | why |", "|---|---|"]
    lines += [f"| {_where(one.where)} | {one.why} |" for one in space.NOT_DRAWN]
    return "\n".join(lines) + "\n"


def _values(values: Sequence[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _where(where: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} {_values(values)}" for name, values in where.items())


def _first(pair: tuple[str, str]) -> int:
    return int(pair[0])


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")

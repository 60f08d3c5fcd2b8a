"""The *Fix* of a message leads out: whoever does what it says gets no error, or another one.

A fix that names an argument or an option, or says to leave one out, is followed by this program; others are for people.
What is created is drawn, so that contradictions of all arguments with each other come up; the wrong values of options are
those of the net of options.
"""

from __future__ import annotations

import inspect
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from followed_fixes import Call, followed, is_same
from hoodoo.errors import HoodooError
from test_bad_options import OPTIONS, WRONG

MORE = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64()), ("day", pa.date32())]
)  # fmt: skip
ROW = {"id": 1, "city": "oslo", "fare": 1.0, "ts": 1, "day": None}
PARAMETERS = frozenset(inspect.signature(hoodoo.create).parameters)
STEPS = 6  # errors after each other at most, until a table is there
_VALUES: dict[str, tuple[Any, ...]] = {
    "record_key": ("id", "id", ["id", "city"], [], "nothing"),
    "partition_by": ((), "city", ["city", "ts"], "day", "day", "nothing"),
    "ordering": ((), "ts", ["ts", "fare"], "nothing"),
    "table_type": ("COPY_ON_WRITE", "MERGE_ON_READ", "mor", "nothing"),
    "table_version": (9, 9, 6, 6, 8, 7),
    "index": (None, "simple", "bloom", "global_simple", "bucket", "record_index", "nothing"),
    "merger": (None, "event_time", "commit_time", "nothing"),
    "key_generator": (None, None, "simple", "complex", "non_partition", "timestamp", "custom", "nothing"),
}  # fmt: skip
_OPTIONS: dict[str, tuple[str, ...]] = {
    "hoodie.recordkey.virtual.enabled": ("true", "true", "false"),
    "hoodie.metadata.enable": ("true", "false"),
    "hoodie.bucket.index.num.buckets": ("3", "0", "many"),
    "hoodie.index.bucket.engine": ("SIMPLE", "CONSISTENT_HASHING"),
    "hoodie.table.cdc.enabled": ("true", "false"),
    "hoodie.datasource.write.hive_style_partitioning": ("true", "false"),
    "hoodie.populate.meta.fields": ("false", "true"),
    "hoodie.write.concurrency.mode": ("optimistic_concurrency_control", "non_blocking_concurrency_control"),
    "hoodie.datasource.insert.dup.policy": ("fail", "ignore"),
}  # fmt: skip


def _made(call: Call, path: Path) -> HoodooError | None:
    try:
        given = {k: v for k, v in call.arguments.items() if v not in (None, ())}
        table = hoodoo.create(str(path), SCHEMA, **given, options=dict(call.options))
        table.insert([ROW])
    except HoodooError as error:
        return error
    return None


def _follow(call: Call, home: Path, tally: Counter[str]) -> str | None:
    """What is wrong: a fix that leads back to a message that was there before."""
    seen: list[str] = []
    for step in range(STEPS):
        path = home / f"t{tally['calls']}"
        tally["calls"] += 1
        error = _made(call, path)
        if error is None:
            tally["out"] += bool(seen)
            return None
        message = (
            f"{str(error.obj).replace(str(path), '')}: {str(error.rule).replace(str(path), '')}"
        )
        if message in seen:
            return f"{call}: after {seen} again {error}"
        ways = [way for way in followed(call, error, PARAMETERS)]
        if not ways:
            tally["for people"] += 1
            return None
        for word, other in ways:
            if is_same(call, other):
                return f"{call}: the fix ({word}) is what was given: {error}"
        seen.append(message)
        tally["followed"] += 1
        call = ways[step % len(ways)][1]
    return f"{call}: {STEPS} errors after each other: {seen}"


@pytest.mark.sampled(1, among="long")
@pytest.mark.filterwarnings("ignore")
def test_of_tables_that_can_not_be_created(tmp_path: Path) -> None:
    draw = random.Random(os.environ["HOODOO_SEED"])
    tally: Counter[str] = Counter()
    wrong = []
    for n in range(1500 if MORE else 80):
        arguments = {k: draw.choice(v) for k, v in _VALUES.items()}
        for key in _VALUES:  # most calls have few faults
            if draw.random() < 0.5:
                arguments[key] = _VALUES[key][0]
        options = {k: draw.choice(v) for k, v in _OPTIONS.items() if draw.random() < 0.25}
        found = _follow(Call(arguments, options), tmp_path / str(n), tally)
        if found:
            wrong.append(found)
    print(dict(tally))
    assert not wrong, "\n\n".join(wrong[:20])
    assert tally["followed"] >= (300 if MORE else 10), tally


@pytest.mark.sampled(1, among="long")
@pytest.mark.filterwarnings("ignore")
def test_of_wrong_values_of_options(tmp_path: Path) -> None:
    """Whoever leaves the option out, or takes what was meant, has no error any more."""
    draw = random.Random(os.environ["HOODOO_SEED"])
    cases = [
        (o.key, value) for o in OPTIONS for value in WRONG.get(type(o.kind), lambda _: [])(o.kind)
    ]
    tally: Counter[str] = Counter()
    wrong = []
    for key, value in cases if MORE else draw.sample(cases, 60):
        call = Call({"record_key": "id", "ordering": "ts"}, {key: value})
        found = _follow(call, tmp_path / f"{tally['calls']}", tally)
        if found:
            wrong.append(found)
    print(dict(tally))
    assert not wrong, "\n\n".join(wrong[:20])
    assert tally["followed"] >= 40, tally


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ({"record_key": "id", "index": "record_index", "table_version": 6}, "true", "table_version=9"),
        ({}, "true", "no key columns"),
        ({"record_key": "id", "key_generator": "timestamp", "partition_by": ["city", "ts"]}, "false", 'key_generator="custom"'),
    ],
)  # fmt: skip
def test_a_fix_is_not_what_was_given(
    tmp_path: Path, arguments: dict[str, Any], options: str, said: str
) -> None:
    """A record index of virtual keys in version 6, virtual keys without key columns, and paths of several columns."""
    call = Call(arguments, {"hoodie.recordkey.virtual.enabled": options})
    error = _made(call, tmp_path / "t")
    assert error is not None and said in str(error)
    assert not any(is_same(call, other) for _, other in followed(call, error, PARAMETERS))

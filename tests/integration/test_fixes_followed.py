"""What users of pandas, Delta Lake and Iceberg try first fails with a fix; and the fix works as it is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
import pyarrow as pa
import pytest
from hoodoo.errors import CallError, HoodooError

FRAME = pd.DataFrame({"id": [1, 2], "v": ["a", "b"]})
Call = Callable[[str], Any]


def write(data: Any = FRAME, **more: Any) -> Call:
    return lambda path: hoodoo.write(path, data, **{"record_key": "id", **more})


def also(data: Any = FRAME, **more: Any) -> Call:
    """A second write."""

    def call(path: str) -> Any:
        write()(path)
        return hoodoo.write(path, data, **more)

    return call


def of_table(name: str, *arguments: Any, **named: Any) -> Call:
    def call(path: str) -> Any:
        write()(path)
        return getattr(hoodoo.open(path), name)(*arguments, **named)

    return call


TWICE = pa.table([[1], ["a"], ["b"]], names=["id", "v", "v"])
# What is tried; what the error says; what it is about; what is done then.
CASES: list[tuple[str, Call, str, str, Call]] = [
    (
        "mode",
        write(mode="append"),
        "table.append(rows)",
        "hoodoo.write(mode=...)",
        of_table("append", FRAME),
    ),
    (
        "if_exists",
        write(if_exists="append"),
        "hoodoo.write(path, rows",
        "hoodoo.write(if_exists=...)",
        also(),
    ),
    (
        "partition_cols",
        write(partition_cols=["v"]),
        "'partition_by'",
        "hoodoo.write",
        write(partition_by=["v"]),
    ),
    (
        "partitionBy",
        write(partitionBy="v"),
        "'partition_by'",
        "hoodoo.write",
        write(partition_by="v"),
    ),
    (
        "schema_mode",
        write(schema_mode="merge"),
        "'add_columns'",
        "hoodoo.write",
        also(FRAME.assign(w=1), add_columns=True),
    ),
    (
        "exist_ok",
        write(exist_ok=True),
        "It is called as hoodoo.write(path, data, *,",
        "hoodoo.write",
        write(),
    ),
    ("no key", write(record_key=None), 'record_key="id"', "hoodoo.write", write()),
    (
        "a key of generated rows",
        write(record_key=None),
        "record_key=()",
        "hoodoo.write",
        write(record_key=()),
    ),
    (
        "extra column",
        also(FRAME.assign(w=1)),
        "add_columns=True in the call",
        "'w'",
        also(FRAME.assign(w=1), add_columns=True),
    ),
    ("twice", write(TWICE), "Rename or drop one of them", "'v'", write(TWICE.select([0, 1]))),
    (
        "no rows",
        write([]),
        "schema.empty_table()",
        "list",
        write(pa.schema([("id", pa.int64())]).empty_table()),
    ),
    ("a series", write(FRAME["id"]), "data.to_frame()", "Series", write(FRAME["id"].to_frame())),
    ("a generator", write(r for r in [{"id": 1}]), "list(data)", "generator", write([{"id": 1}])),
    ("one row", write({"id": 1}), "[row]", "dictionary", write([{"id": 1}])),
    ("version", of_table("read", version=1), "as_of=1", "version", of_table("read", as_of=1)),
    ("read text", of_table("read", "id"), "['id']", "'id'", of_table("read", ["id"])),
    (
        "where by position",
        of_table("delete", "id = 1"),
        "table.delete(where='id = 1')",
        "delete",
        of_table("delete", where="id = 1"),
    ),
    (
        "null column",
        write(FRAME.assign(w=None)),
        "Give it a type",
        "w",
        write(FRAME.assign(w=pd.array([None, None], "Int64"))),
    ),
    (
        "long",
        write(FRAME.assign(w=pd.to_timedelta(["1s", "2s"]))),
        "Cast it to int64",
        "w",
        write(FRAME.assign(w=[1, 2])),
    ),
]


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(
    ("tried", "fix", "about", "then"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_fix_works(tmp_path: Path, tried: Call, fix: str, about: str, then: Call) -> None:
    with pytest.raises(HoodooError) as caught:
        tried(str(tmp_path / "a"))
    assert fix in caught.value.fix and about in caught.value.obj, caught.value
    assert then(str(tmp_path / "b")) is not None


def test_a_sentence_names_no_argument(tmp_path: Path) -> None:
    """It has words such as where."""
    with pytest.raises(CallError) as caught:
        of_table("read", version=1)(str(tmp_path / "t"))
    assert "Did you mean" not in caught.value.fix


def test_columns_that_are_there_twice(tmp_path: Path) -> None:
    with pytest.raises(HoodooError, match="is there twice"):
        write(TWICE)(str(tmp_path / "t"))

"""Bounds of texts that Java's order of strings made: no file is left out that has the value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.model.column_range import ColumnRange
from hoodoo_metadata.pruner import _promises
from hoodoo_rows.read.prune import satisfiable

WIDE, SMILE = "\uff21", "\U0001f600"


def in_java(text: str) -> bytes:
    """What Java compares of a string."""
    return text.encode("utf-16-be")


def left_out(values: list[str], asked: str) -> bool:
    """Whether a file with these values, each in a row group of its own, is left out by ``s = asked``."""
    least, greatest = min(values, key=in_java), max(values, key=in_java)
    known = ColumnRange("s", "file", least, greatest, pa.string(), len(values))
    ranges, schema = {0: known}, pa.schema([("s", pa.string())])
    promises = [promise for _, promise in _promises("s", pa.string(), ranges, None)]
    # A list of values is compared with the range without Arrow's help.
    of_list = [promise for _, promise in _promises("s", pa.string(), ranges, pa.array([asked]))]
    proven = not satisfiable(promises, pc.field("s") == asked, schema)
    assert [one is None for one in of_list] == [proven]
    return proven


@pytest.mark.parametrize(
    "values",
    [
        [SMILE, WIDE],
        ["a", WIDE, SMILE],
        [SMILE, "\ue000b", WIDE, "z"],
        [f"a{SMILE}1", f"a{WIDE}2", f"a{WIDE}{SMILE}"],
        ["", "\uffff", "\U0010ffff"],
    ],
)
def test_no_value_is_left_out(values: list[str]) -> None:
    assert [value for value in values if left_out(values, value)] == []


def test_others_are_left_out() -> None:
    assert left_out(["b", "d"], "a") and left_out(["b", "d"], "e")
    assert left_out([SMILE], WIDE) and left_out([WIDE], SMILE) and left_out([WIDE, SMILE], "a")
    assert left_out([f"b{WIDE}", "c"], "a") and left_out([f"b{WIDE}", f"b{SMILE}"], "c")

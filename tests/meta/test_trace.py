"""A small upsert enters few modules, and its stack is not deep. The limits only go down; 90 modules is where it is
to end."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
ROWS = pa.table({"id": [f"k{i}" for i in range(5)], "ts": [1] * 5, "v": [1.0] * 5}, schema=SCHEMA)
# Of each kind of table: how many modules of ours an upsert of five rows enters, and its deepest frame of ours.
LIMITS = {
    ("simple", "COPY_ON_WRITE"): (138, 18),
    ("simple", "MERGE_ON_READ"): (140, 18),
    ("record_index", "COPY_ON_WRITE"): (198, 27),
}


def _is_ours(frame: FrameType) -> bool:
    return "/src/hoodoo" in frame.f_code.co_filename


class Trace:
    """Entered modules, and the deepest stack of our frames, of all threads."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.deepest: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "call" or not _is_ours(frame):
            return
        self.modules.add(frame.f_code.co_filename)
        stack, at = [], frame
        while at is not None:
            if _is_ours(at):
                stack.append(f"{Path(at.f_code.co_filename).name}:{at.f_code.co_name}")
            at = at.f_back  # type: ignore[assignment]
        if len(stack) > len(self.deepest):
            self.deepest = stack[::-1]

    def __enter__(self) -> Trace:
        self._before = sys.getprofile()
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("index", "table_type"), LIMITS)
def test_an_upsert_goes_neither_deep_nor_wide(tmp_path: Path, index: str, table_type: str) -> None:
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, name="t", record_key="id", ordering="ts", index=index,
        table_type=table_type,
    )  # fmt: skip
    table.upsert(ROWS)
    table.upsert(ROWS)
    with Trace() as trace:
        table.upsert(ROWS)
    modules, frames = LIMITS[index, table_type]
    assert len(trace.deepest) <= frames, " > ".join(trace.deepest)
    assert len(trace.modules) <= modules, sorted(trace.modules)

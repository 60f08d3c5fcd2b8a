"""Times that a table stores in a coarser unit are cut towards the past."""

from __future__ import annotations

import pyarrow as pa
from hoodoo_rows.write.truncate import truncated

US = pa.timestamp("us")


def test_truncated_at_any_depth() -> None:
    ns, us = pa.timestamp("ns"), US
    pairs = [
        (pa.map_(pa.string(), ns), pa.map_(pa.string(), us), [[("a", 1_999)], None, []]),
        (pa.large_list(ns), pa.list_(us), [[1_999, None], None, []]),
        (pa.list_view(ns), pa.list_(us), [[-1], None, [5]]),
        (pa.struct([("x", ns), ("y", pa.int64())]), pa.struct([("x", us)]), [{"x": 1_999, "y": 1}, None, {"x": None, "y": 2}]),
        (pa.timestamp("us"), pa.timestamp("ms"), [1_999, None, -1]),
    ]  # fmt: skip
    for found, kind, values in pairs:
        batch = pa.record_batch({"v": pa.array(values, found), "other": pa.array([1, 2, 3])})
        for start in range(3):  # of slices, too
            cut = truncated(batch.slice(start), pa.schema([("v", kind)]))
            assert (
                cut.num_rows == 3 - start
                and cut["v"].is_valid().to_pylist() == batch["v"].is_valid().to_pylist()[start:]
            )
            cut.validate(full=True)
    one = truncated(pa.record_batch({"v": pa.array([-1, 1_999], ns)}), pa.schema([("v", us)]))["v"]
    assert one.cast(pa.int64()).to_pylist() == [-1_000, 1_000]

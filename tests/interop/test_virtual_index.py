"""Record indexes of virtual keys where Spark Hudi writes, too: it does not know them, and Hoodoo notices."""

from __future__ import annotations

import warnings

import pytest
from both import Both
from hoodoo.errors import HoodooWarning
from model import Model, table
from test_virtual_keys import COW, MOR, RFC, SCHEMA, check, rows

# Each index with both table types and both of what Spark does with the metadata table.
KINDS = [
    ("record_index", COW, True),
    ("record_index", MOR, False),
    ("partitioned_record_index", COW, False),
    ("partitioned_record_index", MOR, True),
    ("growing_record_index", COW, True),
    ("growing_record_index", MOR, False),
]


def by_the_index(both: Both, start: int, ts: int) -> None:
    """Hoodoo writes, and looks for nothing in the files."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", HoodooWarning)
        old = len(both.model.rows)
        some = rows(range(start, start + 12), ts, "hoodoo")
        known = sum(both.model.key(row) in both.model.rows for row in some)
        commit = both.hoodoo().upsert(table(both.model.upsert(some), both.schema))
        assert (commit.updated, commit.inserted) == (known, len(both.model.rows) - old)


@pytest.mark.parametrize(("index", "table_type", "metadata"), KINDS)
def test_spark_writes(both: Both, index: str, table_type: str, metadata: bool) -> None:
    both.setup(
        Model(("id", "region")), SCHEMA, 9, "SIMPLE", metadata, ("region",), table_type=table_type
    )
    both.create(RFC, index=index)
    both.hoodoo_upsert(rows(range(20), 5, "first"))
    by_the_index(both, 4, 6)
    for turn in (7, 10):
        both.spark_upsert(rows(range(0, 30 + turn, 3), turn, "spark"))
        both.spark_delete(rows([5, 9], 0, ""))
        check(both, f"Spark wrote, turn {turn}")
        for ts in (
            turn + 1,
            turn + 2,
        ):  # known to be stale, and what Hoodoo writes does not hide it
            with pytest.warns(HoodooWarning, match="looked for in the files"):
                both.hoodoo().upsert(
                    table(both.model.upsert(rows(range(2, 34, 2), ts, f"{turn} {ts}")), both.schema)
                )
            check(both, f"Hoodoo wrote, turn {turn}")
        both.hoodoo().rebuild_index(index)
        by_the_index(both, 10, turn + 2)
        both.hoodoo_delete(rows([14, 15], 0, ""))
        check(both, f"rebuilt, turn {turn}")
        assert not both.hoodoo().verify().findings
        assert both.hoodoo().compare_indexes(index, "simple").same

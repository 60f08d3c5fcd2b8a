"""One row that the table has, for whoever has to see how its keys were written."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.read.open import read_slice
from hoodoo_rows.read.plan import plan_scan
from hoodoo_rows.read.prefetch import close_items
from hoodoo_rows.read.source import check_readable


def stored_row(source: ReadSource, columns: Sequence[str]) -> pa.RecordBatch | None:
    """The record key and ``columns`` of one row, None if the table has none.

    Opens the smallest base file, and others, those with log files last, only as long as no row is
    found. Raises as :func:`~hoodoo_rows.read.plan.plan_scan`."""
    plan = plan_scan(source, columns=[RECORD_KEY, *columns])
    file_format = check_readable(source)
    for slice_ in sorted(plan.slices, key=lambda s: (bool(s.log_files), s.size)):
        batches = read_slice(source.storage, file_format, plan.spec, slice_, plan.rule)
        try:
            for batch in batches:
                if batch.num_rows:
                    return batch.slice(0, 1)
        finally:
            close_items(batches)
    return None

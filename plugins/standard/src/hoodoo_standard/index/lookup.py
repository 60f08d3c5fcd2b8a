"""A lookup in the base files themselves: what the simple and the bloom indexes share.

The asked keys travel to the file readers as a side table, so stored keys never leave their task.
Above a number of bytes, both sides meet in an exchange instead.
"""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc
from hoodoo.hookspecs.engine import Stream, spread
from hoodoo.hookspecs.index import IndexContext

from hoodoo_standard.index.exchanged import distinct_paths, exchanged
from hoodoo_standard.index.matching import MatchKeys, RowsUnknown, asked_table
from hoodoo_standard.index.plan import KeyReader, base_files, file_tasks
from hoodoo_standard.index.sieve import Sieve


def located(
    keys: Stream,
    context: IndexContext,
    by_partition: bool,
    side_bytes: int,
    sieve: Sieve,
    rows: bool = False,
) -> Stream:
    """Rows of LOCATIONS_SCHEMA for ``keys`` (rows of KEYS_SCHEMA), one for each file group that
    holds the key. ``side_bytes``: more bytes of keys than these are exchanged, and ``sieve`` not
    asked. With ``rows`` as ROWS_SCHEMA, the rows of these files; not known where keys are
    exchanged."""
    engine = context.engine
    meets = context.key_bytes > side_bytes
    if meets or not context.on_driver:
        # Past the driver.
        paths = distinct_paths(keys, context) if by_partition else None
        files = base_files(context, paths)
        if meets:
            found = exchanged(keys, files, context, by_partition)
            return engine.map(found, RowsUnknown()) if rows else found
        side = spread(
            engine, keys, context.workspace, partial(asked_table, by_partition=by_partition)
        )
    else:
        given = engine.collect(keys) if context.keys is None else context.keys
        asked = asked_table(given, by_partition)
        paths = pc.unique(asked.column("partition_path")).to_pylist() if by_partition else None
        files = base_files(context, paths) if asked.num_rows else []
        side = engine.side(asked)
    step = MatchKeys(side, KeyReader.of(context), by_partition, sieve, rows)
    return engine.map(file_tasks(engine, files), step)

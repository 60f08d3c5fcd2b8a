"""Rows of file slices, as record batches."""

from __future__ import annotations

from hoodoo.hookspecs import index

from hoodoo_rows import options
from hoodoo_rows.merge import log_rows as logs
from hoodoo_rows.merge import meet, pairs, positions, rule
from hoodoo_rows.merge import slice as slices
from hoodoo_rows.produce import columns
from hoodoo_rows.read import missing, prefetch, spec
from hoodoo_rows.read import open as opened
from hoodoo_rows.read import rows as results
from hoodoo_rows.write import java_floats, promote, widen


class Batches:
    """Record batches of file slices: ``of_slice`` in the shape of a read, ``merged`` in the columns
    of a :class:`~hoodoo_rows.merge.rule.MergeRule`; ``explained`` is put around who opens files by
    itself. ``in_order`` and ``in_turns`` read several at the same time."""

    of_slice = staticmethod(opened.read_slice)
    merged = staticmethod(slices.merged_rows)
    explained = staticmethod(missing.explained)
    in_order = staticmethod(prefetch.in_order)
    in_turns = staticmethod(prefetch.in_turns)
    let_through = staticmethod(spec.let_through)
    widened = staticmethod(widen.widened)
    promoted = staticmethod(promote.promoted)
    java_floats = staticmethod(java_floats.java_floats)
    # What an index that looks into base files answers to ``locate_rows``.
    ROWS_SCHEMA = index.ROWS_SCHEMA
    one_array = staticmethod(pairs.flat)
    Lasting = results.Lasting
    # Of rewrites: the rows of a base file that stay, beside the log rows that they meet.
    stored = staticmethod(columns.read_stored)
    renamed = staticmethod(columns.renamed)
    log_rows = staticmethod(logs.read_log_rows)
    rows_that_meet = staticmethod(logs.rows_that_meet)
    # Merged by keys; POSITION has the numbers of rows of the base file.
    numbered_rows = staticmethod(logs.numbered_rows)
    POSITION = positions.POSITION
    BY_ROWS = options.BY_ROWS
    count_blocks = staticmethod(logs.count_blocks)
    marked_operations = staticmethod(rule.marked_operations)
    counting = staticmethod(logs.counting)
    Places = meet.Places
    places_of = staticmethod(positions.places_of)

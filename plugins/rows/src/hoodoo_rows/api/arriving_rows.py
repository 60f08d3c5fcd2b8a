"""Rows on their way into a table: from what a user gives to keyed rows."""

from __future__ import annotations

from hoodoo_rows.engine import sources
from hoodoo_rows.merge import pairs
from hoodoo_rows.produce import columns, summary
from hoodoo_rows.write import evolve, key, prepare, tag


class ArrivingRows:
    """A namespace of functions for rows that arrive: data of the user as Arrow, the schema that a
    table has with them, steps that bring them into its columns and give them their keys, and the
    columns that travel beside a row (``keyed``, ``tagged``)."""

    as_arrow = staticmethod(sources.as_arrow)
    known_data = staticmethod(sources.known_data)
    overlap = staticmethod(sources.overlap)
    has_column = staticmethod(prepare.has_column)
    schema = staticmethod(prepare.arriving_schema)
    target_schema = staticmethod(prepare.target_schema)
    outgrown = staticmethod(evolve.outgrown)
    # Steps.
    Only, Conform, AddKeys, KeysOnly = prepare.Only, prepare.Conform, key.AddKeys, key.KeysOnly
    Summarise, OnlyUntagged = summary.Summarise, tag.OnlyUntagged
    # What Summarise gives.
    Arrivals = summary.Arrivals
    arrivals = staticmethod(summary.arrivals)
    # Columns beside a row.
    SEQ, FILE_ID, BUCKET = columns.SEQ, columns.FILE_ID, columns.BUCKET
    keyed = staticmethod(columns.keyed)
    tagged = staticmethod(columns.tagged)
    # Rows of one key.
    merge_pairs = staticmethod(pairs.merge_pairs)
    is_plain = staticmethod(pairs.is_plain)
    needed_columns = staticmethod(pairs.needed_columns)

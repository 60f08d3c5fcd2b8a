"""What is known of stored files: their format, columns, keys and ranges."""

from __future__ import annotations

from typing import TypeAlias

from hoodoo_rows.merge import rule, virtual
from hoodoo_rows.produce import base_ranges
from hoodoo_rows.read import asked, named, prune, reader_around, source
from hoodoo_rows.read import schema as schemas


class StoredFiles:
    """Stored files: what reads them (``format``), or why nothing does; their columns; keys that
    they do not store; what they hold in a column; and which partition paths and ranges of values
    have no row that a filter lets through."""

    format = staticmethod(source.check_readable)
    # The base of a reader that reads through another one.
    ReaderAround: TypeAlias = reader_around.ReaderAround
    check = staticmethod(source.check_extension)
    # Of a bootstrap: base files with the meta columns alone, and the files of the others.
    SKELETONS = source.SKELETONS
    bootstrapped = staticmethod(source.bootstrapped)
    is_skeleton = staticmethod(source.is_skeleton)
    sources = staticmethod(source.source_files)
    schema = staticmethod(schemas.stored_schema)
    columns = staticmethod(schemas.stored)
    hidden = staticmethod(schemas.hidden)
    # Names that columns had before: what reads files of any age and their logs, the history that
    # such a format knows, what a commit says of it, and the conflict with one that says another.
    as_of_schema = staticmethod(rule.as_of_schema)
    logs_of_schema = staticmethod(rule.logs_of_schema)
    history = staticmethod(rule.history_of)
    noted_schema = staticmethod(rule.noted_schema)
    refuse_evolved = staticmethod(rule.refuse_evolved)
    # Virtual keys.
    key_generator = staticmethod(source.check_generator)
    with_keys = staticmethod(virtual.VirtualKeys)
    check_virtual = staticmethod(virtual.check_virtual)
    key_columns = staticmethod(virtual.key_columns)
    record_keys = staticmethod(virtual.record_keys)
    stores_keys = staticmethod(virtual.stores_keys)
    begun_by = staticmethod(virtual.begun_by)
    # Ranges of values.
    ranges = staticmethod(base_ranges.base_ranges)
    merged_ranges = staticmethod(base_ranges.merge_ranges)
    partition_range = staticmethod(base_ranges.partition_range)
    range_table = staticmethod(base_ranges.range_table)
    # What a filter leaves.
    outside = staticmethod(prune.outside)
    matching_paths = staticmethod(prune.matching_paths)
    satisfiable = staticmethod(prune.satisfiable)
    # What it asks for: record keys, and values of a column, beside which alone it can be true.
    asked_keys = staticmethod(asked.asked_keys)
    asked_values = staticmethod(asked.asked_values)
    # Those that it names, however many, as an array in their order.
    named_values = staticmethod(named.named_values)

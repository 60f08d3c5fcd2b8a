"""Which key generator a table has that names none: Hudi's inference (features page 3.2)."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Settings


def is_unpartitioned(settings: Settings) -> bool:
    return not settings.table.partition_fields


def is_typed(settings: Settings) -> bool:
    return bool(settings.table.partition_fields) and settings.table.has_partition_types


def is_simple(settings: Settings) -> bool:
    table = settings.table
    one = len(table.partition_fields) == 1 and len(table.record_key_fields) <= 1
    return one and not is_typed(settings)


def is_complex(settings: Settings) -> bool:
    return not (is_unpartitioned(settings) or is_typed(settings) or is_simple(settings))

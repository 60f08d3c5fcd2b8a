"""Nested: fields by their paths: in structs by name, in lists as ``element``, in maps as ``key``
and ``value``, as Spark has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from hoodoo.model.schema import logical

from hoodoo_statements.text.scope import named


def inner_fields(kind: pa.DataType) -> list[pa.Field]:
    """What may be named within a value of the type ``kind``: nothing, where it is no struct, list
    or map, or where it is a logical type, whose parts are Hudi's."""
    if logical.text_of(kind):
        return []
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [pa.field("key", kind.key_type, nullable=False), kind.item_field.with_name("value")]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field.with_name("element")]
    return []


def field_at(fields: Iterable[pa.Field], path: Sequence[str]) -> pa.Field | None:
    """The field at ``path``; None where there is none."""
    found = named(fields, path[0])
    if found is None or len(path) == 1:
        return found
    return field_at(inner_fields(found.type), path[1:])


def of_inner(kind: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """``kind``, with ``fields`` for its :func:`inner_fields`."""
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        return pa.map_(fields[0].type, kind.item_field.with_type(fields[1].type))
    of_one = kind.value_field.with_type(fields[0].type)
    return pa.large_list(of_one) if pa.types.is_large_list(kind) else pa.list_(of_one)

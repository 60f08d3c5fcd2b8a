"""BLOB: bytes in the table, or a reference to a file that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs import Settings
from hoodoo.model.schema import logical
from hoodoo_rows.model.conform import conform_array

INLINE, OUT_OF_LINE = "INLINE", "OUT_OF_LINE"
REFERENCE = pa.struct(
    [
        ("external_path", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("managed", pa.bool_()),
    ]
)
# The type in memory, and what files have.
BLOB = pa.struct(
    [
        pa.field("type", pa.string(), metadata={logical.MARK: "BLOB"}),
        ("data", pa.binary()),
        ("reference", REFERENCE),
    ]
)
_PLAIN = pa.struct([(field.name, field.type) for field in BLOB])
_AVRO = {
    "type": "record",
    "name": "blob",
    "namespace": "",
    "fields": [
        {
            "name": "type",
            "type": {
                "type": "enum",
                "name": "blob_storage_type",
                "symbols": [INLINE, OUT_OF_LINE],
            },
        },
        {"name": "data", "type": ["null", "bytes"], "default": None},
        {
            "name": "reference",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "reference",
                    "fields": [
                        {"name": "external_path", "type": "string"},
                        {"name": "offset", "type": ["null", "long"]},
                        {"name": "length", "type": ["null", "long"]},
                        {"name": "managed", "type": "boolean"},
                    ],
                },
            ],
            "default": None,
        },
    ],
    "logicalType": "blob",
}
_FIX = (
    "Give {'type': 'INLINE', 'data': bytes}, or {'type': 'OUT_OF_LINE', 'reference': "
    "{'external_path': path}} with offset and length, if the bytes are a part of the file."
)


def blob() -> pa.DataType:
    """The Arrow type of a column BLOB of Hudi 1.2: a struct of ``type`` (``INLINE`` or
    ``OUT_OF_LINE``), ``data`` (bytes) and ``reference`` (a file, and where in it the bytes are).

    Raises no error.

    >>> hoodoo.blob().names
    ['type', 'data', 'reference']
    """
    return BLOB


@frozen
class Blob:
    """Implements :class:`hoodoo.hookspecs.logical_type.LogicalType`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Blob:
        return cls()

    @property
    def name(self) -> str:
        return "blob"

    def of_avro(self, avro: Mapping[str, Any], path: str) -> pa.DataType:
        names = [field.get("name") for field in avro.get("fields", ())]
        if avro.get("type") != "record" or names != BLOB.names:
            raise SchemaError(
                f"column {path}",
                f"Avro's {dict(avro)} is no blob of Hudi.",
                "Restore the schema of the table, or read it with a newer Hoodoo.",
            )
        return BLOB

    def avro(self, kind: pa.DataType) -> Mapping[str, Any]:
        return _AVRO

    def declared(self, text: str, kind: pa.DataType, path: str) -> pa.DataType:
        t = pa.types
        is_struct = t.is_struct(kind) and set(kind.names) <= set(BLOB.names)
        fits = is_struct or t.is_binary(kind) or t.is_large_binary(kind) or t.is_null(kind)
        if any(mark in path for mark in ".[{"):
            raise SchemaError(
                f"column {path}",
                "is a blob within another column, which Hoodoo does not write.",
                "Make it a column of its own.",
            )
        if text.strip().upper() != "BLOB" or not fits:
            raise SchemaError(
                f"column {path}",
                f"is declared as {text}, and its Arrow type is {kind}.",
                "Declare it as BLOB, with the Arrow type hoodoo.blob(), or with that of bytes.",
            )
        return BLOB

    def stored(self, kind: pa.DataType) -> pa.DataType:
        return _PLAIN

    def to_stored(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        return array

    def conform(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        """Bytes are taken for a blob that is stored in the table."""
        t, found = pa.types, array.type
        if t.is_binary(found) or t.is_large_binary(found) or t.is_binary_view(found):
            kinds = pc.if_else(array.is_valid(), pa.scalar(INLINE), pa.scalar(None, pa.string()))
            children = [kinds, array.cast(pa.binary()), pa.nulls(len(array), REFERENCE)]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(children, fields=list(BLOB), mask=mask)
        return conform_array(array, pa.field("blob", _PLAIN), path)

    def written(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        valid = array.drop_null()
        kinds, data, reference = (pc.struct_field(valid, name) for name in BLOB.names)
        inline, outside = (pc.fill_null(pc.equal(kinds, k), False) for k in (INLINE, OUT_OF_LINE))
        where, offset, length = (
            pc.struct_field(reference, n) for n in ("external_path", "offset", "length")
        )
        managed = pc.fill_null(pc.struct_field(reference, "managed"), False)
        below = pc.or_(
            pc.fill_null(pc.less(offset, 0), False), pc.fill_null(pc.less(length, 0), False)
        )
        nowhere = pc.or_(where.is_null(), pc.fill_null(pc.equal(where, ""), False))
        for wrong, why in (
            (pc.invert(pc.or_(inline, outside)), "neither INLINE nor OUT_OF_LINE"),
            (pc.and_(inline, data.is_null()), "INLINE without data"),
            (pc.and_(inline, reference.is_valid()), "INLINE with a reference"),
            (pc.and_(outside, data.is_valid()), "OUT_OF_LINE with data"),
            (pc.and_(outside, nowhere), "OUT_OF_LINE without the path of a file"),
            (below, "with an offset or length below 0"),
            (managed, "with managed=true: no writer manages files of blobs yet"),
        ):
            if pc.any(wrong, min_count=0).as_py():
                raise SchemaError(f"column {path}", f"has a blob that is {why}.", _FIX)
        return _unmanaged(array)

    def of_python(self, values: Sequence[Any], kind: pa.DataType, path: str) -> pa.Array:
        bare = (bytes, bytearray, memoryview)
        blobs = [{"type": INLINE, "data": bytes(v)} if isinstance(v, bare) else v for v in values]
        try:
            return pa.array(blobs, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            try:
                found = pa.array(values)
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                why = f"has values of Python that make no blobs ({error})."
                raise SchemaError(f"column {path}", why, _FIX) from error
            return self.conform(found, kind, path)

    def shown(self, kind: pa.DataType) -> pa.DataType:
        return kind

    def footer(self, columns: Mapping[str, pa.DataType]) -> Mapping[str, str]:
        return {}


def _unmanaged(array: pa.StructArray) -> pa.StructArray:
    """``array`` with ``managed`` false where it is null, which it never is in Avro."""
    reference = array.field(2)
    if not reference.field(3).null_count:
        return array
    children = [*(reference.field(i) for i in range(3)), reference.field(3).fill_null(False)]
    mask = reference.is_null() if reference.null_count else None
    reference = pa.StructArray.from_arrays(children, fields=list(REFERENCE), mask=mask)
    mask = array.is_null() if array.null_count else None
    children = [array.field(0), array.field(1), reference]
    return pa.StructArray.from_arrays(children, fields=list(BLOB), mask=mask)

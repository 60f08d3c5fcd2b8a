"""VARIANT: a value of any type, encoded as Parquet has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs import Settings
from hoodoo.model.schema import logical

from hoodoo_variant.arrow import VariantType, is_variants, of_python, refused
from hoodoo_variant.encode import VariantError
from hoodoo_variant.shredded import unshredded
from hoodoo_variant.wellformed import wrong

# The type in memory, and what files have.
VARIANT = pa.struct(
    [
        pa.field("metadata", pa.binary(), metadata={logical.MARK: "VARIANT"}),
        ("value", pa.binary()),
    ]
)
_STORED = pa.struct([pa.field(name, pa.binary(), nullable=False) for name in VARIANT.names])
_FIX = (
    "Give JSON text, structs, lists or maps, or make variants of Python objects: hoodoo.variants."
)


@frozen
class Variant:
    """Implements :class:`hoodoo.hookspecs.logical_type.LogicalType`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Variant:
        return cls()

    @property
    def name(self) -> str:
        return "variant"

    def of_avro(self, avro: Mapping[str, Any], path: str) -> pa.DataType:
        """Shredded or not: a struct of metadata and value in memory."""
        names = {field.get("name") for field in avro.get("fields", ())}
        is_variant = "metadata" in names and names & {"value", "typed_value"}
        if (
            avro.get("type") != "record"
            or not is_variant
            or names - {"metadata", "value", "typed_value"}
        ):
            raise SchemaError(
                f"column {path}",
                f"Avro's {dict(avro)} is no variant of Hudi.",
                "Restore the schema of the table, or read it with a newer Hoodoo.",
            )
        return VARIANT

    def avro(self, kind: pa.DataType) -> Mapping[str, Any]:
        """As Hudi's Spark writer does, each record is named after its column."""
        fields = [
            {"name": name, "type": "bytes", "doc": f"Variant {name} component"}
            for name in VARIANT.names
        ]
        return {"type": "record", "fields": fields, "logicalType": "variant"}

    def declared(self, text: str, kind: pa.DataType, path: str) -> pa.DataType:
        if any(mark in path for mark in "[{"):
            raise SchemaError(
                f"column {path}",
                "is a variant within a list or a map, and none is written there.",
                "Make the whole column a variant.",
            )
        if logical.text_of(kind) == "VARIANT":
            return VARIANT
        if text.strip().upper() not in ("VARIANT", "ARROW.PARQUET.VARIANT") or not _may_be(kind):
            raise SchemaError(
                f"column {path}",
                f"is declared as {text}, and its Arrow type is {kind}.",
                "Declare it as VARIANT, with the Arrow type hoodoo.variant() or that of text.",
            )
        return VARIANT

    def stored(self, kind: pa.DataType) -> pa.DataType:
        return _STORED

    def to_stored(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        children = [array.field(i).fill_null(b"") for i in range(2)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(_STORED), mask=mask)

    def conform(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        """Variants, shredded or not; text is JSON; structs, lists and maps are objects and
        arrays."""
        found = array.type
        if pa.types.is_dictionary(found):
            return self.conform(array.dictionary_decode(), kind, path)
        if array.null_count == len(array):
            return pa.nulls(len(array), kind)
        if is_variants(found):
            return self._of_struct(array, path)
        if not _may_be(found):
            raise SchemaError(f"column {path}", f"is a variant, and {found} arrives for it.", _FIX)
        return of_python(array.to_pylist(maps_as_pydicts="strict"), path).cast(kind)

    def of_python(self, values: Sequence[Any], kind: pa.DataType, path: str) -> pa.Array:
        """Text is JSON, as in Arrow data."""
        return of_python(values, path).cast(kind)

    def _of_struct(self, array: pa.StructArray, path: str) -> pa.Array:
        mask = array.is_null() if array.null_count else None
        if any(field.name == "typed_value" for field in array.type):
            try:
                children = unshredded(array)
            except VariantError as error:
                raise SchemaError(f"column {path}", f"is no variant: {error}", error.fix) from None
        else:
            children = tuple(array.field(name).cast(pa.binary()) for name in VARIANT.names)
        return pa.StructArray.from_arrays(list(children), fields=list(VARIANT), mask=mask)

    def written(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        valid = array.drop_null()
        children = [pc.fill_null(valid.field(i), b"") for i in range(2)]
        found = wrong(*children)
        if found is not None:
            places = pc.indices_nonzero(array.is_valid())
            error = VariantError(f"it {found[1]}.", _FIX)
            raise refused(path, places[found[0]].as_py(), error)
        return array

    def shown(self, kind: pa.DataType) -> pa.DataType:
        return VariantType(kind)

    def footer(self, columns: Mapping[str, pa.DataType]) -> Mapping[str, str]:
        return {}


def _may_be(kind: pa.DataType) -> bool:
    """Whether data of the type ``kind`` can be taken for variants."""
    t = pa.types
    text = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    return bool(text or t.is_nested(kind) or t.is_null(kind))

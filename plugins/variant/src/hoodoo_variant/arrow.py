"""Arrow arrays of variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from hoodoo.errors import CallError, SchemaError

from hoodoo_variant.decode import decode, to_json
from hoodoo_variant.encode import EMPTY, VariantError, encode, encode_json

EXTENSION = "arrow.parquet.variant"  # Arrow's canonical extension type; DuckDB has it, too
_BINARY = (pa.binary(), pa.large_binary(), pa.binary_view())
PLAIN = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])


class VariantScalar(pa.ExtensionScalar):  # type: ignore[misc]  # pyarrow has no types
    """One variant."""

    def as_py(self, **_: Any) -> Any:
        """The Python object; None for null."""
        found = self.value
        if found is None or not found.is_valid:
            return None
        return decode(found["metadata"].as_py(), found["value"].as_py())


class VariantArray(pa.ExtensionArray):  # type: ignore[misc]
    """Variants, each a struct of ``metadata`` and ``value``: ``to_pylist`` gives Python objects."""

    def to_json(self) -> pa.Array:
        """The JSON text of each variant."""
        return pa.array(_each(self.storage, to_json), pa.string())


class VariantType(pa.ExtensionType):  # type: ignore[misc]
    """Arrow's extension type ``arrow.parquet.variant``."""

    def __init__(self, storage: pa.DataType = PLAIN) -> None:
        super().__init__(storage, EXTENSION)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> VariantType:
        return cls(storage)

    def __arrow_ext_class__(self) -> type[VariantArray]:
        return VariantArray

    def __arrow_ext_scalar_class__(self) -> type[VariantScalar]:
        return VariantScalar

    def __hash__(self) -> int:  # pyarrow has none of a type that is defined in Python
        return hash((EXTENSION, self.storage_type))

    def __reduce__(self) -> Any:
        return VariantType, (self.storage_type,)


def variant() -> pa.DataType:
    """The Arrow type of a column VARIANT of Hudi 1.2: objects, lists and values as JSON has them,
    and more types of values. For the schema of a new table. Raises no error.

    >>> hoodoo.variant().extension_name
    'arrow.parquet.variant'
    """
    return VariantType()


def variants(values: Any, json: bool = False) -> pa.Array:
    """An Arrow array of variants, of Python objects (None, bool, int, float, Decimal, str, bytes,
    date, datetime, time, UUID, lists and dicts), of PySpark's ``VariantVal``, or of a column that
    was read. With ``json`` texts are JSON, otherwise values. ``to_pylist()`` of it gives Python
    objects, and ``to_json()`` the texts.

    Raises CallError for anything but a list, and SchemaError for a value that no variant holds.

    >>> hoodoo.variants([{"a": [1, None]}, "x"]).to_json().to_pylist()
    ['{"a":[1,null]}', '"x"']
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        storage = values.storage if isinstance(values, pa.ExtensionArray) else values
        if is_variants(storage.type):
            return pa.ExtensionArray.from_storage(VariantType(storage.type), storage)
        values = values.to_pylist(maps_as_pydicts="strict")
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise CallError(f"values={values!r}", "is no list of values.", "Give a list: [value].")
    found = of_python(values, "values", encode_json if json else encode)
    return pa.ExtensionArray.from_storage(VariantType(found.type), found)


def is_variants(kind: pa.DataType) -> bool:
    """Whether ``kind`` is a struct of metadata and value, and of no more than a typed one."""
    if not pa.types.is_struct(kind):
        return False
    fields = {field.name: field.type for field in kind}
    shredded = fields.pop("typed_value", None) is not None
    lacking = {"metadata", "value"} - fields.keys()
    known = not lacking or (shredded and lacking == {"value"})
    return known and len(fields) + len(lacking) == 2 and all(k in _BINARY for k in fields.values())


def of_python(
    values: Iterable[Any], path: str, text: Callable[[str], tuple[bytes, bytes]] = encode_json
) -> pa.StructArray:
    """Python's objects as the struct of metadata and value; ``text``: what is made of texts.
    SchemaError, naming the column ``path`` and the row, for what no variant holds."""
    metadata: list[bytes] = []
    encoded: list[bytes] = []
    nulls: list[bool] = []
    for row, value in enumerate(values):
        try:
            if isinstance(value, str):
                found = text(value)
            elif type(value).__name__ == "VariantVal":  # of PySpark 4, which need not be there
                found = value.metadata, value.value
            else:
                found = (EMPTY, b"\x00") if value is None else encode(value)
        except VariantError as error:
            raise refused(path, row, error) from None
        nulls.append(value is None)
        metadata.append(found[0])
        encoded.append(found[1])
    children = [pa.array(column, pa.binary()) for column in (metadata, encoded)]
    mask = pa.array(nulls, pa.bool_()) if any(nulls) else None
    return pa.StructArray.from_arrays(children, fields=list(PLAIN), mask=mask)


def refused(path: str, row: int, error: VariantError) -> SchemaError:
    """The error for the row with this number in the data that arrived."""
    return SchemaError(f"column {path}, row {row}", f"is no variant: {error}", error.fix)


def _each(storage: pa.StructArray, made: Callable[[bytes, bytes], Any]) -> Sequence[Any]:
    return [
        made(row["metadata"], row["value"]) if row is not None else None
        for row in storage.to_pylist()
    ]


try:
    pa.register_extension_type(VariantType())
except pa.ArrowKeyError:  # another library has: what it makes is a struct here, too
    pass

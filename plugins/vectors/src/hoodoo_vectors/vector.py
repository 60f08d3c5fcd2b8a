"""VECTOR: a fixed number of float32, float64 or int8, stored as their bytes, little-endian."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs import Settings
from hoodoo.model.schema import logical
from hoodoo_rows.model.conform import conform_array, is_list_like

ELEMENTS = {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "INT8": pa.int8()}
# Names of elements that users know from elsewhere.
_ALIASES = {"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE", "BYTE": "INT8", "TINYINT": "INT8"}
FOOTER = "hoodie.vector.columns"
_TEXT = re.compile(r"\s*VECTOR\s*(?:\(\s*(\d+)\s*(?:,\s*(\w+)\s*)?\))?\s*", re.IGNORECASE)
_FIX = "Declare it as VECTOR(4), VECTOR(4, DOUBLE) or VECTOR(4, INT8): 4 is its number of elements."

# Arrow pickles such types without their field, and with it what says that they are vectors.
copyreg.pickle(pa.FixedSizeListType, lambda kind: (pa.list_, (kind.value_field, kind.list_size)))


def vector_type(dimension: int, element: str = "FLOAT") -> pa.DataType:
    """The type in memory of vectors of ``dimension`` elements; ``element`` is one of ELEMENTS."""
    more = "" if element == "FLOAT" else f", {element}"
    mark = {logical.MARK: f"VECTOR({dimension}{more})"}
    return pa.list_(pa.field("element", ELEMENTS[element], metadata=mark), dimension)


def element_of(kind: pa.DataType) -> str:
    """What Hudi calls the elements of a type in memory."""
    return next(name for name, one in ELEMENTS.items() if one == kind.value_type)


def vector(dimension: int, element: str = "FLOAT") -> pa.DataType:
    """The Arrow type of a column VECTOR of Hudi 1.2: lists of ``dimension`` numbers. Each is
    an ``element``: ``FLOAT`` (float32), ``DOUBLE`` or ``INT8``. For the schema of a new table, and
    for data.

    Raises SchemaError for a dimension below 1, and for other elements.

    >>> hoodoo.vector(2, "DOUBLE").list_size
    2
    """
    if isinstance(dimension, bool) or dimension < 1:
        raise SchemaError(f"vector({dimension!r})", "is no number of elements.", "Give 1 or more.")
    kind = pa.list_(pa.float32(), dimension)
    return Vector().declared(f"VECTOR({dimension}, {element})", kind, "vector")


@frozen
class Vector:
    """Implements :class:`hoodoo.hookspecs.logical_type.LogicalType`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Vector:
        return cls()

    @property
    def name(self) -> str:
        return "vector"

    def of_avro(self, avro: Mapping[str, Any], path: str) -> pa.DataType:
        element = str(avro.get("elementType") or "FLOAT")
        dimension = avro.get("dimension")
        backing = avro.get("storageBacking") or "FIXED_BYTES"
        if isinstance(dimension, int) and dimension > 0 and element in ELEMENTS:
            size = dimension * ELEMENTS[element].bit_width // 8
            if backing == "FIXED_BYTES" and avro.get("type") == "fixed" and avro["size"] == size:
                return vector_type(dimension, element)
        raise SchemaError(
            f"column {path}",
            f"Avro's {dict(avro)} is no vector of Hudi: FLOAT, DOUBLE or INT8 in fixed bytes.",
            "Restore the schema of the table, or read it with a newer Hoodoo.",
        )

    def avro(self, kind: pa.DataType) -> Mapping[str, Any]:
        element = element_of(kind)
        return {
            "type": "fixed",
            "name": f"vector_{element.lower()}_{kind.list_size}",
            "namespace": "",
            "size": self.stored(kind).byte_width,
            "logicalType": "vector",
            "dimension": kind.list_size,
            "elementType": element,
            "storageBacking": "FIXED_BYTES",
        }

    def declared(self, text: str, kind: pa.DataType, path: str) -> pa.DataType:
        match = _TEXT.fullmatch(text)
        is_fixed = pa.types.is_fixed_size_list(kind)
        dimension = int(match[1]) if match and match[1] else kind.list_size if is_fixed else 0
        said = match[2].upper() if match and match[2] else "FLOAT"
        if match and not match[1] and is_fixed and kind.value_type in ELEMENTS.values():
            said = element_of(kind)
        element = _ALIASES.get(said, said)
        if match is None or not 0 < dimension < 1 << 24 or element not in ELEMENTS:
            raise SchemaError(f"column {path}", f"{text} is no type of vectors.", _FIX)
        if any(mark in path for mark in ".[{"):
            raise SchemaError(
                f"column {path}",
                "is a vector within another column, and Hudi has none there.",
                "Make it a column of its own.",
            )
        is_list = is_list_like(kind) or pa.types.is_null(kind)
        if not is_list or (is_fixed and kind.list_size != dimension):
            raise SchemaError(
                f"column {path}",
                f"is declared as {text}, and its Arrow type is {kind}.",
                f"Give it the type of a list of {dimension} numbers.",
            )
        return vector_type(dimension, element)

    def stored(self, kind: pa.DataType) -> pa.DataType:
        return pa.binary(kind.list_size * kind.value_type.bit_width // 8)

    def to_stored(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        rows, dimension = len(array), kind.list_size
        values = array.values.slice(array.offset * dimension, rows * dimension)
        data, size = values.buffers()[1], kind.value_type.bit_width // 8
        data = data and data.slice(values.offset * size, rows * dimension * size)
        validity = array.is_valid().buffers()[1] if array.null_count else None
        buffers = [validity, data or pa.py_buffer(b"")]
        return pa.Array.from_buffers(self.stored(kind), rows, buffers, array.null_count)

    def conform(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        found = array.type
        if pa.types.is_dictionary(found):
            return self.conform(array.dictionary_decode(), kind, path)
        if array.null_count == len(array):
            return pa.nulls(len(array), kind)
        valid = array.drop_null()
        if is_list_like(found):
            _check_lengths(pc.list_value_length(valid), kind, path, "elements", kind.list_size)
            values = _values(valid.flatten(), kind, path)
        elif pa.types.is_binary(found) or pa.types.is_fixed_size_binary(found):
            width = self.stored(kind).byte_width
            _check_lengths(pc.binary_length(valid), kind, path, "bytes", width)
            data = valid.cast(pa.binary(width)).buffers()[1]
            at = valid.offset if pa.types.is_fixed_size_binary(found) else 0
            data = data.slice(at * width, len(valid) * width)
            count = len(valid) * kind.list_size
            values = pa.Array.from_buffers(kind.value_type, count, [None, data])
        else:
            raise SchemaError(
                f"column {path}",
                f"the table's type is {logical.text_of(kind)}, the incoming one is {found}.",
                f"Give a list of {kind.list_size} numbers in each row.",
            )
        if not array.null_count:
            return pa.FixedSizeListArray.from_arrays(values, type=kind)
        # Rows without a vector get one of zeros, which nobody sees.
        places = np.full((len(array), kind.list_size), len(values), np.int64)
        rows = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
        places[rows] = np.arange(len(values)).reshape(-1, kind.list_size)
        filled = pa.concat_arrays([values, pa.array([0], kind.value_type)])
        return pa.FixedSizeListArray.from_arrays(
            filled.take(pa.array(places.ravel())), type=kind, mask=array.is_null()
        )

    def written(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        values = array.drop_null().flatten()
        wrong = "null" if values.null_count else ""
        if not wrong and pa.types.is_floating(kind.value_type):
            finite = pc.all(pc.is_finite(values), min_count=0).as_py()
            wrong = "" if finite else "NaN or infinity"
        if wrong:
            raise SchemaError(
                f"column {path}",
                f"has a vector with {wrong}: it is near to no other one.",
                "Write null for the whole vector, or correct its elements.",
            )
        return array

    def of_python(self, values: Sequence[Any], kind: pa.DataType, path: str) -> pa.Array:
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return self.conform(pa.array(values), kind, path)

    def shown(self, kind: pa.DataType) -> pa.DataType:
        return kind

    def footer(self, columns: Mapping[str, pa.DataType]) -> Mapping[str, str]:
        return {FOOTER: ",".join(f"{n}:{logical.text_of(kind)}" for n, kind in columns.items())}


def _values(values: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    """Elements in the type that ``kind`` has: doubles become floats as a search rounds them."""
    wanted = kind.value_type
    if values.type == wanted:
        return values
    t = pa.types
    if (t.is_floating(values.type) or t.is_decimal(values.type)) and t.is_floating(wanted):
        return values.cast(wanted)
    return conform_array(values, pa.field("element", wanted), path)


def _check_lengths(lengths: pa.Array, kind: pa.DataType, path: str, what: str, wanted: int) -> None:
    wrong = lengths.filter(pc.not_equal(lengths, wanted))
    if len(wrong):
        text = logical.text_of(kind)
        raise SchemaError(
            f"column {path}",
            f"the table's type is {text}, and a vector of {wrong[0].as_py()} {what} came.",
            f"Give vectors of {kind.list_size} elements, or add a column for other lengths.",
        )

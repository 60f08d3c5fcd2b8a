"""Arrow types of columns, for the schema of a new table."""

from __future__ import annotations

import pyarrow as pa
from hoodoo.errors import SchemaError

from hoodoo_types.blob import BLOB
from hoodoo_types.vector import Vector


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


def blob() -> pa.DataType:
    """The Arrow type of a column BLOB of Hudi 1.2: a struct of ``type`` (``INLINE`` or
    ``OUT_OF_LINE``), ``data`` (bytes) and ``reference`` (a file, and where in it the bytes are).

    Raises no error.

    >>> hoodoo.blob().names
    ['type', 'data', 'reference']
    """
    return BLOB

"""Types of Hudi 1.2 that Arrow and Avro lack: VECTOR(dimension, element), BLOB and VARIANT.

``vector``, ``blob``, ``variant``: the types; ``variants``: how variants are encoded; ``arrow``:
functions that make them; ``bytes_of``: what blobs hold, in the table or in files that they refer
to."""

from __future__ import annotations

__version__ = "0.2.0"

"""The type BLOB of Hudi 1.2: bytes in the table, or a reference to a file that has them.

``blob``: the type; ``bytes_of``: what blobs hold, in the table or in files that they refer to."""

from __future__ import annotations

__version__ = "0.2.0"

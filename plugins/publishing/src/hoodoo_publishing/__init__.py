"""Metadata of Delta Lake and Apache Iceberg for the base files of a Hudi table, beside Hudi's own.

``files``: the base files of the table at each commit; ``footers``: what Parquet footers say of
them; ``sync``: brings the metadata of a format up to the newest commit; ``delta`` and ``iceberg``:
the formats."""

from __future__ import annotations

__version__ = "0.2.0"

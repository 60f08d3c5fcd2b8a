"""The options by which buckets are split and merged."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option
from hoodoo.options import Number

SPLIT = Option(
    "hoodie.bucket.index.split.threshold",
    "A bucket with more bytes than so many base files of full size (hoodie.parquet.max.file.size) "
    "is split.",
    "2",
    kind=Number(0.0),
)
MERGE = Option(
    "hoodie.bucket.index.merge.threshold",
    "Neighbours that have no more bytes than such a part of a base file of full size are merged.",
    "0.2",
    kind=Number(0.0),
)
RESIZING = (SPLIT, MERGE)

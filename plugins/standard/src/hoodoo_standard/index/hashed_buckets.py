"""Hashed buckets: the file group of a key follows from a hash of its fields.

Source: ``BucketIdentifier`` of Hudi 1.2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError

from hoodoo_standard.index.key_fields import fields_hash
from hoodoo_standard.options import BUCKETS

_DIGITS = 8


def number_of(file_id: str) -> int:
    """The bucket in the name of a file group; -1 where there is none."""
    number = file_id[:_DIGITS]
    there = len(number) == _DIGITS and number.isascii() and number.isdigit()
    return int(number) if there else -1


@frozen
class HashedBuckets:
    """``hash_fields`` are among the record key fields, in any order (the key's order counts)."""

    buckets: int
    hash_fields: tuple[str, ...]

    @property
    def is_global(self) -> bool:
        return False

    @property
    def moves_partitions(self) -> bool:
        return False

    def bucket(self, record_keys: pa.Array) -> pa.Array:
        positive = fields_hash(record_keys, self.hash_fields) & np.int32(0x7FFFFFFF)
        return pa.array(positive % np.int32(self.buckets), pa.int32())

    def file_id(self, bucket: int, uuid: str) -> str:
        """The first 8 characters of the uuid give way to the bucket number."""
        return f"{bucket:0{_DIGITS}d}{uuid[_DIGITS:]}-0"

    def bucket_of(self, file_id: str) -> int:
        bucket = number_of(file_id)
        if 0 <= bucket < self.buckets:
            return bucket
        raise CorruptTableError(
            f"file group {file_id!r}",
            f"does not begin with the 8 digits of one of {self.buckets} buckets.",
            f"check {BUCKETS.key} of the table; if a program wrote to it that knows no bucket "
            "index, as hudi-rs: "
            'table.switch_index("simple"), or `hoodoo switch-index PATH simple`, keeps all rows '
            "and looks keys up.",
        )

"""Bucket index: the file group follows from a hash of the key. Nothing is looked up.

Source: ``BucketIdentifier`` of Hudi 1.2. Hudi keeps the number of buckets nowhere in the table (its
writers that disagree about it duplicate keys); here it is a property of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve

from hoodoo_standard.index.key_fields import fields_hash
from hoodoo_standard.options import (
    BUCKET_ENGINE,
    BUCKETS,
    PATH_BUCKETS,
    hash_fields,
    path_buckets,
)

if TYPE_CHECKING:
    from hoodoo.timeline.snapshot import Snapshot

    from hoodoo_standard.index.resizing import Resizing

_DIGITS = 8


# What offers the other engine.
_CONSISTENT = "consistent_bucket"


def by_engine(settings: Settings) -> Any:
    """The bucket index of the engine that the settings name."""
    if settings.value(BUCKET_ENGINE) == "CONSISTENT_HASHING":
        if path_buckets(settings):
            raise ConfigError(
                f"option {PATH_BUCKETS.key}",
                f"is for {BUCKET_ENGINE.key}=SIMPLE: buckets of consistent hashing are split and "
                "merged.",
                "Leave one of the two options out.",
            )
        return resolve("index", _CONSISTENT, settings).instance
    if path_buckets(settings):
        from hoodoo_standard.index.path_bucket import PathBucketIndex

        return PathBucketIndex.from_settings(settings)
    return BucketIndex.from_settings(settings)


def number_of(file_id: str) -> int:
    """The bucket in the name of a file group; -1 where there is none."""
    number = file_id[:_DIGITS]
    there = len(number) == _DIGITS and number.isascii() and number.isdigit()
    return int(number) if there else -1


@frozen
class BucketIndex:
    """``hash_fields`` are among the record key fields, in any order (the key's order counts)."""

    buckets: int
    hash_fields: tuple[str, ...]
    # Of the table: a write that began when they were others has taken keys into other buckets.
    properties: ClassVar[tuple[str, ...]] = (PATH_BUCKETS.key,)

    @classmethod
    def from_settings(cls, settings: Settings) -> BucketIndex:
        return cls(settings.value(BUCKETS), hash_fields(settings))

    @property
    def is_global(self) -> bool:
        return False

    @property
    def moves_partitions(self) -> bool:
        return False

    def resized(self, snapshot: Snapshot, number: int | None, expressions: str | None) -> Resizing:
        """What it comes to that paths get other numbers; see :meth:`Resizing.of`."""
        from hoodoo_standard.index.bucket_rows import refuse_other_counts
        from hoodoo_standard.index.path_counts import PathCounts
        from hoodoo_standard.index.resizing import Resizing, everywhere

        refuse_other_counts(snapshot)
        now = PathCounts(everywhere(self.buckets), self.buckets, self.hash_fields)
        return Resizing.of(now, number, expressions)

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

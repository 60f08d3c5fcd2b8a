"""Bucket index: the file group follows from a hash of the key. Nothing is looked up.

Source: ``BucketIdentifier`` of Hudi 1.2. Hudi keeps the number of buckets nowhere in the table (its
writers that disagree about it duplicate keys); here it is a property of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve

from hoodoo_standard.index.hashed_buckets import HashedBuckets
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


@frozen
class BucketIndex(HashedBuckets):
    """The same number of buckets in each partition path."""

    # Of the table: a write that began when they were others has taken keys into other buckets.
    properties: ClassVar[tuple[str, ...]] = (PATH_BUCKETS.key,)

    @classmethod
    def from_settings(cls, settings: Settings) -> BucketIndex:
        return cls(settings.value(BUCKETS), hash_fields(settings))

    def resized(self, snapshot: Snapshot, number: int | None, expressions: str | None) -> Resizing:
        """What it comes to that paths get other numbers; see :meth:`Resizing.of`."""
        from hoodoo_standard.index.bucket_rows import refuse_other_counts
        from hoodoo_standard.index.path_counts import PathCounts
        from hoodoo_standard.index.resizing import Resizing, everywhere

        refuse_other_counts(snapshot)
        now = PathCounts(everywhere(self.buckets), self.buckets, self.hash_fields)
        return Resizing.of(now, number, expressions)

"""What an index may have in addition: its number of buckets can become another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from hoodoo.hookspecs.index import IndexContext, PathBuckets
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot


class BucketNumbers(Protocol):
    """The numbers of buckets of partition paths, now and after a resize. The new ones are noted
    under its instant, and count for all once that is completed."""

    @property
    def changes(self) -> bool:
        """Whether they differ."""

    @property
    def first(self) -> Mapping[str, str]:
        """Properties that the table has before, from which on all writers use what is noted."""

    @property
    def last(self) -> Mapping[str, str]:
        """Properties that the table has afterwards."""

    def counts(self, path: str) -> tuple[int, int]:
        """The numbers of a path, now and then. A key that is in bucket ``b`` of ``n`` has a hash
        whose remainder of a division by ``n`` is ``b``."""

    def bucket_of(self, slice_: FileSlice) -> int:
        """The bucket, now. CorruptTableError for a file group that is of none."""

    def check(self, context: IndexContext) -> None:
        """UnsupportedTableError where rows lie by other numbers than those of now, which the table
        does not note."""

    def begin(self, storage: Storage) -> None:
        """Note the numbers of now, where none are noted."""

    def note(self, storage: Storage, instant: str) -> None:
        """Note the new ones under ``instant``, which is pending; who undoes it removes them."""

    def buckets(self, paths: Sequence[str], instant: str) -> PathBuckets:
        """Of ``paths``, then, in new file groups."""


@runtime_checkable
class ResizesBuckets(Protocol):
    """The index of such a table."""

    def resized(
        self, snapshot: Snapshot, number: int | None, expressions: str | None
    ) -> BucketNumbers:
        """What the numbers become. ConfigError for what is no number, or no rules."""

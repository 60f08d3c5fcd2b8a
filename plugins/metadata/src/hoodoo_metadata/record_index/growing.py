"""The growing record index: a bucket that is full is sealed, and a new file group of it takes what comes.

RFC-08's first way to scale past the first estimate. Spark Hudi would look for keys in the wrong place, so
this index lies beside ``record_index`` under a name of its own, in no property that Hudi knows. The entries of
a key may be in several file groups of its bucket; the one in the youngest counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata import options as keys
from hoodoo_metadata.first_commit_not_indexed import first_commit_not_indexed
from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_metadata.layout import GROWING_INDEX, bucket_id
from hoodoo_metadata.record_index.groups import IndexGroups
from hoodoo_metadata.slice import layers


@frozen
class Growing:
    """How such an index is made. ``cap``: entries in a file group of a bucket, at which it is sealed."""

    buckets: int
    cap: int
    hash: KeyHash

    @classmethod
    def of(cls, config: TableConfig) -> Growing:
        """By the properties of the table. Raises ConfigError, and PluginError for an unknown hash."""
        settings = Settings(config)
        found = resolve("index_hash", settings.value(keys.INDEX_HASH), settings).instance
        return cls(settings.value(keys.BUCKETS), settings.value(keys.BUCKET_CAP), found)

    @property
    def groups(self) -> IndexGroups:
        """A slot for each bucket."""
        return IndexGroups(tuple(bucket_id(n) for n in range(self.buckets)), None, self.hash)


def refuse_strangers(storage: Storage, timeline: Timeline) -> None:
    """Raises CorruptTableError where somebody wrote who does not keep this index: it does not know all keys.
    Reads the metadata of commits since it was made."""
    found = first_commit_not_indexed(storage, timeline, GROWING_INDEX)
    if found is not None:
        raise CorruptTableError(
            f"{storage.root}: commit {found.requested}",
            "was written by an engine that does not keep the growing record index.",
            "Make it anew: table.rebuild_index('growing_record_index').",
        )


def by_bucket(slices: Sequence[FileSlice], buckets: int) -> tuple[tuple[FileSlice, ...], ...]:
    """The file groups of each bucket, the oldest first."""
    found: dict[str, list[tuple[int, FileSlice]]] = {}
    for slice_ in slices:
        bucket, _, number = slice_.file_id.rpartition("-")
        found.setdefault(bucket, []).append((int(number), slice_))
    return tuple(
        tuple(slice_ for _n, slice_ in sorted(found.get(bucket_id(n), []), key=lambda g: g[0]))
        for n in range(buckets)
    )


def open_group(storage: Storage, bucket: str, groups: Sequence[FileSlice], cap: int) -> str:
    """The file id of the group of ``bucket`` that takes new entries. ``storage`` is the metadata table's."""
    if not groups:
        return f"{bucket}-0"
    youngest = groups[-1]
    entries = sum(
        layer.hfile.entry_count for layer in layers(storage, youngest) if layer.hfile is not None
    )
    number = int(youngest.file_id.rpartition("-")[2])
    return youngest.file_id if entries < cap else f"{bucket}-{number + 1}"


def is_first(file_id: str) -> bool:
    """Whether a file group is the first of its bucket: what is deleted there can be forgotten."""
    return file_id.endswith("-0")

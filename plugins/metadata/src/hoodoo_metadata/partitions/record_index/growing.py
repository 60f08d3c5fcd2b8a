"""The growing record index: what is full is sealed, and new file groups take what comes (RFC-08,
*Scaling further*).

Spark Hudi would look for keys in the wrong place, so this index lies beside ``record_index`` under
a name of its own, in no property that Hudi knows. The entries of a key may be in several file
groups; the one in the youngest counts.

It scales in one of two ways. ``file_groups``: a bucket that is full gets one more file group.
``bucket_groups``: when all buckets together are loaded, a new hash leads into a new group of
buckets. The hashes of all groups are remainders of the same number, by multiples of the first
number of buckets: so the buckets that may know a key of one bucket of the first group, its
*family*, know keys of no other one, and a task that has a family has all that is known of its
keys."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata import options as keys
from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_metadata.life.kept_by import why_stale
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.table.layout import INDEX_OF
from hoodoo_metadata.table.metadata_table import FOLDER
from hoodoo_metadata.table.slice import layers

# Buckets of a group are so full, all together, when the next group is opened: RFC-08's number.
LOADED = 0.8
# The same where one bucket is full by itself, as the hash is uneven. A hash that sends most keys
# into one bucket would open group after group if that alone counted.
UNEVEN = 0.4
_FILE_ID = re.compile(r"hoodoo-record-index-(?:v(\d+)-)?(\d{4,})-(\d+)")
Families = tuple[tuple[FileSlice, ...], ...]


@frozen
class Growing:
    """How such an index is made. ``cap``: entries in a file group of a bucket, at which it is
    sealed; ``factor``: how many times as many buckets a bucket group has as the one before;
    ``layout``: how often an index of other buckets or another hash has taken the place of the one
    before: their files are told apart by it."""

    buckets: int
    cap: int
    hash: KeyHash
    scaling: str = keys.FILE_GROUPS
    factor: int = 1
    layout: int = 0

    @classmethod
    def of(cls, config: TableConfig) -> Growing:
        """By the properties of the table. Raises ConfigError, and PluginError for an unknown
        hash."""
        settings = Settings(config)
        found = resolve("index_hash", settings.value(keys.INDEX_HASH), settings).instance
        return cls(
            settings.value(keys.BUCKETS),
            settings.value(keys.BUCKET_CAP),
            found,
            # Of tables from before there was another way.
            keys.SCALING.stored(config.properties) or keys.FILE_GROUPS,
            settings.value(keys.SCALING_FACTOR),
            int(config.get(keys.LAYOUT) or 0),
        )

    @property
    def by_group(self) -> bool:
        """Whether it scales by groups of buckets."""
        return self.scaling == keys.BUCKET_GROUPS

    def count(self, number: int) -> int:
        """How many buckets the group ``number`` has, from 0 on."""
        return self.buckets * self.factor**number if self.by_group else self.buckets

    def file_id(self, bucket: int, number: int) -> str:
        """Of the file group ``number`` of a bucket, or of a bucket of the bucket group
        ``number``."""
        layout = f"v{self.layout}-" if self.layout else ""
        return f"hoodoo-record-index-{layout}{bucket:04d}-{number}"

    def place(self, file_id: str) -> tuple[int, int] | None:
        """Bucket and number of a file group; None for one of another layout."""
        found = _FILE_ID.fullmatch(file_id)
        if found is None or int(found[1] or 0) != self.layout:
            return None
        return int(found[2]), int(found[3])

    def groups(self, number: int = 0) -> IndexGroups:
        """A slot for each bucket of the group ``number``."""
        ids = (self.file_id(bucket, number) for bucket in range(self.count(number)))
        return IndexGroups(tuple(ids), None, self.hash)

    def families(self, slices: Sequence[FileSlice]) -> Families:
        """The file groups that know keys of each bucket of the first group, the oldest first."""
        found: list[list[tuple[int, int, FileSlice]]] = [[] for _ in range(self.buckets)]
        for slice_ in slices:
            at = self.place(slice_.file_id)
            if at is not None:
                bucket, number = at
                found[bucket % self.buckets].append((number, bucket, slice_))
        return tuple(
            tuple(slice_ for _n, _b, slice_ in sorted(family, key=lambda g: g[:2]))
            for family in found
        )

    def within(self, slice_: FileSlice, asked: pa.Array) -> pa.Array:
        """Those of ``asked``, keys of the family of ``slice_``, that it may know."""
        at = self.place(slice_.file_id)
        if at is None or not self.by_group or self.count(at[1]) == self.buckets:
            return asked
        spread = np.asarray(self.hash.spread(asked.cast(pa.string())), np.int64)
        return asked.filter(pa.array(spread % self.count(at[1]) == at[0]))

    def newest(self, slices: Sequence[FileSlice]) -> int:
        """The number of the newest group that there is."""
        places = (self.place(slice_.file_id) for slice_ in slices)
        return max((at[1] for at in places if at is not None), default=0)

    def open_number(self, storage: Storage, slices: Sequence[FileSlice]) -> int:
        """The bucket group that takes new entries. ``storage`` is the metadata table's. Opens the
        files of the fullest bucket; what the others have follows from their bytes."""
        number = self.newest(slices)
        mine = [s for s in slices if (self.place(s.file_id) or (0, -1))[1] == number]
        if not mine:
            return number
        fullest = max(mine, key=lambda s: s.size)
        entries = _entries(storage, fullest)
        all_of_them = entries * sum(s.size for s in mine) / max(1, fullest.size)
        load = all_of_them / (self.cap * self.count(number))
        full = load >= LOADED or (entries >= self.cap and load >= UNEVEN)
        return number + 1 if full else number

    def known_by_slot(self, number: int, slices: Sequence[FileSlice]) -> Families:
        """The file groups that may know keys of each bucket of the group ``number``, the oldest
        first."""
        if not self.by_group:
            return self.families(slices)
        there = {self.place(slice_.file_id): slice_ for slice_ in slices}
        return tuple(
            tuple(
                there[at]
                for at in ((slot % self.count(n), n) for n in range(number + 1))
                if at in there
            )
            for slot in range(self.count(number))
        )


def refuse_strangers(snapshot: Snapshot, partition: str) -> None:
    """Raises CorruptTableError where somebody wrote who does not keep the index in ``partition``:
    it does not know all keys. Reads the metadata of commits since it was made."""
    why = why_stale(snapshot, partition)
    if why is not None:
        raise CorruptTableError(
            f"{snapshot.root}/{FOLDER}/{partition}",
            f"does not know all record keys: {why}.",
            f"Rebuild it: table.rebuild_index({INDEX_OF[partition]!r}).",
        )


def open_group(storage: Storage, first: str, groups: Sequence[FileSlice], cap: int) -> str:
    """The file id of the group of a bucket that takes new entries; ``first``: of its first one.
    ``storage`` is the metadata table's."""
    if not groups:
        return first
    youngest = groups[-1]
    bucket, _, number = youngest.file_id.rpartition("-")
    full = _entries(storage, youngest) >= cap
    return f"{bucket}-{int(number) + 1}" if full else youngest.file_id


def _entries(storage: Storage, slice_: FileSlice) -> int:
    return sum(
        layer.hfile.entry_count for layer in layers(storage, slice_) if layer.hfile is not None
    )


def is_first(file_id: str) -> bool:
    """Whether no file group is older of those that may know its keys: what is deleted there can be
    forgotten."""
    return file_id.endswith("-0")

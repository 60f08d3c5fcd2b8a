"""Index groups: which file groups a record index has, and which of them a key belongs to.

A global index has one row of them for the whole table. A partitioned one (Hudi's
RECORD_LEVEL_INDEX) has some for each partition path, made when rows first come there; a key may lie
once in each path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo_rows.model.java_hash import string_hash

from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_metadata.table.layout import RECORD_INDEX, group_id, path_prefix

Slots = npt.NDArray[np.int32]
NOWHERE = -1


@frozen
class IndexGroups:
    """``file_ids``, whose places are the slots of an exchange. ``paths``: of a partitioned index,
    partition path -> first slot and number of groups; None: a global index, whose groups are all of
    them."""

    file_ids: tuple[str, ...]
    paths: Mapping[str, tuple[int, int]] | None = None
    hash: KeyHash | None = None  # None: Hudi's

    @classmethod
    def of(cls, file_ids: Sequence[str], paths: Iterable[str] | None) -> IndexGroups:
        """Of an index that has ``file_ids``, in their order. ``paths``: those that will be asked
        about, where it is partitioned."""
        if paths is None:
            return cls(tuple(file_ids))
        found: dict[str, tuple[int, int]] = {}
        ordered: list[str] = []
        by_prefix: dict[str, list[str]] = {}
        for file_id in file_ids:
            by_prefix.setdefault(file_id.rsplit("-", 2)[0] + "-", []).append(file_id)
        for path in sorted(set(paths)):
            mine = by_prefix.get(path_prefix(path), [])
            if mine:
                found[path] = (len(ordered), len(mine))
                ordered += sorted(mine)
        return cls(tuple(ordered), found)

    @property
    def is_partitioned(self) -> bool:
        return self.paths is not None

    def with_paths(self, counts: Mapping[str, int]) -> IndexGroups:
        """With new groups for partition paths that have none: as many as ``counts`` says of
        each."""
        assert self.paths is not None
        ids, paths = list(self.file_ids), dict(self.paths)
        for path, count in sorted(counts.items()):
            if path not in paths:
                paths[path] = (len(ids), count)
                ids += [group_id(RECORD_INDEX, number, path) for number in range(count)]
        return IndexGroups(tuple(ids), paths)

    def slots(self, keys: pa.Array, partition_paths: pa.Array | None) -> Slots:
        """The slot of each key; NOWHERE for those in a path without groups. The paths are needed
        for a partitioned index only."""
        # In 64 bits there is no integer whose absolute value can't be had; Java's remainder gives
        # the same.
        if self.hash is None:
            spread = np.abs(string_hash(keys).astype(np.int64))
        else:
            spread = np.asarray(self.hash.spread(keys.cast(pa.string())), np.int64)
        if self.paths is None:
            return (spread % max(1, len(self.file_ids))).astype(np.int32)
        assert partition_paths is not None
        known = list(self.paths)
        at = pc.index_in(partition_paths, value_set=pa.array(known, pa.string()))
        place = np.asarray(at.fill_null(len(known)))
        first = np.array([*(f for f, _n in self.paths.values()), NOWHERE], np.int64)[place]
        count = np.array([*(n for _f, n in self.paths.values()), 1], np.int64)[place]
        return (first + spread % count).astype(np.int32)

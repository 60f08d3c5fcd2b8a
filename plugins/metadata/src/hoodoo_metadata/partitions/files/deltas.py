"""Changes: which files an action adds and takes away, as rows of the partition ``files``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from attrs import Factory, frozen
from hoodoo.model.commit import CHANGE_LOGS, WriteStat

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.partitions.files.rows import ALL_PARTITIONS, encode_files, encode_partitions
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.keys import file_key
from hoodoo_metadata.table.layout import FILES, group_id


@frozen
class FileChange:
    """``added``: partition path -> file name -> bytes; ``removed``: partition path -> file
    names."""

    added: Mapping[str, Mapping[str, int]] = Factory(dict)
    removed: Mapping[str, tuple[str, ...]] = Factory(dict)

    @classmethod
    def written(cls, stats: Iterable[WriteStat]) -> FileChange:
        """The files of a commit, logs of change data among them."""
        added: dict[str, dict[str, int]] = {}
        for stat in stats:
            files = added.setdefault(stat.partition_path, {})
            files[stat.path.rpartition("/")[2]] = stat.file_size
            logs = stat.extra.get(CHANGE_LOGS)
            for path, size in logs.items() if isinstance(logs, dict) else ():
                files[path.rpartition("/")[2]] = int(size)
        return cls(added)

    @classmethod
    def deleted(cls, paths: Iterable[str]) -> FileChange:
        """Files that a clean takes away; ``paths`` are below the table root."""
        removed: dict[str, list[str]] = {}
        for path in sorted(paths):
            partition, _, name = path.rpartition("/")
            removed.setdefault(partition, []).append(name)
        return cls({}, {path: tuple(names) for path, names in removed.items()})

    @classmethod
    def of(cls, stats: Iterable[WriteStat], removed: Iterable[str]) -> FileChange:
        """What an action adds and takes away."""
        return cls(cls.written(stats).added, cls.deleted(removed).removed)

    def delta(self) -> Delta:
        rows = {
            file_key(path): encode_files(self.added.get(path, {}), self.removed.get(path, ()))
            for path in {*self.added, *self.removed}
        }
        if self.added:
            rows[ALL_PARTITIONS] = encode_partitions(self.added)
        return Delta(FILES, group_id(FILES, 0), entries(rows))


def entries(rows: Mapping[str, bytes]) -> pa.Table:
    """ENTRIES of a few rows, ascending."""
    ordered = sorted((key.encode(), value) for key, value in rows.items())
    columns = [
        pa.array([key for key, _value in ordered], pa.binary()),
        pa.array([value for _key, value in ordered], pa.binary()),
    ]
    return pa.table(columns, schema=ENTRIES)

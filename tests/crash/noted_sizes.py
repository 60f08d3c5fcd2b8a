"""What commits say of base files that a test rewrites in place: without it, a file of another size is taken for another
file, and the test sees that error first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow.parquet as pq
from attrs import evolve
from hoodoo.model.commit import WriteStat
from hoodoo_standard.storage.local import LocalStorage

Stats = tuple[WriteStat, ...]


def restat(file: Path, **said: int) -> None:
    """The commits that name ``file``, a base file, say its size (bytes) and its count of rows as they are now; or what is
    ``said``. A handle of the table that has read the commits before does not see it: open the table again."""
    size, count = file.stat().st_size, pq.read_metadata(file).num_rows

    def change(stat: WriteStat) -> WriteStat:
        if not stat.path.endswith(file.name):
            return stat
        return evolve(stat, **{"file_size": size, "num_writes": count, **said})

    root = next(folder for folder in file.parents if (folder / ".hoodie").is_dir())
    commits(root, lambda stats: tuple(map(change, stats)))


def commits(path: Path, change: Callable[[Stats], Stats], replaced: bool = True) -> None:
    """All commits with other write stats; without what they replaced, if so asked."""
    table = hoodoo.open(str(path))
    timeline, storage = table.timeline(), LocalStorage(str(path))
    for write in timeline.writes():
        metadata = timeline.metadata(storage, write)
        new = evolve(metadata, stats=change(metadata.stats))
        if not replaced:
            new = evolve(new, replaced={})
        if new != metadata:
            content = timeline.layout.encode_commit(new, write.action)
            storage.put(timeline.path(write), content)

"""What replacecommits took out is read once by a process, and again where the file is another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.testing.stores import RecordingStorage
from hoodoo.timeline import timeline
from hoodoo_standard.storage.local import LocalStorage

CONFIG = TableConfig({"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"})
FOLDER = ".hoodie/timeline"


def put(folder: Path, number: int, group: str) -> Path:
    layout = timeline.from_names((), CONFIG).layout
    said = CommitMetadata(Operation.CLUSTER, (), {"p": (group,)})
    requested = 20240101000000000 + 10 * number
    path = folder / FOLDER / f"{requested}_{requested + 1}.replacecommit"
    path.write_bytes(layout.encode_commit(said, "replacecommit"))
    return path


@pytest.mark.parametrize("count", [5, 40])
def test_many_are_read_once(tmp_path: Path, count: int) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    paths = [put(tmp_path, n, f"g{n}") for n in range(count)]
    storage = RecordingStorage(LocalStorage(str(tmp_path)))

    def found() -> tuple[set[str], int]:
        before = len(storage.calls)
        groups = timeline.load(storage, CONFIG).replaced_file_groups(storage)
        reads = [path for op, path in storage.calls[before:] if op == "get"]
        return {file_id for _, file_id in groups}, len(reads)

    first = {f"g{n}" for n in range(count)}
    assert found() == (first, count)
    assert found() == (first, 0 if count > 16 else count)  # another handle
    paths.append(put(tmp_path, count, "new"))
    assert found() == (first | {"new"}, 1 if count > 16 else count + 1)
    # A table that was taken away, and another one of the same instants in its place.
    put(tmp_path, 0, "xx")
    os.utime(paths[0], (1, 1))
    groups, reads = found()
    assert groups == first - {"g0"} | {"new", "xx"}
    assert reads == (1 if count > 16 else count + 1)
    limit = paths[0].name[:17]
    now = timeline.load(storage, CONFIG)
    assert list(now.replaced_file_groups(storage, limit)) == [("p", "xx")]

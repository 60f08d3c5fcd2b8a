"""When a growing record index that scales by groups of buckets opens the next one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo_metadata.options import BUCKET_GROUPS
from hoodoo_metadata.partitions.record_index import growing as module
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.hashes import JavaHash
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)


@pytest.mark.parametrize(
    ("entries", "opens"),
    [
        ([79, 79, 79, 79], False),
        ([80, 80, 80, 80], True),  # 80 % of what all of them may have
        ([99, 60, 60, 60], False),
        ([100, 20, 20, 19], False),
        ([100, 20, 20, 20], True),  # one is full, and all together are at 40 %
        ([300, 0, 0, 0], True),
        ([150, 0, 0, 0], False),  # a hash that sends most keys into one bucket
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_when_the_next_group_of_buckets_is_opened(
    entries: list[int], opens: bool, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the fullest bucket has is looked up; of the others their bytes tell. Only the newest group counts."""
    growing = Growing(4, 100, JavaHash(), BUCKET_GROUPS, 1)
    had: dict[str, int] = {}
    for at in range(number + 1):
        for bucket, count in enumerate(entries if at == number else [100] * 4):
            had[growing.file_id(bucket, at)] = count
    slices = [
        FileSlice("", name, "1", BaseFile("", name, "1", "0-0-0", ".hfile", 48 * count))
        for name, count in had.items()
    ]
    monkeypatch.setattr(module, "_entries", lambda storage, slice_: had[slice_.file_id])
    storage = LocalStorage(str(tmp_path))
    assert growing.open_number(storage, slices) == number + opens

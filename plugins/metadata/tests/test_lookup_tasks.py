"""The buckets of a lookup in tasks: few tasks, of about equal work, and each bucket in one of them."""

from __future__ import annotations

import json

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.payload import unpack_slices
from hoodoo_metadata.partitions.record_index.index import _dealt
from hoodoo_metadata.table.layout import RECORD_INDEX

INSTANT = "00000000000000000"


def bucket(number: int, size: int) -> tuple[FileSlice, ...]:
    file_id = f"record-index-{number:04}-0"
    base = BaseFile(RECORD_INDEX, file_id, INSTANT, "0-0-0", "hfile", size)
    return (FileSlice(RECORD_INDEX, file_id, INSTANT, base_file=base),)


@pytest.mark.parametrize("tasks", [1, 4, 20])
def test_each_bucket_is_in_one_of_a_few_tasks(tasks: int) -> None:
    buckets = tuple(bucket(n, (n + 1) << 20) for n in range(12))
    numbers = [n for n in range(12) if n != 5]
    payloads = _dealt(buckets, numbers, tasks)
    assert len(payloads) == min(tasks, 11)
    dealt = [json.loads(payload) for payload in payloads]
    assert sorted(number for mine in dealt for number, _ in mine) == numbers
    for payload, mine in zip(payloads, dealt, strict=True):
        for number, slices in mine:
            assert tuple(unpack_slices(slices.encode())) == buckets[number]
        assert payload.reads == sum((number + 1) << 20 for number, _ in mine)
    if tasks == 4:
        assert max(p.reads for p in payloads) < 1.3 * min(p.reads for p in payloads)


def test_nobody_is_asked_where_no_key_has_a_bucket() -> None:
    assert _dealt((bucket(0, 1),), [], 4) == []

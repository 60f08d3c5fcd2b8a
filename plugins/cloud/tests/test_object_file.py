"""An object as a file: the same bytes as those of a file, whichever way they are read."""

from __future__ import annotations

import random

import pytest
from hoodoo_cloud.reading import ObjectFile, opened

SIZES = (0, 1, 1000, 1 << 20, (1 << 20) + 1, 5 << 20)


@pytest.mark.parametrize("size", SIZES)
def test_as_a_file(size: int) -> None:
    chance = random.Random(size)
    content = chance.randbytes(size)
    ranges: list[tuple[int, int]] = []

    def read(start: int, end: int) -> memoryview:
        ranges.append((start, end))
        return memoryview(content)[start:end]

    with opened(size, read) as file:
        assert file.size() == size
        for _ in range(200):
            place, count = chance.randint(0, size), chance.choice((0, 1, 7, 70_000, 3 << 20))
            file.seek(place)
            expected = content[place : place + count]
            method = chance.choice(("read", "read_buffer", "read_at"))
            if method == "read_at":
                found = file.read_at(count, place)
            else:
                found = getattr(file, method)(count)
            assert bytes(found) == expected, (method, place, count)
            assert file.tell() == place + len(expected) or method == "read_at"
    assert all(0 <= start < end <= size for start, end in ranges)
    assert size > 1 << 20 or len(ranges) <= 1


def test_a_buffer_is_no_copy() -> None:
    content = bytes(range(256)) * 100
    file = ObjectFile(len(content), lambda start, end: memoryview(content)[start:end])
    file.seek(10)
    view = file.read_buffer(500)
    file.seek(10)
    assert view.address == file.read_buffer(500).address
    assert view.to_pybytes() == content[10:510]


def test_too_few_bytes() -> None:
    file = ObjectFile(100, lambda start, end: memoryview(b"x"))
    with pytest.raises(OSError, match="1 bytes came for 100"):
        file.read(10)

"""A handle remembers files, and what its last look asked: never bytes that are there no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hoodoo.storage.api import Storage
from hoodoo.storage.together import looking
from hoodoo.table.settings import open_storage
from hoodoo.testing.stores import RecordingStorage
from hoodoo_cloud.remembering import Remembering

Place = tuple[str, dict[str, str]]
BOTH = pytest.mark.parametrize("place", ["memory", "server"], indirect=True)


def _read(storage: Storage, path: str) -> bytes:
    with storage.open(path) as file:
        return bytes(file.read())


@BOTH
def test_another_file_of_the_same_name_and_size_in_the_same_second(place: Place) -> None:
    mine, other = open_storage(*place), open_storage(*place)
    for turn in range(20):  # so that some are within one second by any clock
        text = b"%04d" % turn
        other.put("d/x", text)
        assert [entry.size for entry in mine.list("d")] == [4]
        assert _read(mine, "d/x") == _read(mine, "d/x") == text


@BOTH
def test_a_file_of_ours_that_another_one_replaced_before_we_listed_it(
    place: Place, tmp_path: Path
) -> None:
    mine, other = open_storage(*place), open_storage(*place)
    local = tmp_path / "local"
    local.write_bytes(b"mine")
    assert mine.put_file_if_absent("d/x", str(local))
    assert _read(mine, "d/x") == b"mine"
    other.put("d/x", b"else")
    mine.list("d")
    assert _read(mine, "d/x") == b"else"


@BOTH
def test_what_is_remembered_is_not_read_again(place: Place, tmp_path: Path) -> None:
    store: Any = open_storage(*place)
    recorded = RecordingStorage(store.inner)
    store.inner = recorded
    open_storage(*place).put("d/x", b"1234")
    for _ in range(2):
        store.list("d")
        assert _read(store, "d/x") == b"1234"
    assert [op for op, _ in recorded.calls] == ["list", "get", "list"]
    local = tmp_path / "local"
    local.write_bytes(b"mine")
    tagged: Any = open_storage(*place)
    assert tagged.put_file_if_absent("d/y", str(local))
    tagged.inner = recorded
    recorded.calls.clear()
    for _ in range(2):
        tagged.list("d")
        assert _read(tagged, "d/y") == b"mine"
    assert [op for op, _ in recorded.calls] == ["list", "list"]
    tagged.discard(["d/y"])
    with pytest.raises(FileNotFoundError):
        tagged.open("d/y")


class _Far(RecordingStorage):
    at_once = 2


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_a_look_asks_a_part_of_many_again(place: Place) -> None:
    """Those that came first; all are answered, and right."""
    inner = _Far(open_storage(*place).inner)  # type: ignore[attr-defined]
    store: Any = Remembering(inner)
    for n in range(30):
        inner.put(f"d{n}/x", b"1")
    for turn in range(3):
        inner.calls.clear()
        with looking(store, "read"):
            if turn:
                assert [path for _, path in inner.calls] == [f"d{n}" for n in range(8)]
            assert all(store.list(f"d{n}") for n in range(30))
        assert len(inner.calls) == 30

"""The suite that every base file format runs, ours or a stranger's; and what these files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.testing.contracts.file_format import FileFormatContract
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_lance.format import LanceFormat
from hoodoo_standard.storage.local import LocalStorage


class Elsewhere(DirectoryStorage):
    """A store whose files Lance can't open: what it needs of them is copied."""

    plain_files = False


class TestLance(FileFormatContract):
    """In a store of this machine."""

    nested = False  # maps, and structs that are null: see below

    @pytest.fixture
    def file_format(self) -> Any:
        return LanceFormat()


class TestLocal(TestLance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(str(tmp_path / "50 %20#1 ä"))


class TestElsewhere(TestLance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Elsewhere:
        return Elsewhere(str(tmp_path / "store"))


def test_a_partition_whose_path_lance_refuses(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "store"))
    local = str(Path(storage.scratch()) / "made")
    writer = LanceFormat().writer(local, pa.schema({"a": pa.int64()}))
    writer.write(pa.table({"a": [1, 2]}))
    writer.close()
    assert storage.put_file_if_absent("line\nbreak/f.lance", local)
    with LanceFormat().reader(storage, "line\nbreak/f.lance") as reader:
        assert [b.to_pydict() for b in reader.batches()] == [{"a": [1, 2]}]


def large(tmp_path: Path) -> tuple[Elsewhere, pa.Table]:
    """A file of some MB in a store that Lance can't open."""
    count = 100_000
    numbers = np.arange(count)
    texts = pa.array([None if i % 7 == 0 else f"text-{i}" for i in range(count)])
    lists = pa.array([[f"{i}", None][: i % 3] if i % 5 else None for i in range(count)])
    inner = pa.StructArray.from_arrays([pa.array(numbers), texts], ["n", "t"])
    vectors = pa.FixedSizeListArray.from_arrays(numbers.repeat(4).astype("float32"), 4)
    rows = pa.table({"a": numbers, "s": texts, "l": lists, "r": inner, "z": -numbers, "v": vectors})
    storage = Elsewhere(str(tmp_path / "store"))
    local = str(Path(storage.scratch()) / "made")
    writer = LanceFormat().writer(local, rows.schema)
    writer.write(rows)
    writer.close()
    assert storage.put_file_if_absent("f.lance", local)
    return storage, rows


@pytest.mark.parametrize("column", ["a", "s", "l", "r", "z", "v"])
def test_of_a_file_elsewhere_the_columns_that_are_read_are_brought(
    tmp_path: Path, column: str
) -> None:
    storage, rows = large(tmp_path)
    with LanceFormat().reader(storage, "f.lance") as reader:
        copy = Path(reader._near.local())
        assert copy.stat().st_size == reader.size() > 5 << 20
        assert copy.stat().st_blocks * 512 < 1 << 20  # its end alone
        found = pa.Table.from_batches(list(reader.batches([column])))
        assert found[column].to_pylist() == rows[column].to_pylist()
        assert copy.stat().st_blocks * 512 < 0.7 * reader.size()
        assert sum(b.num_rows for b in reader.batches()) == rows.num_rows
    assert not copy.exists()


def test_a_large_file_whose_end_is_damaged(tmp_path: Path) -> None:
    storage, _ = large(tmp_path)
    whole = storage.get("f.lance")
    for content in (whole[:-1], whole[:-40] + bytes(36) + whole[-4:], whole[:-8] + bytes(8)):
        storage.put("f.lance", content)
        with pytest.raises(CorruptTableError, match="f.lance"):
            LanceFormat().reader(storage, "f.lance")
    assert not list(Path(storage.scratch()).iterdir())

"""The suite that every base file format runs, ours or a stranger's; and what these files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.file_format import key_filter, key_range
from hoodoo.testing.contracts.file_format import FileFormatContract
from hoodoo_arrow_format.format import ArrowFormat
from hoodoo_standard.storage.local import LocalStorage

ROWS = pa.table(
    {
        "_hoodie_record_key": ["b", "a", "c"],
        "n": [3, None, 1],
        "x": [float("nan"), 2.5, None],
        "s": [{"t": "u"}, None, {"t": "v" * 5000}],
        "all": pa.nulls(3, pa.int32()),
    }
)


class TestArrow(FileFormatContract):
    @pytest.fixture
    def file_format(self) -> Any:
        return ArrowFormat()


class TestPlain(FileFormatContract):
    @pytest.fixture
    def file_format(self) -> Any:
        return ArrowFormat(compression=None)


def written(tmp_path: Path, rows: pa.Table = ROWS) -> LocalStorage:
    writer = ArrowFormat().writer(str(tmp_path / "f.arrow"), rows.schema)
    writer.write(rows)
    writer.close()
    return LocalStorage(str(tmp_path))


def test_what_a_file_says_without_its_rows(tmp_path: Path) -> None:
    found = ArrowFormat().column_ranges(
        written(tmp_path), "f.arrow", ["n", "x", "s.t", "all", "no"]
    )
    assert (found["n"].least, found["n"].greatest) == (pa.scalar(1), pa.scalar(3))
    assert (found["n"].nulls, found["all"].nulls, found["s.t"].nulls) == (1, 3, 1)
    assert found["x"].least == found["x"].greatest == pa.scalar(2.5)
    assert found["s.t"].greatest is None  # too long to be kept
    assert found["all"].least is None
    assert "no" not in found


def test_keys_without_its_rows(tmp_path: Path) -> None:
    with ArrowFormat().reader(written(tmp_path), "f.arrow") as reader:
        assert key_range(reader) == ("a", "c")
        found = key_filter(reader)
        assert found is not None
        assert found.might_contain(pa.array(["a", "nowhere"])).to_pylist() == [True, False]


def test_any_reader_of_arrow_files_reads_it(tmp_path: Path) -> None:
    written(tmp_path)
    found = pa.ipc.open_file(tmp_path / "f.arrow").read_all()
    assert found.select(["n", "s"]).equals(ROWS.select(["n", "s"]))


def test_a_file_of_another_program(tmp_path: Path) -> None:
    with pa.ipc.new_file(str(tmp_path / "f.arrow"), ROWS.schema) as writer:
        writer.write_table(ROWS)
    storage = LocalStorage(str(tmp_path))
    with ArrowFormat().reader(storage, "f.arrow") as reader:
        assert reader.num_rows == 3
        assert key_range(reader) is None
        assert sum(b.num_rows for b in reader.batches(["n"])) == 3
    assert ArrowFormat().column_ranges(storage, "f.arrow", ["n"]) == {}


def test_only_the_columns_that_are_wanted_are_read(tmp_path: Path) -> None:
    rows = pa.table({"a": range(100_000), "b": [str(i) * 20 for i in range(100_000)]})
    storage = written(tmp_path, rows)
    with ArrowFormat().reader(storage, "f.arrow") as reader:
        before = pa.total_allocated_bytes()
        (batch, *_) = list(reader.batches(["a"]))
        assert pa.total_allocated_bytes() - before < 2 << 20
    assert pc.min(batch.column(0)).as_py() == 0


def test_a_compression_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="no compression of Arrow files"):
        ArrowFormat.from_settings(Settings(options={"hoodoo.arrow_format.compression": "rar"}))

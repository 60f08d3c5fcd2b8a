"""What a data page of a few bytes can become: as many as its header says, and no more.

Arrow sees to it. The size that the footer has of the column chunk does not count."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_standard.storage.local import LocalStorage

_ROWS = 20_000
_HONEST = 8 * _ROWS
_CODECS = {"zstd": 200, "gzip": 100, "brotli": 200, "snappy": 10, "lz4": 10}  # how often as large


def peak() -> int:
    """The most that Arrow has held, in bytes."""
    found = pa.default_memory_pool().max_memory()
    assert found is not None
    return found


def field(delta: int, number: int) -> bytes:
    """A number of a Thrift struct, in its compact protocol."""
    number, out = number << 1, bytes([delta << 4 | 5])
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def with_page(path: Path, codec: str, inflated: int, claimed: int) -> ParquetReader:
    """A file whose one data page has a header that says ``claimed`` bytes, and holds as many
    zeros as ``inflated``; its footer is that of an honest file."""
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    values = np.random.default_rng(1).integers(0, 1 << 62, _ROWS)  # they do not compress
    pq.write_table(
        pa.table({"n": values}, schema), path, compression=codec, use_dictionary=False,
        write_statistics=False,
    )  # fmt: skip
    data = bytearray(path.read_bytes())
    chunk = pq.read_metadata(io.BytesIO(bytes(data))).row_group(0).column(0)
    name = "lz4_raw" if codec == "lz4" else codec
    body = pa.Codec(name).compress(b"\0" * inflated, asbytes=True)
    values_of = bytes([2 << 4 | 12]) + field(1, _ROWS) + field(1, 0) + field(1, 3) + field(1, 3)
    page = field(1, 0) + field(1, claimed) + field(1, len(body)) + values_of + b"\0\0" + body
    assert len(page) <= chunk.total_compressed_size
    data[chunk.data_page_offset : chunk.data_page_offset + len(page)] = page
    path.write_bytes(data)
    return ParquetReader(LocalStorage(str(path.parent)), path.name)


@pytest.mark.parametrize("codec", _CODECS)
def test_a_page_is_not_inflated_past_what_its_header_says(tmp_path: Path, codec: str) -> None:
    large, before = _CODECS[codec] * _HONEST, peak()
    with with_page(tmp_path / "f", codec, large, _HONEST) as reader:
        with pytest.raises(CorruptTableError, match="can't be read as parquet"):
            list(reader.batches())
    assert peak() - before < large / 2


@pytest.mark.parametrize("codec", _CODECS)
def test_a_page_that_is_smaller_than_its_header_says_is_damage(tmp_path: Path, codec: str) -> None:
    with with_page(tmp_path / "f", codec, _HONEST, 2 * _HONEST) as reader:
        with pytest.raises(CorruptTableError, match="can't be read as parquet"):
            list(reader.batches())


def test_what_the_header_says_is_the_bound_and_not_the_footer(tmp_path: Path) -> None:
    """So a table of an unknown source needs a process with a memory limit: docs/security.md."""
    large = 200 * _HONEST
    with with_page(tmp_path / "f", "zstd", large, large) as reader:
        assert sum(batch.num_rows for batch in reader.batches()) == _ROWS
    assert peak() >= large

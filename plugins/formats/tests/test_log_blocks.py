"""Formats of log blocks: those of this distribution, one of a kind that Hudi does not have, and their choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError, CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.kernel.answers import Who, checked
from hoodoo.kernel.log_files import log_files
from hoodoo.testing.contracts.log_block import LogBlockContract
from hoodoo.testing.log_builders import small_rows
from hoodoo_formats.log.avro import AvroBlocks, ChangeBlocks
from hoodoo_formats.log.content import BlockContent, Undecodable, decoding
from hoodoo_formats.log.parquet import ParquetBlocks
from hoodoo_formats.log.reader import LogReader
from hoodoo_formats.log.writer import LogWriter
from hoodoo_standard.storage.local import LocalStorage

# The shortest change data, as Spark Hudi has it.
CHANGES = pa.schema([("op", pa.string()), ("record_key", pa.string())])
CHANGES_TEXT = (
    '{"type":"record","name":"Record","fields":[{"name":"op","type":["string","null"]},'
    '{"name":"record_key","type":["string","null"]}]}'
)


class TestAvro(LogBlockContract):
    @pytest.fixture
    def log_block(self) -> LogBlockFormat:
        return AvroBlocks()


class TestParquet(LogBlockContract):
    @pytest.fixture
    def log_block(self) -> LogBlockFormat:
        return ParquetBlocks()


class TestChanges(LogBlockContract):
    @pytest.fixture
    def log_block(self) -> LogBlockFormat:
        return ChangeBlocks()

    @pytest.fixture
    def sample(self) -> tuple[pa.Table, str]:
        columns = {"op": ["i", "u"] * 100, "record_key": [f"k{n}" for n in range(200)]}
        return pa.table(columns, CHANGES), CHANGES_TEXT


@frozen
class ArrowBlocks:
    """A kind of block that no reader of Hudi knows: rows as an Arrow stream."""

    kind: int = 42

    def decode(
        self, content: BlockContent, schema_text: str, columns: Sequence[str] | None, obj: str
    ) -> pa.Table:
        with decoding(obj):
            data = content.whole()
            if data.slice(data.size - 3).to_pybytes() != b"end":
                raise Undecodable("it has no end")
            table = pa.ipc.open_stream(data.slice(0, data.size - 3)).read_all()
            names = table.schema.names if columns is None else columns
            kept = [name for name in names if name in table.schema.names]
            if not kept:
                return pa.table({"none": pa.nulls(table.num_rows)}).select([])
            return table.select(kept)

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterator[bytes | pa.Buffer]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in rows:
                stream.write_batch(batch)
        yield sink.getvalue()
        yield b"end"


class TestOfNobodyElse(LogBlockContract):
    @pytest.fixture
    def log_block(self) -> LogBlockFormat:
        return ArrowBlocks()

    def test_damage_is_no_other_error(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        """Arrow's streams are not safe against each damage: nothing is promised here."""


def test_blocks_of_a_kind_that_nobody_reads(tmp_path: Path) -> None:
    """Their rows are refused in a sentence, where the kind is Hudi's; bytes of another kind are no block."""
    mine = ArrowBlocks()
    with LogWriter(str(tmp_path / "x.log"), {**log_files().blocks, mine.kind: mine}) as writer:
        for kind in (5, mine.kind):
            writer.data_block(kind, small_rows(), instant="1", table_name="t", meta=False)
        with pytest.raises(UnsupportedTableError, match="kind HFILE"):
            writer.data_block(4, small_rows(), instant="1", table_name="t", meta=False)
        writer.close()
    storage = LocalStorage(str(tmp_path))
    with LogReader(storage, "x.log") as reader:
        (block,) = reader.blocks
        assert [d.reason for d in reader.damages] == ["42 is no kind of block"]
        with pytest.raises(UnsupportedTableError, match="PARQUET blocks.*hoodoo-formats"):
            reader.rows(block)


@pytest.mark.parametrize("damaged", [False, True])
def test_few_rows_of_a_parquet_block_are_read_by_their_pages(tmp_path: Path, damaged: bool) -> None:
    """Damage is seen in the pages that are read, and not looked for in others."""
    rows = pa.table({"n": pa.array(range(100_000)), "s": pa.array(map(str, range(100_000)))})
    with LogWriter(str(tmp_path / "x.log"), log_files().blocks) as writer:
        block = writer.data_block(5, rows, instant="1", table_name="t", meta=False)
        writer.close()
    content = bytearray((tmp_path / "x.log").read_bytes())
    if damaged:
        content[block.content_start + block.content_size // 3] ^= 1
        (tmp_path / "x.log").write_bytes(content)
    files, read = log_files(), []
    for n in range(0, 100_000, 20_000):
        with files.reader(LocalStorage(str(tmp_path)), "x.log", len(content)) as reader:
            try:
                found = reader.rows_at(block, np.array([n + 5, n + 7]), ["n", "s"])
                assert found.to_pydict() == {"n": [n + 5, n + 7], "s": [str(n + 5), str(n + 7)]}
                read.append(n)
            except CorruptTableError:
                pass
    assert len(read) == (4 if damaged else 5)
    if damaged:
        with (
            LogReader(LocalStorage(str(tmp_path)), "x.log", None, files.blocks) as reader,
            pytest.raises(CorruptTableError, match="block at offset"),
        ):
            reader.rows(block)


def test_pages_without_room_for_a_key_are_left_out(tmp_path: Path) -> None:
    """Where rows are in the order of their keys, a key is in one page; elsewhere it may be in any."""
    keys = [f"{n:06}" for n in range(100_000)]
    turned = [keys[n * 77_777 % 100_000] for n in range(100_000)]
    rows = pa.table({"k": keys, "turned": turned, "n": pa.array(range(100_000))})
    with LogWriter(str(tmp_path / "x.log"), log_files().blocks) as writer:
        block = writer.data_block(5, rows, instant="1", table_name="t", meta=False)
        short = writer.data_block(5, rows.slice(0, 9), instant="1", table_name="t", meta=False)
        writer.close()
    asked = pa.array([keys[5], keys[70_001]])
    size = (tmp_path / "x.log").stat().st_size
    with log_files().reader(LocalStorage(str(tmp_path)), "x.log", size) as reader:
        near = reader.rows_near(block, "k", asked)
        assert near is not None and {5, 70_001} <= set(near.tolist()) and len(near) < 50_000
        found = reader.rows_at(block, near, ["k"]).column("k")
        assert found.to_pylist() == [keys[n] for n in near]
        assert len(reader.rows_near(block, "k", pa.array(["x"]))) == 0
        assert reader.rows_near(block, "turned", asked) is None
        assert reader.rows_near(block, "not there", asked) is None
        assert reader.rows_near(short, "k", asked) is None


def test_of_a_format_without_it_all_rows_are_read(tmp_path: Path) -> None:
    blocks = {42: checked("log_block", ArrowBlocks(), Who("log_block", "arrow", "ours", "1"))}
    with LogWriter(str(tmp_path / "x.log"), blocks) as writer:
        block = writer.data_block(42, small_rows(), instant="1", table_name="t", meta=False)
        writer.close()
    with LogReader(LocalStorage(str(tmp_path)), "x.log", None, blocks) as reader:
        found = reader.rows_at(block, np.array([1]), None)
        assert found.equals(small_rows().slice(1, 1))
        assert reader.rows_near(block, "s", pa.array(["a"])) is None


def test_decoding_says_which_block() -> None:
    with pytest.raises(CorruptTableError, match="block 7.*OSError: gone"):
        with decoding("block 7"):
            raise OSError("gone")


@pytest.mark.parametrize(
    ("name", "says"), [("change_data", "contain changes"), ("orc", "family log_block")]
)
def test_a_table_takes_formats_of_rows_alone(tmp_path: Path, name: str, says: str) -> None:
    schema = pa.schema([("id", pa.int64())])
    path = str(tmp_path / "t")
    hoodoo.create(path, schema, record_key="id", table_type="MERGE_ON_READ")
    with pytest.raises(ConfigError, match=says):
        options = {"hoodie.logfile.data.block.format": name}
        hoodoo.open(path, options).upsert(pa.table({"id": [1]}))

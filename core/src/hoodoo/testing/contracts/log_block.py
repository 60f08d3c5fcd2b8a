"""What every format of log blocks has to keep.

Usage::

    class TestMine(LogBlockContract):
        @pytest.fixture
        def log_block(self):
            return MyBlocks()

        # For a format of other rows than those of a table:
        @pytest.fixture
        def sample(self):        # rows in plain types, and their Avro schema
            return rows, text
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen

from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.hookspecs.log_block import DecodesSome, LogBlockFormat
from hoodoo.hookspecs.log_format import LogFileWriter
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.filegroup import CHANGE_SUFFIX
from hoodoo.model.log_block import BlockKind, Header, LogBlock
from hoodoo.model.schema.avro import avro_text
from hoodoo.testing.contracts.file_format_rows import FLAT, rows
from hoodoo.testing.directory import DirectoryStorage

_INSTANT = "20250101000000001"


@frozen
class _Content:
    """The content of a block that lies in memory."""

    data: pa.Buffer

    def whole(self) -> pa.Buffer:
        return self.data

    def opened(self, sparsely: bool = False) -> pa.NativeFile:
        return pa.BufferReader(self.data)


class LogBlockContract:
    """Subclass, and answer the fixture ``log_block``."""

    @pytest.fixture
    def log_block(self) -> LogBlockFormat:
        raise NotImplementedError("override the fixture `log_block`")

    @pytest.fixture
    def sample(self) -> tuple[pa.Table, str]:
        """At least 100 rows of at least two columns, in plain types, and their Avro schema."""
        return rows(FLAT, 200), avro_text(FLAT, "t")

    def decoded(
        self, log_block: LogBlockFormat, content: bytes, text: str, columns: Sequence[str] | None
    ) -> pa.Table:
        return log_block.decode(_Content(pa.py_buffer(content)), text, columns, "the block")

    def encoded(self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]) -> bytes:
        table, text = sample
        pieces = log_block.encode(table.to_batches(max_chunksize=64), table.schema, text)
        return b"".join(bytes(memoryview(piece)) for piece in pieces)

    def test_obeys_the_protocol(self, log_block: LogBlockFormat) -> None:
        assert isinstance(log_block, LogBlockFormat)
        assert log_block.kind not in (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.CORRUPT)
        assert pickle.loads(pickle.dumps(log_block)).kind == log_block.kind

    def test_gives_back_what_was_written(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        table, text = sample
        content = self.encoded(log_block, sample)
        again: LogBlockFormat = pickle.loads(pickle.dumps(log_block))
        assert self.decoded(again, content, text, None).equals(table)

    def test_reads_the_columns_that_are_wanted_and_there(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        table, text = sample
        content = self.encoded(log_block, sample)
        some = table.schema.names[::-1][:2]
        found = self.decoded(log_block, content, text, [*some, "absent"])
        assert found.equals(table.select(some))
        none = self.decoded(log_block, content, text, [])
        assert none.num_columns == 0 and none.num_rows == table.num_rows

    def test_some_rows_are_those_of_all(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        """For a format that decodes few rows by themselves."""
        if not isinstance(log_block, DecodesSome):
            return
        table, text = sample
        many = pa.concat_tables([table] * (50_000 // table.num_rows + 1)).combine_chunks()
        name = table.schema.names[-1]
        for rows_, places in ((table, [0, 7, 99]), (many, [3, 20_000, 49_999]), (many, [])):
            content = _Content(pa.py_buffer(self.encoded(log_block, (rows_, text))))
            at = np.array(places, np.int64)
            found = log_block.decode_rows(at, content, text, None, "the block")
            assert found.equals(rows_.take(at))
            some = log_block.decode_rows(at, content, text, [name, "absent"], "the block")
            assert some.equals(rows_.select([name]).take(at))

    def test_no_rows_are_rows(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        table, text = sample
        content = self.encoded(log_block, (table.slice(0, 0), text))
        found = self.decoded(log_block, content, text, None)
        assert not found.num_rows and found.schema.equals(table.schema)

    def test_content_that_was_cut_short_is_an_error(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        content = self.encoded(log_block, sample)
        for size in (len(content) - 1, len(content) // 2, 3):
            with pytest.raises(CorruptTableError, match="the block"):
                self.decoded(log_block, content[:size], sample[1], None)

    def test_damage_is_no_other_error(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str]
    ) -> None:
        """Not each flipped bit can be seen; what is seen is an error of Hoodoo's."""
        good = self.encoded(log_block, sample)
        for at in range(0, len(good), max(1, len(good) // 50)):
            damaged = bytearray(good)
            damaged[at] ^= 0x40
            try:
                self.decoded(log_block, bytes(damaged), sample[1], None)
            except (CorruptTableError, SchemaError):
                pass

    def test_lies_in_a_log_file(
        self, log_block: LogBlockFormat, sample: tuple[pa.Table, str], tmp_path: Path
    ) -> None:
        """Between other blocks, found again by what scans the file."""
        table, text = sample
        files = LogFiles(log_files().format, {int(log_block.kind): log_block})
        name = f"x.log{CHANGE_SUFFIX}" if log_block.kind == BlockKind.CDC else "x.log"
        with files.writer(str(tmp_path / name)) as writer:
            writer.rollback_block(_INSTANT, _INSTANT)
            written = self.block(writer, log_block, table, text)
            writer.rollback_block(_INSTANT, _INSTANT)
            writer.close()
        with files.reader(DirectoryStorage(str(tmp_path)), name) as reader:
            assert not reader.damages and len(reader.blocks) == 3
            found = reader.blocks[1]
            assert found == written and found.has_rows
            assert found.headers[Header.INSTANT_TIME] == _INSTANT
            assert reader.rows(found).equals(table)

    def block(
        self, writer: LogFileWriter, log_block: LogBlockFormat, table: pa.Table, text: str
    ) -> LogBlock:
        if log_block.kind == BlockKind.CDC:
            return writer.change_block(table.to_batches(), _INSTANT, text)
        return writer.data_block(
            log_block.kind, table, instant=_INSTANT, table_name="t", meta=False
        )

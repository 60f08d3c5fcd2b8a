"""What every format of log files has to keep.

Usage::

    class TestMine(LogFormatContract):
        @pytest.fixture
        def log_format(self):
            return MyLogs()
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.log_format import LogFileReader, LogFormat
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.log_block import BlockKind
from hoodoo.testing.contracts.file_format_rows import FLAT, rows
from hoodoo.testing.directory import DirectoryStorage

_INSTANT, _TARGET = "20250101000000002", "20250101000000001"


class LogFormatContract:
    """Subclass, and answer the fixture ``log_format``."""

    @pytest.fixture
    def log_format(self) -> LogFormat:
        raise NotImplementedError("override the fixture `log_format`")

    @pytest.fixture
    def files(self, log_format: LogFormat) -> LogFiles:
        """With the formats of blocks that are installed."""
        return LogFiles(log_format, log_files().blocks)

    def opened(self, files: LogFiles, local: Path, size: int | None = None) -> LogFileReader:
        return files.reader(DirectoryStorage(str(local.parent)), local.name, size)

    def kind(self, files: LogFiles) -> int:
        """A kind of block that holds rows of a table."""
        return next(kind for kind in files.blocks if kind != BlockKind.CDC)

    def test_obeys_the_protocol(self, log_format: LogFormat) -> None:
        assert isinstance(log_format, LogFormat)
        assert isinstance(pickle.loads(pickle.dumps(log_format)), LogFormat)

    def test_gives_back_what_was_written(self, files: LogFiles, tmp_path: Path) -> None:
        table, local = rows(FLAT, 100), tmp_path / "x.log"
        keys = pa.array(["a", "b"])
        with files.writer(str(local)) as writer:
            written = [
                writer.data_block(
                    self.kind(files), table, instant=_INSTANT, table_name="t", meta=False
                ),
                writer.delete_block(keys, keys, None, None, _INSTANT),
                writer.rollback_block(_INSTANT, _TARGET),
            ]
            size = writer.close()
        assert size == local.stat().st_size
        again: LogFiles = pickle.loads(pickle.dumps(files))
        with self.opened(again, local) as reader:
            assert reader.path == "x.log"
            assert list(reader.blocks) == written and not reader.damages
            data, deletes, command = reader.blocks
            assert data.instant == deletes.instant == command.instant == _INSTANT
            assert reader.rows(data).equals(table)
            some = table.schema.names[:2]
            assert reader.rows(data, [*some, "absent"]).equals(table.select(some))
            gone = reader.deletes(deletes, [pa.int64()])
            assert gone.column("record_key").to_pylist() == keys.to_pylist()
            assert gone.column("always").to_pylist() == [True, True]
            assert gone.column("o0").null_count == 2
            assert command.is_rollback and command.target_instant == _TARGET
            with pytest.raises(UnsupportedTableError):
                reader.rows(deletes)
            with pytest.raises(UnsupportedTableError):
                reader.deletes(data, [])

    def test_blocks_say_the_rows_that_they_change(self, files: LogFiles, tmp_path: Path) -> None:
        """Of a format that notes them; of others no block says it."""
        notes = getattr(files.format, "notes_rows", False)
        local, keys = tmp_path / "x.log", pa.array(["a", "b", "c"])
        at = np.array([0, 7, 1 << 33])
        with files.writer(str(local)) as writer:
            if notes:
                writer.at_rows(_TARGET, at)
            writer.delete_block(keys, keys, None, None, _INSTANT)
            writer.delete_block(keys, keys, None, None, _INSTANT)
            writer.close()
        with self.opened(files, local) as reader:
            said, unsaid = reader.blocks
            if notes:
                found = reader.base_rows(said, _TARGET)
                assert found is not None and found.dtype == np.int64
                assert found.tolist() == at.tolist()
                assert reader.base_rows(said, _INSTANT) is None, "of another base file"
            assert not notes or reader.base_rows(unsaid, _TARGET) is None

    def test_deletes_have_their_ordering_values(self, files: LogFiles, tmp_path: Path) -> None:
        local, keys = tmp_path / "x.log", pa.array(["a", "b", "c"])
        with files.writer(str(local)) as writer:
            values, always = pa.array([5, 7, None], pa.int64()), pa.array([False, True, False])
            writer.delete_block(keys, keys, [values], always, _INSTANT)
            writer.close()
        with self.opened(files, local) as reader:
            found = reader.deletes(reader.blocks[0], [pa.int64()])
        assert found.column("o0").to_pylist() == [5, None, None]
        assert found.column("always").to_pylist() == [False, True, True]

    def test_any_content_is_given_back(self, files: LogFiles, tmp_path: Path) -> None:
        local = tmp_path / "x.log"
        with files.writer(str(local)) as writer:
            made = writer.block(
                BlockKind.HFILE, _INSTANT, "{}", lambda file: file.write(b"DATABLK*" * 9)
            )
            writer.close()
        with self.opened(files, local) as reader:
            assert reader.blocks == (made,) and not reader.damages
        content = local.read_bytes()[made.content_start : made.content_start + made.content_size]
        assert content == b"DATABLK*" * 9

    def test_blocks_of_a_log_compaction(self, files: LogFiles, tmp_path: Path) -> None:
        local, keys = tmp_path / "x.log", pa.array(["1"])
        with files.writer(str(local)) as writer:
            plain = writer.delete_block(keys, keys, None, None, _INSTANT)
            writer.stands_for([_TARGET, _INSTANT])
            merged = writer.delete_block(keys, keys, None, None, _INSTANT)
            writer.close()
        with self.opened(files, local) as reader:
            assert reader.blocks == (plain, merged)
        assert plain.compacted_times == ()
        assert merged.compacted_times == (_TARGET, _INSTANT)

    def test_what_comes_after_the_size_does_not_count(
        self, files: LogFiles, tmp_path: Path
    ) -> None:
        local = tmp_path / "x.log"
        with files.writer(str(local)) as writer:
            first = writer.rollback_block(_INSTANT, _TARGET)
            writer.rollback_block(_INSTANT, _TARGET)
            writer.close()
        with self.opened(files, local, first.size) as reader:
            assert reader.blocks == (first,) and not reader.damages

    def test_what_was_cut_short_is_damage(self, files: LogFiles, tmp_path: Path) -> None:
        local = tmp_path / "x.log"
        with files.writer(str(local)) as writer:
            whole = writer.rollback_block(_INSTANT, _TARGET)
            writer.data_block(
                self.kind(files), rows(FLAT, 50), instant=_INSTANT, table_name="t", meta=False
            )
            size = writer.close()
        local.write_bytes(local.read_bytes()[: size - 9])
        with self.opened(files, local) as reader:
            assert reader.blocks[0] == whole
            assert len(reader.blocks) == 1 and reader.damages

    def test_a_file_that_is_missing(self, files: LogFiles, tmp_path: Path) -> None:
        with pytest.raises(CorruptTableError, match="no.log"):
            self.opened(files, tmp_path / "no.log")

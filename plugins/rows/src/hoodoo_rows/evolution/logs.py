"""Log files with blocks of earlier schemas, read with the names that the table has now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.log_format import LogFileReader, LogFileWriter
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.log_block import BlockKind, Damage, LogBlock
from hoodoo.storage.api import Storage

from hoodoo_rows.evolution.history import History
from hoodoo_rows.evolution.names import Names


@frozen
class EvolvedLogs:
    """Log files whose blocks have the table's names, each as of the instant that wrote it."""

    stored: LogFiles
    history: History

    def reader(self, storage: Storage, path: str, size: int | None = None) -> LogFileReader:
        """As the inner one's."""
        return EvolvedLogReader(self.stored.reader(storage, path, size), self.history)

    def writer(self, local: str) -> LogFileWriter:
        """The inner one's: new blocks have the table's names."""
        return self.stored.writer(local)


@frozen
class EvolvedLogReader:
    """A log file whose blocks have the table's names of columns."""

    stored: LogFileReader
    history: History

    @property
    def path(self) -> str:
        """Relative to the table."""
        return self.stored.path

    @property
    def blocks(self) -> tuple[LogBlock, ...]:
        """The inner reader's."""
        return self.stored.blocks

    @property
    def damages(self) -> tuple[Damage, ...]:
        """The inner reader's."""
        return self.stored.damages

    def rows(self, block: LogBlock, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a block, by the table's names."""
        names = self._names(block)
        if names is None:
            return self.stored.rows(block, columns)
        return names.rows(self.stored.rows(block, _in_file(names, columns)))

    def rows_at(
        self, block: LogBlock, at: npt.NDArray[np.int64], columns: Sequence[str] | None
    ) -> pa.Table:
        """The same in the places ``at``."""
        names = self._names(block)
        if names is None:
            return self.stored.rows_at(block, at, columns)
        return names.rows(self.stored.rows_at(block, at, _in_file(names, columns)))

    def rows_near(
        self, block: LogBlock, column: str, values: pa.Array
    ) -> npt.NDArray[np.int64] | None:
        """The inner reader's: of meta columns, which are never renamed."""
        return self.stored.rows_near(block, column, values)

    def _names(self, block: LogBlock) -> Names | None:
        names = self.history.names(block.instant)
        if names is not None and block.kind == BlockKind.CDC:
            images = {"before": names, "after": names}
            return Names({}, frozenset(), frozenset(), images)
        return names

    def deletes(self, block: LogBlock, ordering: Sequence[pa.DataType]) -> pa.Table:
        """The inner reader's: keys and ordering columns have one name always."""
        return self.stored.deletes(block, ordering)

    def base_rows(self, block: LogBlock, base_instant: str) -> npt.NDArray[np.int64] | None:
        """The inner reader's: other names do not move rows."""
        return self.stored.base_rows(block, base_instant)

    def close(self) -> None:
        """Close the file."""
        self.stored.close()

    def __enter__(self) -> EvolvedLogReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _in_file(names: Names, columns: Sequence[str] | None) -> Sequence[str] | None:
    return None if columns is None else names.in_file(columns)

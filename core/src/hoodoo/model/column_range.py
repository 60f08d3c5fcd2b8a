"""Column range: what a file, or a partition, holds in a column."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen

from hoodoo.model.range_values import Raw, typed


@frozen
class ColumnRange:
    """What is in ``column`` of a file, or, if ``of_partition``, of all files of a partition.

    ``name``: the file's, or the partition path. ``least`` and ``greatest`` without their type,
    which is ``kind``: see :mod:`hoodoo.model.range_values`; None where there is no value, or it
    isn't known. ``values`` counts rows, nulls included. ``size`` and ``raw_size`` are bytes in the
    file and before compression; 0 in log files. ``is_tight``: all existing files were read, so
    earlier ranges do not count. ``is_deleted``: the file, or the partition, was deleted.
    """

    column: str
    name: str
    least: Raw | None = None
    greatest: Raw | None = None
    kind: pa.DataType | None = None
    values: int = 0
    nulls: int = 0
    size: int = 0
    raw_size: int = 0
    of_partition: bool = False
    is_tight: bool = False
    is_deleted: bool = False

    @property
    def is_known(self) -> bool:
        """Whether each value that is not null lies between ``least`` and ``greatest``. Where it
        isn't, nothing can be ruled out; Hudi's readers would take the column for null
        throughout."""
        return (self.least is not None and self.greatest is not None) or self.nulls >= self.values

    @property
    def minimum(self) -> pa.Scalar:
        """``least`` as a value of type ``kind``."""
        return typed([self.least], self.kind or pa.null())[0]

    @property
    def maximum(self) -> pa.Scalar:
        """``greatest`` as a value of type ``kind``."""
        return typed([self.greatest], self.kind or pa.null())[0]

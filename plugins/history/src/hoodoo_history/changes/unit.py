"""Unit: one file group, or one partition path of a replacing commit, before and after one
commit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo_rows.api import RowSpec
from hoodoo_rows.model.filter_text import text_of, whole

INSERT, UPDATE, DELETE = "insert", "update", "delete"
OPS = (DELETE, UPDATE, INSERT)


@frozen
class ChangeUnit:
    """What one task compares.

    ``old`` and ``new``: the slices before and after the commit. ``before``: version 6 only, the
    newest request that counts in logs of ``old``. ``ops``: what is wanted of it. ``part`` of
    ``parts``: of the rows those whose key falls there, where the whole is too large for one task.
    ``logs``: change data logs, which are read instead of ``old``.
    """

    instant: str
    completed: str
    partition_path: str
    old: tuple[FileSlice, ...]
    new: tuple[FileSlice, ...]
    before: str = ""
    ops: tuple[str, ...] = OPS
    part: int = 0
    parts: int = 1
    logs: tuple[LogFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the files to be compared."""
        slices = sum(slice_.size for slice_ in (*self.old, *self.new))
        return slices + sum(log.size for log in self.logs)


@frozen
class ChangeSpec:
    """``rows``: the columns that are read, key and commit time among them. ``images``: those of
    them that before and after consist of. ``where`` is asked of both images and reads
    ``where_columns``."""

    rows: RowSpec
    images: tuple[str, ...]
    where: pc.Expression | None = field(
        default=None, eq=whole, repr=lambda where: "None" if where is None else text_of(where)
    )
    where_columns: tuple[str, ...] = ()

    @property
    def needs(self) -> frozenset[str]:
        """The columns that an image must have."""
        return frozenset((*self.images, *self.where_columns))

    @property
    def image(self) -> pa.StructType:
        return pa.struct([self.rows.schema.field(name) for name in self.images])

    @property
    def out_schema(self) -> pa.Schema:
        """One row for each change."""
        return pa.schema(
            [
                ("op", pa.string()),
                ("instant", pa.string()),
                ("completed", pa.string()),
                ("before", self.image),
                ("after", self.image),
            ]
        )

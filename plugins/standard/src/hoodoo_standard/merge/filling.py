"""Filling: the row that wins takes values from the other one, where it has none itself.

Hudi's partial update modes IGNORE_DEFAULTS and FILL_UNAVAILABLE (``PartialUpdateHandler``). A value
that is missing is null in the first, in the second a text or bytes that stand for it. Hudi's
IGNORE_DEFAULTS compares with the default of the Avro schema; that of a column of Spark and of
Hoodoo is null.

A delete fills nothing, and nothing is filled from one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import frozen
from hoodoo.hookspecs.merger import Merged, Merger
from hoodoo.model.meta import FILE_NAME, IS_DELETED, OPERATION, PARTITION_PATH
from hoodoo_rows.model.internal_row import OP, PUT

Mask = npt.NDArray[np.bool_]
# Of Hudi's and Hoodoo's own columns, what belongs to the values; the others tell of the write.
_OF_VALUES = frozenset({OP, PARTITION_PATH, FILE_NAME, IS_DELETED, OPERATION})


@frozen
class FillingMerger:
    """``order`` says which row wins. ``unavailable``: the text that stands for a value; None: nulls
    are filled. ``fixed``: columns that are never filled, those of the key and the partition path,
    which says where a row lies."""

    order: Merger
    unavailable: str | None = None
    fixed: frozenset[str] = frozenset()
    delete_mark: tuple[str, tuple[str, ...]] | None = None

    @property
    def merge_mode(self) -> str:
        return self.order.merge_mode

    @property
    def strategy_id(self) -> str:
        return self.order.strategy_id

    @property
    def columns(self) -> tuple[str, ...] | None:
        return None

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        """A pair of which the older row wins, and takes nothing, is one that does not change."""
        wins = np.asarray(self.order.merge(older, newer).newer_wins, np.bool_)
        both = self._are_rows(older, newer)
        taken = {name: wins for name in newer.schema.names if name in _OF_VALUES}
        changed = wins.copy()
        for name in newer.schema.names:
            if name.startswith("_hoodie_"):
                continue
            taken[name] = wins
            if name not in self.fixed:
                lacks, lacked = self._lacks(newer.column(name)), self._lacks(older.column(name))
                fill = both & np.where(wins, lacks & ~lacked, lacked & ~lacks)
                taken[name] = wins ^ fill
                changed |= fill
        columns = [
            _chosen(older.column(n), newer.column(n), taken.get(n, changed))
            for n in newer.schema.names
        ]
        rows = pa.Table.from_arrays(columns, schema=newer.schema)
        return Merged(newer_wins=pa.array(changed), rows=rows)

    def _lacks(self, values: pa.ChunkedArray) -> Mask:
        if self.unavailable is None:
            return np.asarray(values.is_null(), np.bool_)
        kind = values.type.value_type if pt.is_dictionary(values.type) else values.type
        if not _is_text(kind):
            return np.zeros(len(values), np.bool_)
        stands_for = pa.scalar(self.unavailable, pa.string()).cast(kind)
        plain = values.cast(kind) if kind != values.type else values
        return np.asarray(pc.fill_null(pc.equal(plain, stands_for), False), np.bool_)

    @staticmethod
    def _are_rows(older: pa.Table, newer: pa.Table) -> Mask:
        if OP not in newer.schema.names:
            return np.ones(newer.num_rows, np.bool_)
        puts = [np.asarray(pc.equal(table.column(OP), PUT), np.bool_) for table in (older, newer)]
        return puts[0] & puts[1]


def _is_text(kind: pa.DataType) -> bool:
    texts = pt.is_string, pt.is_large_string, pt.is_binary, pt.is_large_binary
    return any(is_one(kind) for is_one in texts)


def _chosen(older: pa.ChunkedArray, newer: pa.ChunkedArray, takes: Mask) -> Any:
    if takes.all():
        return newer
    if not takes.any():
        return older.cast(newer.type)
    at = np.arange(len(takes)) + np.where(takes, len(takes), 0)
    return pa.chunked_array([*older.cast(newer.type).chunks, *newer.chunks]).take(pa.array(at))

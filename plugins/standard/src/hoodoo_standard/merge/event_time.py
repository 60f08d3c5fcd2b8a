"""The row with the higher ordering value wins; the later one if they are equal.

Rules, in this order:

1. a newer row that is a delete by key (``_hoodie__op`` 1) wins;
2. a newer row wins over an older delete by key, which has no ordering value to compare;
3. ordering columns are compared from the first to the last; the first difference decides;
4. within a column null is lowest, then values in their order; of floating-point numbers NaN is
   highest and -0.0 is below 0.0, as in ``Double.compareTo``;
5. all equal: the newer row wins.

A row marked as deleted (``_hoodie__op`` 2) has ordering values and is compared like any other.

Hudi 1.2 follows the same rules except for nulls, on which its upsert fails. Rules 3 to 5 are a
total preorder, hence associative. Rules 1 and 2 are not (in Hudi neither): a delete by key followed
by a lower value keeps that value only if the three rows are merged from the oldest to the newest.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import frozen
from hoodoo.errors import ConfigError, DataError, MissingColumnError
from hoodoo.hookspecs.merger import Merged
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.model.internal_row import DELETE, OP

from hoodoo_standard.payloads import Payload, merging_of

STRATEGY_ID = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"

Mask = npt.NDArray[np.bool_]


@frozen
class EventTimeMerger:
    """Hudi's EVENT_TIME_ORDERING over one or several ordering columns. ``delete_mark``: what marks
    rows as deleted, if something does. ``by_sequence``: the ordering column has texts such as
    000003.154, a number of a file and a position there, which are compared as numbers."""

    ordering_fields: tuple[str, ...]
    delete_mark: tuple[str, tuple[str, ...]] | None = None
    by_sequence: bool = False

    @classmethod
    def from_settings(cls, settings: Settings, payload: Payload | None = None) -> EventTimeMerger:
        merging = merging_of(settings.table, payload)
        fields = settings.table.ordering_fields
        if not fields:
            raise ConfigError(
                "merger event_time",
                "the table has no ordering columns.",
                "create the table with ordering=[...], or use the merger commit_time.",
            )
        return cls(fields, merging.mark, merging.by_sequence)

    @property
    def merge_mode(self) -> str:
        return "EVENT_TIME_ORDERING"

    @property
    def strategy_id(self) -> str:
        return STRATEGY_ID

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self.ordering_fields

    def _values(self, table: pa.Table) -> list[pa.ChunkedArray]:
        """What is compared, the first of it first."""
        columns = list(map(partial(_column, table), self.ordering_fields))
        return _places(columns[0]) if self.by_sequence else columns

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        """Raises MissingColumnError if an ordering column lacks."""
        undecided = np.ones(newer.num_rows, np.bool_)
        wins = np.zeros(newer.num_rows, np.bool_)
        for left, right in zip(self._values(older), self._values(newer), strict=True):
            less, greater = _compare(left, right)
            wins |= undecided & less
            undecided &= ~(less | greater)
            if not undecided.any():
                break
        wins |= undecided
        if OP in newer.schema.names:
            for table in (older, newer):
                wins |= np.asarray(pc.equal(table.column(OP), DELETE), np.bool_)
        return Merged(newer_wins=pa.array(wins))


def _places(values: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """File and position of each value, as numbers. DataError for a text that is neither."""
    found = pc.extract_regex(values.cast(pa.string()), r"^(?P<file>\d{1,18})\.(?P<place>\d{1,18})$")
    wrong = pc.and_(values.is_valid(), pc.invert(found.is_valid()))
    if pc.any(wrong).as_py():
        raise DataError(
            f"ordering value {values.filter(wrong)[0].as_py()!r}",
            "is no number of a binlog file and a position, such as 000003.154.",
            "correct the column; rows are compared by it.",
        )
    return [pc.struct_field(found, name).cast(pa.int64()) for name in ("file", "place")]


def _column(table: pa.Table, field: str) -> pa.ChunkedArray:
    if field not in table.schema.names:
        raise MissingColumnError(
            f"ordering column {field!r}",
            f"is not among the columns: {', '.join(table.schema.names)}.",
            "add the column to the data; rows are compared by it.",
        )
    return table.column(field)


def _compare(older: pa.ChunkedArray, newer: pa.ChunkedArray) -> tuple[Mask, Mask]:
    """Where ``older`` is less and where it is greater than ``newer``, nulls lowest."""
    if pt.is_floating(older.type):
        older, newer = _total_order(older), _total_order(newer)
    elif pt.is_dictionary(older.type):
        older, newer = older.cast(older.type.value_type), newer.cast(older.type.value_type)
    elif pt.is_boolean(older.type):
        older, newer = older.cast(pa.int8()), newer.cast(pa.int8())
    older_null, newer_null = _mask(older.is_null()), _mask(newer.is_null())
    less = _mask(pc.fill_null(pc.less(older, newer), False))
    greater = _mask(pc.fill_null(pc.greater(older, newer), False))
    return less | (older_null & ~newer_null), greater | (newer_null & ~older_null)


def _total_order(values: pa.ChunkedArray) -> pa.Array:
    """Integers in the order of ``Double.compareTo``: the sign decides which way bits count."""
    valid = _mask(values.is_valid())
    floats = np.asarray(values.cast(pa.float64()).fill_null(0.0), np.float64).copy()
    floats[np.isnan(floats)] = np.nan  # one NaN, the positive one
    bits = np.abs(floats).view(np.int64)
    return pa.array(np.where(np.signbit(floats) & ~np.isnan(floats), ~bits, bits), mask=~valid)


def _mask(values: Any) -> Mask:
    return np.asarray(values, np.bool_)

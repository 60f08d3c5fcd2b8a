"""What Hudi's payload classes do with rows of one key: a small reference, row by row.

Written from ``BufferedRecordMergerFactory``, ``PartialUpdateHandler`` and ``DeleteContext`` of Hudi
1.2, for tables of version 9. A row is a dict; a delete has ``DELETED``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

Row = dict[str, Any]
UNAVAILABLE = "__debezium_unavailable_value"


@frozen
class Kind:
    """``ordering``: the columns that decide which row is newer; none: the later one is.
    ``lacks``: whether a value is none. ``mark``: the column and the text of deletes."""

    merger: str
    ordering: tuple[str, ...] = ()
    lacks: Callable[[Any], bool] = lambda value: False
    mark: tuple[str, str] | None = None

    def deleted(self, row: Row) -> bool:
        return self.mark is not None and row[self.mark[0]] == self.mark[1]

    def place(self, row: Row) -> tuple[Any, ...]:
        """Null is lowest."""
        return tuple((row[n] is not None, row[n]) for n in self.ordering)

    def merged(self, older: Row | None, newer: Row, fixed: tuple[str, ...]) -> Row:
        if older is None:
            return newer
        wins = self.place(newer) >= self.place(older)
        high, low = (newer, older) if wins else (older, newer)
        if self.deleted(high) or self.deleted(low):
            return high
        return {
            n: low[n] if n not in fixed and self.lacks(value) else value
            for n, value in high.items()
        }


KINDS: Mapping[str, Kind] = {
    kind.merger: kind
    for kind in (
        Kind("partial_update", ("ts",), lambda value: value is None),
        Kind("overwrite_non_defaults", (), lambda value: value is None),
        Kind("aws_dms", (), mark=("Op", "D")),
        Kind(
            "postgres_debezium",
            ("_event_lsn",),
            lambda value: value in (UNAVAILABLE, UNAVAILABLE.encode()),
            ("_change_operation_type", "d"),
        ),
        Kind(
            "mysql_debezium",
            ("_event_bin_file", "_event_pos"),
            mark=("_change_operation_type", "d"),
        ),
    )
}

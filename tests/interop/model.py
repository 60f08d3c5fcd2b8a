"""What a table must hold after a list of writes, as a dictionary: the third opinion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.string()), ("name", pa.string()), ("ts", pa.int64()), ("region", pa.string())]
)
Row = dict[str, Any]
Key = tuple[Any, ...]


def table(rows: Iterable[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


@define
class Model:
    """Rows by key; ``keys`` are the columns that make it (partition columns too: an index that is
    not global keeps one row for each partition path)."""

    keys: tuple[str, ...] = ("id", "region")
    ordering: str | None = "ts"
    rows: dict[Key, Row] = field(factory=dict)

    def key(self, row: Mapping[str, Any]) -> Key:
        return tuple(row[name] for name in self.keys)

    def upsert(self, rows: Iterable[Row]) -> list[Row]:
        rows = list(rows)
        for row in rows:
            old = self.rows.get(self.key(row))
            if old is None or self.ordering is None or row[self.ordering] >= old[self.ordering]:
                self.rows[self.key(row)] = row
        return rows

    def delete(self, rows: Iterable[Row]) -> list[Row]:
        rows = list(rows)
        for row in rows:
            self.rows.pop(self.key(row), None)
        return rows

    def replace(self, rows: Iterable[Row], column: str | None = None) -> list[Row]:
        """insert_overwrite by partition ``column``; of the whole table without one."""
        rows = list(rows)
        gone = None if column is None else {row[column] for row in rows}
        self.rows = {
            key: row
            for key, row in self.rows.items()
            if gone is not None and row[column] not in gone
        }
        return self.upsert(rows)

    def drop(self, column: str, value: Any) -> None:
        self.rows = {key: row for key, row in self.rows.items() if row[column] != value}

    def expect(self, found: pa.Table, where: str) -> None:
        """``found`` holds exactly these rows, each once (meta columns are left out)."""
        names = [n for n in found.column_names if not n.startswith("_hoodie_")]
        rows = found.select(names).to_pylist()
        keys = [self.key(row) for row in rows]
        twice = sorted({repr(k) for k in keys if keys.count(k) > 1})
        assert not twice, f"{where}: keys there more than once: {twice[:5]}"
        missing = sorted(repr(k) for k in set(self.rows) - set(keys))
        surplus = sorted(repr(k) for k in set(keys) - set(self.rows))
        assert not missing and not surplus, f"{where}: missing {missing[:5]} surplus {surplus[:5]}"
        wrong = [(row, self.rows[self.key(row)]) for row in rows if row != self.rows[self.key(row)]]
        assert not wrong, f"{where}: {wrong[:3]}"


# Keys with what separates fields, other alphabets, quotes.
KEYS = [f"k{i}" for i in range(40)] + [
    "a,b",
    "c:d",
    "ключ",
    "𝄞 clef",
    "with space",
    "x:1,y:2",
    "'q'",
]

# The region follows from the key, so that a key stays in its partition.
rows = Maker(
    SCHEMA, "ts", "word", region=lambda key: "eu" if len(key) % 2 else "us",
    name=lambda key, word: f"{word}-{key}",
).dicts  # fmt: skip

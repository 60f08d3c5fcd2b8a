"""A life of a table whose columns are renamed, dropped and added between writes and services, and a model of its rows.

A column of the model is a number: names change, and the number stays.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, evolve, field, frozen
from hoodoo.errors import CommitConflictError, ConfigError
from long_life import CITIES, Kind
from long_life import OPTIONS as SERVICES

# Writers go first: plans of clusterings give way to writes, and wait through changes of columns.
OPTIONS = {**SERVICES, "hoodie.clustering.updates.strategy": "allow"}
STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string())])
VECTOR, VARIANT, BLOB = hoodoo.vector(2), hoodoo.variant(), hoodoo.blob()
NTZ, MONEY = pa.timestamp("us"), pa.decimal128(9, 2)
# By the words that `alter` takes.
TYPES = {
    "bigint": pa.int64(), "string": pa.string(), "double": pa.float64(), "struct<x: bigint, y: string>": STRUCT,
    "VECTOR(2)": VECTOR, "VARIANT": VARIANT, "BLOB": BLOB, "timestamp_ntz": NTZ, "decimal(9, 2)": MONEY,
}  # fmt: skip


@frozen
class Column:
    """``name`` now; ``inner``: the names of the two fields of a struct now."""

    name: str
    type: pa.DataType
    inner: tuple[str, str] = ("x", "y")

    @property
    def now(self) -> pa.DataType:
        if self.type != STRUCT:
            return self.type
        return pa.struct([f.with_name(name) for f, name in zip(STRUCT, self.inner, strict=True)])

    def shown(self, value: Any) -> Any:
        """A value of the model as the table shows it."""
        if value is None or self.type != STRUCT:
            return value
        return dict(zip(self.inner, value, strict=True))


@frozen
class State:
    """``columns`` by number; ``rows``: key -> partition path, values by number of their column."""

    columns: Mapping[int, Column]
    rows: Mapping[str, tuple[str, Mapping[int, Any]]]

    def shown(self) -> list[dict[str, Any]]:
        """The rows as the table shows them."""
        return [
            {"id": key, "city": city}
            | {c.name: c.shown(values.get(n)) for n, c in self.columns.items()}
            for key, (city, values) in sorted(self.rows.items())
        ]


@define
class AlteredLife:
    """One table at ``path``. ``past``: requested time of each write -> the state after it. ``said``: the steps."""

    kind: Kind
    partitioned: bool
    path: Path
    chance: random.Random
    state: State = field(init=False)
    past: dict[str, State] = field(factory=dict)
    saved: list[str] = field(factory=list)
    indexed: int | None = None
    said: list[str] = field(factory=list)
    number: int = 10

    def begin(self) -> None:
        """Create the table, and its first rows."""
        columns = {0: Column("a", pa.int64()), 1: Column("b", pa.string()), 2: Column("s", STRUCT)}
        columns[3] = Column("d", self.chance.choice((VECTOR, VARIANT, BLOB, NTZ)))
        self.state = State(columns, {})
        options = {**OPTIONS, "hoodie.metadata.enable": str(self.kind.metadata).lower()}
        if self.kind.virtual:
            options["hoodie.populate.meta.fields"] = "false"
        if self.kind.index == "bucket":
            options["hoodie.bucket.index.num.buckets"] = "2"
        hoodoo.create(
            str(self.path), self._schema(), name="trips", record_key="id",
            partition_by="city" if self.partitioned else (), index=self.kind.index,
            table_version=self.kind.version,
            table_type="MERGE_ON_READ" if self.kind.is_merged else "COPY_ON_WRITE", options=options,
        )  # fmt: skip
        for _ in range(2):
            self.upsert()

    @property
    def table(self) -> hoodoo.Table:
        """Opened anew, as by another process."""
        return hoodoo.open(str(self.path), OPTIONS)

    def live(self, steps: int) -> None:
        """Take steps, and compare the rows after each."""
        for _ in range(steps):
            name = self.chance.choices(list(_STEPS), list(_STEPS.values()))[0]
            self.said.append(name)
            getattr(self, name)()
            self.check()

    # --- the model ------------------------------------------------------------------------------
    def _schema(self) -> pa.Schema:
        own = [(c.name, c.now) for c in self.state.columns.values()]
        return pa.schema([("id", pa.string()), ("city", pa.string()), *own])

    def _data(self, rows: list[dict[str, Any]]) -> pa.Table:
        """Rows as they are shown, to be written."""
        made = {}
        for field_ in self._schema():
            values = [row[field_.name] for row in rows]
            is_variant = field_.type == VARIANT
            made[field_.name] = (
                hoodoo.variants(values) if is_variant else pa.array(values, field_.type)
            )
        return pa.table(made)

    def _wrote(self, instant: str, state: State) -> None:
        self.state = self.past[instant] = state

    def _value(self, kind: pa.DataType) -> Any:
        number = self.chance.randrange(50)
        if number < 5:
            return None
        made: dict[pa.DataType, Any] = {
            STRUCT: (number, str(number)),
            VECTOR: [number / 2, -1.0],
            VARIANT: [number, "x", {"k": [None, True, {}]}, "text", []][number % 5],
            BLOB: {"type": "INLINE", "data": b"%d" % number, "reference": None},
            NTZ: dt.datetime(1970, 1, 1) + dt.timedelta(days=number - 25, microseconds=1),
            MONEY: decimal.Decimal(number).scaleb(-2),
            pa.string(): str(number),
            pa.float64(): float(number),
        }
        return made.get(kind, number)

    def check(self) -> None:
        """The rows of now, those of an older instant, and a filter."""
        table, want = self.table, self.state.shown()
        found = sorted(table.read().to_pylist(), key=lambda row: row["id"])
        assert found == want, self.said
        for column in self.state.columns.values():
            same = [row["id"] for row in want if row[column.name] is None]
            got = sorted(
                row["id"] for row in table.read(["id"], where=f"{column.name} is null").to_pylist()
            )
            assert got == same, (column, self.said)
        plain = [n for n, c in self.state.columns.items() if c.type in (pa.int64(), pa.string())]
        asked = self.chance.sample(plain, min(1, len(plain)))
        for number in asked if self.indexed is None else [self.indexed]:
            name = self.state.columns[number].name
            value = self._value(self.state.columns[number].type)
            test = f"{name} is null" if value is None else f"{name} = {value!r}"
            same = [row["id"] for row in want if row[name] == value]
            got = sorted(row["id"] for row in table.read(where=test).to_pylist())
            assert got == same, (test, self.said)
        instant = self.chance.choice(sorted(self.past))
        with suppress(ConfigError):  # cleaned or archived
            then = sorted(table.read(as_of=instant).to_pylist(), key=lambda row: row["id"])
            assert then == self.past[instant].shown(), (instant, self.said)

    # --- steps ----------------------------------------------------------------------------------
    def upsert(self) -> None:
        """Some rows of the table, and some new ones."""
        rows = dict(self.state.rows)
        chosen = self.chance.sample(sorted(rows), min(3, len(rows)))
        if len(rows) < 12:
            self.number += 3
            chosen += [f"k{self.number + n}" for n in range(3)]
        for key in chosen:
            city = rows[key][0] if key in rows else self.chance.choice(CITIES)
            values = {n: self._value(c.type) for n, c in self.state.columns.items()}
            rows[key] = (city, values)
        after = evolve(self.state, rows=rows)
        only = evolve(after, rows={key: rows[key] for key in chosen})
        commit = self.table.upsert(self._data(only.shown()))
        self._wrote(commit.instant, after)

    def delete(self) -> None:
        """Some rows by key."""
        if len(self.state.rows) < 6:
            return
        keys = self.chance.sample(sorted(self.state.rows), 2)
        rows = {key: row for key, row in self.state.rows.items() if key not in keys}
        gone = [row for row in self.state.shown() if row["id"] in keys]
        commit = self.table.delete(self._data(gone))
        self._wrote(commit.instant, evolve(self.state, rows=rows))

    def update(self) -> None:
        """A column of all rows of a city, by its name."""
        plain = [n for n, c in self.state.columns.items() if c.type == pa.int64()]
        city = self.chance.choice(CITIES)
        if not plain or not any(row[0] == city for row in self.state.rows.values()):
            return
        number, value = self.chance.choice(plain), self.chance.randrange(50)
        rows = {
            key: (c, {**values, number: value} if c == city else values)
            for key, (c, values) in self.state.rows.items()
        }
        commit = self.table.update(
            {self.state.columns[number].name: str(value)}, where=f"city = '{city}'"
        )
        if commit.instant:
            self._wrote(commit.instant, evolve(self.state, rows=rows))

    def alter(self) -> None:
        """Columns get other names, go, and come."""
        self.number += 1
        columns = dict(self.state.columns)
        free = [n for n in columns if n != self.indexed]
        how: dict[str, Any] = {}
        kind = self.chance.choice(("rename", "rename", "inner", "drop", "add", "swap"))
        structs = [n for n in free if columns[n].type == STRUCT]
        if kind == "rename" and free:
            number = self.chance.choice(free)
            how = {"rename": {columns[number].name: f"c{self.number}"}}
            columns[number] = evolve(columns[number], name=f"c{self.number}")
        elif kind == "inner" and structs:
            one = columns[number := self.chance.choice(structs)]
            how = {"rename": {f"{one.name}.{one.inner[0]}": f"x{self.number}"}}
            columns[number] = evolve(one, inner=(f"x{self.number}", one.inner[1]))
        elif kind == "drop" and len(free) > 2:
            number = self.chance.choice(free)
            how = {"drop": columns.pop(number).name}
        elif kind == "add":
            word = self.chance.choice(list(TYPES))
            how = {"add": {f"n{self.number}": word}}
            columns[self.number] = Column(f"n{self.number}", TYPES[word])
        if how:
            self.said[-1:] = [f"alter({how})"]
            commit = self.table.alter(**how)
            self._wrote(commit.instant, evolve(self.state, columns=columns))

    def plan_compaction(self) -> None:
        """A plan that is run later."""
        if self.kind.is_merged:
            self.table.schedule_compaction()

    def plan_clustering(self) -> None:
        """A plan that is run later."""
        if "bucket" not in self.kind.index:
            nested = (STRUCT, VECTOR, VARIANT, BLOB)
            plain = [c.name for n, c in self.state.columns.items() if c.type not in nested]
            self.table.schedule_clustering(columns=self.chance.choice(plain) if plain else None)

    def run_plans(self) -> None:
        """All plans, however old."""
        for instant in self.table.timeline().pending():
            if instant.action == "compaction":
                self.table.run_compaction(instant.requested)
            elif instant.action in ("clustering", "replacecommit"):
                with suppress(CommitConflictError):  # it has given way to a write
                    self.table.run_clustering(instant.requested)

    def compact(self) -> None:
        """Plan and run."""
        if self.kind.is_merged:
            self.table.compact()

    def compact_logs(self) -> None:
        """Blocks of any age become blocks of now."""
        if self.kind.is_merged:
            self.table.run("logcompaction")

    def clean(self) -> None:
        """As options say."""
        self.table.clean()

    def archive(self) -> None:
        """As options say."""
        self.table.archive()

    def rebuild_index(self) -> None:
        """All that is stored of an index."""
        if self.kind.keeps_index:
            self.table.rebuild_index()

    def secondary_index(self) -> None:
        """An index of a column comes and goes."""
        if self.kind.index != "record_index" or self.kind.version == 6 or self.kind.virtual:
            return
        plain = [n for n, c in self.state.columns.items() if c.type in (pa.int64(), pa.string())]
        if self.indexed is not None:
            self.table.drop_index("by_it")
            self.indexed = None
        elif plain:
            number = self.chance.choice(plain)
            self.table.create_index("by_it", self.state.columns[number].name)
            self.indexed = number

    def undo(self) -> None:
        """A write or a change of columns, taken back."""
        before, said = self.state, list(self.said)
        indexed = self.indexed
        self.chance.choice((self.upsert, self.alter, self.delete))()
        newest = self.table.timeline().writes()[-1].requested
        if self.state is not before and self.past.get(newest) is self.state:
            self.said[:] = [*said, f"undo {self.said[-1]}"]
            self.table.rollback(newest)
            del self.past[newest]
            self.state = before
            assert indexed == self.indexed

    def savepoint(self) -> None:
        """The newest state can be restored."""
        if len(self.saved) < 2 and self.indexed is None:
            self.saved = list(dict.fromkeys((*self.saved, self.table.savepoint())))

    def restore(self) -> None:
        """Back to a savepoint."""
        if not self.saved or self.indexed is not None:
            return
        instant = self.saved.pop()
        self.table.restore(instant)
        self.past = {at: state for at, state in self.past.items() if at <= instant}
        self.state = self.past[max(self.past)]
        self.table.delete_savepoint(instant)


# How often each step is taken.
_STEPS = {
    "upsert": 24, "delete": 5, "update": 5, "alter": 14, "plan_compaction": 6, "plan_clustering": 4, "run_plans": 6,
    "compact": 3, "compact_logs": 4, "clean": 2, "archive": 1, "rebuild_index": 1, "secondary_index": 2, "undo": 5, "savepoint": 2,
    "restore": 2,
}  # fmt: skip

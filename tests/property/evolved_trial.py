"""Random histories of tables whose columns are renamed, dropped, added and moved, beside a
dictionary."""

from __future__ import annotations

import datetime as dt
import decimal
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

KINDS: dict[str, Callable[[random.Random], Any]] = {
    "long": lambda r: r.randrange(5),
    "string": lambda r: r.choice(["a", "b", "c"]),
    "double": lambda r: r.randrange(4) / 2,
    "struct": lambda r: {"x": r.randrange(3), "y": r.choice(["p", "q"])},
    "array<struct>": lambda r: [{"x": n, "y": "z"} for n in range(r.randrange(3))],
    "ntz": lambda r: dt.datetime(2024, 1, 1 + r.randrange(4), 2, 30, 0, 123456),
    "ntz millis": lambda r: dt.datetime(1969, 12, 28 + r.randrange(4), 2, 30, 0, 123000),
    "moment": lambda r: dt.datetime(2024, 1, 1 + r.randrange(4), tzinfo=dt.timezone.utc),
    "decimal": lambda r: decimal.Decimal(r.randrange(-3, 4)).scaleb(-2),
    "time": lambda r: dt.time(r.randrange(3), 0, 0, 1),
    "uuid": lambda r: str(uuid.UUID(int=r.randrange(4) << 100)),
    "vector": lambda r: [r.randrange(4) / 2, -1.0],
    "bytes vector": lambda r: [r.randrange(-3, 4), 0, 127],
    "variant": lambda r: r.choice([1, "a", [1, None, "x"], {"k": {"l": r.randrange(3)}}, {}, True]),
    "blob": lambda r: r.choice([
        {"type": "INLINE", "data": b"%d" % r.randrange(9), "reference": None},
        {"type": "OUT_OF_LINE", "data": None, "reference": {
            "external_path": "f", "offset": r.randrange(3), "length": None, "managed": False}},
    ]),
}  # fmt: skip
# Kinds that a filter compares with a value.
COMPARED = ("long", "string", "double", "ntz", "ntz millis", "moment", "decimal", "time", "uuid")
_ROW = pa.struct([("x", pa.int64()), ("y", pa.string())])
ARROW = {
    "long": pa.int64(), "string": pa.string(), "double": pa.float64(), "struct": _ROW,
    "array<struct>": pa.list_(_ROW), "ntz": pa.timestamp("us"), "ntz millis": pa.timestamp("ms"),
    "moment": pa.timestamp("us", "UTC"), "decimal": pa.decimal128(9, 2), "time": pa.time64("us"),
    "vector": hoodoo.vector(2), "bytes vector": hoodoo.vector(3, "INT8"), "variant": hoodoo.variant(),
    "blob": hoodoo.blob(), "uuid": pa.uuid(),
}  # fmt: skip
Rows = dict[int, dict[str, Any]]


def _uuids(texts: list[str | None]) -> pa.Array:
    return pa.array([text and uuid.UUID(text) for text in texts], pa.uuid())


@define
class State:
    """``columns``: name -> kind, in order; ``inner``: the names of the two fields within the
    column."""

    columns: dict[str, str]
    inner: dict[str, tuple[str, str]]
    rows: Rows = field(factory=dict)

    def copy(self) -> State:
        return State(
            dict(self.columns), dict(self.inner), {k: dict(r) for k, r in self.rows.items()}
        )

    def named(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row by the names that columns and fields have."""
        return {name: self._value(name, row.get(name)) for name in ("id", "p", *self.columns)}

    def _value(self, name: str, value: Any) -> Any:
        if name not in self.inner or value is None:
            return value
        if isinstance(value, list):
            return [dict(zip(self.inner[name], one.values(), strict=True)) for one in value]
        return dict(zip(self.inner[name], value.values(), strict=True))


@define
class Trial:
    random: random.Random
    path: str
    table: Any
    state: State
    states: list[tuple[str, State]] = field(factory=list)
    number: int = 0
    steps: list[str] = field(factory=list)
    engine: Any = None

    @classmethod
    def of(cls, seed: int, path: Path, **more: Any) -> Trial:
        r = random.Random(seed)
        state = State({"a": "long", "b": "string", "c": "struct", "d": "array<struct>"}, {})
        more_kinds = r.sample(sorted(KINDS), 3)
        state.columns |= {f"m{n}": kind for n, kind in enumerate(more_kinds)}
        state.inner = {n: ("x", "y") for n, k in state.columns.items() if "struct" in k}
        types = [("id", pa.int64()), ("p", pa.string())]
        schema = pa.schema([*types, *((n, ARROW[k]) for n, k in state.columns.items())])
        merged = r.random() < 0.6
        options = {"hoodie.clean.automatic": "false"}
        if r.random() < 0.5:
            options["hoodie.metadata.enable"] = "true"
            options["hoodie.metadata.index.column.stats.enable"] = "true"
        if r.random() < 0.2:
            options["hoodie.populate.meta.fields"] = "false"
        table = hoodoo.create(
            str(path), schema, record_key="id", partition_by="p" if r.random() < 0.7 else (),
            table_type="mor" if merged else "cow", table_version=r.choice([6, 8, 9]), options=options,
        )  # fmt: skip
        made = cls(r, str(path), table, state, **more)
        made.steps.append(f"create merged={merged} {options} v{table.config.version}")
        return made

    def live(self, count: int) -> None:
        for _ in range(count):
            step = self.random.choice(STEPS)
            try:
                commit = step(self)
            except Exception as error:
                error.add_note("\n".join(self.steps))
                raise
            if commit:
                self.states.append((commit, self.state.copy()))
            try:
                self.check()
            except BaseException as error:
                error.add_note("\n".join(self.steps))
                raise

    # --- steps ------------------------------------------------------------------------------------
    def upsert(self) -> str:
        r, state, rows = self.random, self.state, []
        for _ in range(r.randrange(1, 5)):
            key = r.randrange(12)
            row = {"id": key, "p": f"p{key % 3}"}
            row |= {n: None if r.random() < 0.2 else KINDS[k](r) for n, k in state.columns.items()}
            rows.append(row)
        rows = list({row["id"]: row for row in rows}.values())
        state.rows |= {row["id"]: row for row in rows}
        self.steps.append(f"upsert {[state.named(row) for row in rows]}")
        commit = self.table.upsert(self._arrow(rows), **self._how())
        return str(commit.instant)

    def delete(self) -> str:
        keys = self.random.sample(range(12), 2)
        self.steps.append(f"delete {keys}")
        for key in keys:
            self.state.rows.pop(key, None)
        data = pa.table({"id": pa.array(keys), "p": [f"p{k % 3}" for k in keys]})
        return str(self.table.delete(data, **self._how()).instant)

    def rename(self) -> str:
        state, new = self.state, self._new()
        if not state.columns:
            return ""
        old = self.random.choice(list(state.columns))
        if old in state.inner and self.random.random() < 0.5:
            at = self.random.randrange(2)
            path = f"{old}.{'element.' if state.columns[old].startswith('array') else ''}"
            self.steps.append(f"rename {path}{state.inner[old][at]} {new}")
            commit = self.table.alter(rename={path + state.inner[old][at]: new})
            both = list(state.inner[old])
            both[at] = new
            state.inner[old] = (both[0], both[1])
            return str(commit.instant)
        self.steps.append(f"rename {old} {new}")
        commit = self.table.alter(rename={old: new})
        state.columns = {new if n == old else n: k for n, k in state.columns.items()}
        state.inner = {new if n == old else n: k for n, k in state.inner.items()}
        for row in state.rows.values():
            if old in row:
                row[new] = row.pop(old)
        return str(commit.instant)

    def drop(self) -> str:
        state = self.state
        if len(state.columns) < 2:
            return ""
        old = self.random.choice(list(state.columns))
        self.steps.append(f"drop {old}")
        commit = self.table.alter(drop=[old])
        del state.columns[old]
        state.inner.pop(old, None)
        for row in state.rows.values():
            row.pop(old, None)
        return str(commit.instant)

    def add(self) -> str:
        new, kind = self._new(), self.random.choice(list(ARROW))
        self.steps.append(f"add {new} {kind}")
        commit = self.table.alter(add={new: ARROW[kind]})
        self.state.columns[new] = kind
        if "struct" in kind:
            self.state.inner[new] = ("x", "y")
        return str(commit.instant)

    def reorder(self) -> str:
        if not self.state.columns:
            return ""
        first = self.random.choice(list(self.state.columns))
        self.steps.append(f"reorder {first}")
        return str(self.table.alter(reorder=[first]).instant)

    def compact(self) -> str:
        if self.table.config.table_type != "MERGE_ON_READ":
            return ""
        self.steps.append("compact")
        self.table.compact(**self._how())
        return ""

    def cluster(self) -> str:
        self.steps.append("cluster")
        if self.table.config.table_type == "MERGE_ON_READ":
            self.table.compact(**self._how())
        self.table.cluster(**self._how())
        return ""

    def plan(self) -> str:
        """A compaction that is planned now and run after other steps."""
        table = self.table
        if table.config.table_type != "MERGE_ON_READ":
            return ""
        pending = [i for i in table.timeline().pending() if i.action == "compaction"]
        self.steps.append("run the planned" if pending else "plan a compaction")
        if pending:
            table.run_compaction(pending[0].requested)
        else:
            table.schedule_compaction()
        return ""

    def clean(self) -> str:
        self.steps.append("clean")
        self.table.clean()
        self.states = self.states[-1:]
        return ""

    def roll_back(self) -> str:
        writes = self.table.timeline().writes()
        if len(self.states) < 2 or writes[-1].requested != self.states[-1][0]:
            return ""
        if self.table.timeline().pending():
            return ""
        self.steps.append("roll back")
        self.table.rollback(self.states.pop()[0])
        self.state = self.states[-1][1].copy()
        return ""

    def again(self) -> str:
        self.steps.append("open")
        self.table = hoodoo.open(self.path)
        return ""

    def _new(self) -> str:
        self.number += 1
        return f"n{self.number}"

    def _how(self) -> dict[str, Any]:
        return {} if self.engine is None else {"engine": self.engine}

    def _arrow(self, rows: list[dict[str, Any]]) -> pa.Table:
        named, columns = [self.state.named(row) for row in rows], {}
        for one in self.table.schema:
            values = [row[one.name] for row in named]
            kind = self.state.columns.get(one.name)
            make = {"variant": hoodoo.variants, "uuid": _uuids}.get(str(kind))
            columns[one.name] = pa.array(values, one.type) if make is None else make(values)
        return pa.table(columns)

    # --- what should be there ---------------------------------------------------------------
    def check(self) -> None:
        state, table = self.state, self.table
        assert set(table.schema.names) == {"id", "p", *state.columns}
        assert _sorted(table.read().to_pylist()) == _shown(state)
        for name, kind in state.columns.items():
            tried = [(pc.field(name).is_null(), lambda v: v is None)]
            if kind in COMPARED:
                value = KINDS[kind](self.random)
                given = uuid.UUID(value) if kind == "uuid" else value
                same = pc.field(name) == pa.scalar(given, ARROW[kind])
                tried.append((same, lambda v, w=value: v == w))
            for where, true in tried:
                found = table.read(["id"], where=where).to_pylist()
                wanted = [k for k, row in state.rows.items() if true(row.get(name))]
                assert sorted(r["id"] for r in found) == sorted(wanted), f"{where}"
        if self.states:
            since, past = self.random.choice(self.states)
            assert _sorted(table.read(as_of=since).to_pylist()) == _shown(past), since
            self._check_changes(since, past)

    def _check_changes(self, since: str, past: State) -> None:
        found = {r["id"]: r for r in self._since(since)}
        for key, row in found.items():
            assert row == self.state.named(self.state.rows[key]), key

    def _since(self, since: str) -> list[dict[str, Any]]:
        if not self.table.config.populate_meta_fields:
            return []
        found: list[dict[str, Any]] = self.table.incremental(since=since).to_pylist()
        return found


def _shown(state: State) -> list[dict[str, Any]]:
    return [state.named(state.rows[key]) for key in sorted(state.rows)]


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["id"]))


STEPS: tuple[Callable[[Trial], str], ...] = (
    Trial.upsert, Trial.upsert, Trial.upsert, Trial.delete, Trial.rename, Trial.rename, Trial.drop, Trial.add,
    Trial.reorder, Trial.compact, Trial.cluster, Trial.plan, Trial.plan, Trial.clean, Trial.roll_back, Trial.again,
)  # fmt: skip

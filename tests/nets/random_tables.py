"""Random tables: of any kind, with a history of any sort, decided by a seed alone.

Values are few and nasty, so that predicates hit them; each write draws them for a column in a way of its own
(any, few of them, one, none), so that ranges of files differ and pruning has something to prune.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
import uuid
from collections.abc import Callable
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import HoodooError

UTC = dt.timezone.utc
_D = decimal.Decimal

# The types, under the names by which they are counted.
KINDS: dict[str, pa.DataType] = {
    "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(), "float64": pa.float64(),
    "text": pa.string(), "bytes": pa.binary(), "bool": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "local": pa.timestamp("us"), "decimal": pa.decimal128(10, 2),
    "long decimal": pa.decimal128(38, 10), "list": pa.list_(pa.string()),
}  # fmt: skip
INNER = pa.struct([("a", pa.int32()), ("b", pa.string()), ("d", pa.date32()), ("x", pa.float64()),
                   ("deep", pa.struct([("m", pa.int64()), ("at", KINDS["timestamp"])]))])  # fmt: skip


def is_float(kind: str) -> bool:
    return kind.startswith("float")


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


_NAN, _INF = float("nan"), float("inf")
POOLS: dict[str, list[Any]] = {
    "int32": [0, -1, 1, 2, 3, 7, 40, 2**31 - 1, -(2**31)],
    "int64": [0, -1, 1, 2, 5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    # Those that 32 bits have.
    "float32": [0.0, -0.0, 1.5, _NAN, _INF, -_INF, -2.5, 8.0],
    "float64": [0.0, -0.0, 0.1, 1.5, _NAN, _INF, -_INF, 5e-324, -2.5],
    "text": ["", "plain", "é𝄞 \n\t'\"\\", "a%b", "a_b", "A", "plain text", "x" * 70, "x" * 69 + "y",
             "\uffff", "𝄞", "日本", "100%"],
    "bytes": [b"", b"\x00", b"\x7f", b"\x80\xff", b"\xff" * 70, b"bytes"],
    "bool": [True, False],
    "date": [_day(t) for t in ("1970-01-01", "1969-12-31", "2024-02-29", "2024-03-01", "0001-01-01",
                               "9999-12-31")],
    "timestamp": [_moment(t) for t in ("1970-01-01T00:00:00", "1969-12-31T23:59:59.999999",
                  "2024-03-31T01:30:00", "2262-04-12T00:00:00.000001", "0001-01-01T00:00:00",
                  "2024-03-31T01:30:00.000001")],
    "local": [dt.datetime.fromisoformat(t) for t in ("1970-01-01T00:00:00", "1969-12-31T23:59:59.999999",
              "2024-03-31T01:30:00", "1582-10-14T00:00:00.000001", "9999-12-31T23:59:59.999999")],
    "decimal": [_D(t) for t in ("0.00", "-12345678.90", "99999999.99", "1.50", "1.51", "-0.01")],
    "long decimal": [_D("0"), _D(10) ** 27, _D("-0.0000000001"), _D("1.5"), -(_D(10) ** 27)],
    "list": [[], [None], ["a", None, ""], ["b"] * 5],
}  # fmt: skip

# Column -> kind. The first ones may be keys, parts of paths, or the ordering; they are there in any table.
PLAIN: dict[str, str] = {
    "w": "int32", "big": "int64", "f": "float32", "real": "float64", "flag": "bool", "text": "text",
    "raw": "bytes", "day": "date", "moment": "timestamp", "wall": "local", "money": "decimal", "sum": "long decimal",
    "tags": "list",
}  # fmt: skip
LATER: dict[str, str] = {"late_text": "text", "late_big": "int64", "late_day": "date"}
ID = "rid"  # of each incoming row another one

_PATHS = ["x", "y", "with space", "é", None, ""]
_ESCAPED_PATHS = ["x", "a/b", "50%", "c=d:e", "é {z}", None]
_DATES = ["2024-01-02", "2024-01-03", "2024-02-01", None]
_DAYS = [_day("2024-02-29"), _day("1969-12-31"), None]
_SECONDS = [0, 86_399, 86_400, 1_709_164_800, -1]

_TIMES = "hoodie.keygen.timebased."
# How a table is partitioned: columns as `partition_by` takes them.
PARTITIONS: dict[str, tuple[str, ...]] = {
    "none": (), "text": ("p",), "text and day": ("p", "q"), "number": ("n",), "flag": ("flag",),
    "slashes": ("s",), "date with slashes": ("q",), "TIMESTAMP": ("t",), "CUSTOM": ("p:SIMPLE", "t:TIMESTAMP"),
    "moment": ("moment",),
}  # fmt: skip


@frozen
class Setup:
    """One kind of table."""

    version: int
    merged: bool
    index: str
    partition: str
    key: tuple[str, ...]
    ordering: bool
    virtual: str  # "", or the option that makes keys virtual
    metadata: bool
    options: tuple[tuple[str, str], ...]

    @property
    def partitioned(self) -> bool:
        return self.partition != "none"

    def options_of_create(self) -> dict[str, str]:
        return dict(self.options)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of ``hoodoo.create`` besides path and schema."""
        generator = {n: n for n in ("TIMESTAMP", "CUSTOM")}.get(self.partition)
        return {
            "record_key": list(self.key),
            "partition_by": PARTITIONS[self.partition],
            "ordering": ("o",) if self.ordering else (),
            "merger": "event_time" if self.ordering else "commit_time",
            "table_type": "MERGE_ON_READ" if self.merged else "COPY_ON_WRITE",
            "table_version": self.version,
            "index": self.index,
            "key_generator": generator,
            "options": self.options_of_create(),
        }


def draw_setup(rng: random.Random) -> Setup:
    version = rng.choice([9, 9, 6, 8])
    partition = rng.choice([*PARTITIONS, "text", "text", "text and day", "none"])
    virtual = rng.choice(["", "", "", "hoodie.recordkey.virtual.enabled"])
    if partition in ("TIMESTAMP", "CUSTOM"):
        virtual = ""  # Hudi refuses them
    indexes = ["simple", "global_simple", "bloom", "global_bloom", "bucket"]
    if virtual:
        indexes = ["simple", "global_simple", "bucket"]
    elif version > 6:
        indexes += ["record_index", "growing_record_index"] * 2
        indexes += ["partitioned_record_index"] if partition != "none" else []
    index = rng.choice(indexes)
    by_records = index.endswith("record_index") and index != "growing_record_index"
    metadata = version > 6 and (by_records or rng.random() < 0.5)
    merged = rng.random() < 0.5
    given = {
        "hoodie.datasource.write.hive_style_partitioning": rng.choice(["true", "false"]),
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.parquet.max.file.size": rng.choice(["1500", "6000", "120000000"]),
        "hoodie.parquet.block.size": rng.choice(["700", "120000000"]),
    }
    # Dates with slashes are for one column, and have none of their own to escape.
    slashes = partition in ("slashes", "date with slashes")
    escaped = not slashes and (partition == "moment" or rng.random() < 0.4)
    given["hoodie.datasource.write.partitionpath.urlencode"] = str(escaped).lower()
    if slashes:
        given["hoodie.datasource.write.slash.separated.date.partitioning"] = "true"
    if rng.random() < 0.5:
        given["hoodie.parquet.small.file.limit"] = "0"
    if partition in ("TIMESTAMP", "CUSTOM"):
        given[f"{_TIMES}timestamp.type"] = "UNIX_TIMESTAMP"
        given[f"{_TIMES}output.dateformat"] = rng.choice(["yyyy/MM/dd", "yyyyMMdd", "yyyy-MM"])
    if index == "bucket":
        given["hoodie.bucket.index.num.buckets"] = "3"
    moves = rng.choice(["true", "false"])
    option = {
        "global_simple": "hoodie.simple.index.update.partition.path",
        "global_bloom": "hoodie.bloom.index.update.partition.path",
        "record_index": "hoodie.record.index.update.partition.path",
        "growing_record_index": "hoodie.record.index.update.partition.path",
    }.get(index)
    if option:
        given[option] = moves
    if version > 6 and index != "growing_record_index" and not by_records:
        given["hoodie.metadata.enable"] = str(metadata).lower()
    if metadata:
        given["hoodie.metadata.index.column.stats.enable"] = rng.choice(["true", "true", "false"])
        given["hoodie.metadata.compact.max.delta.commits"] = "4"
    if merged:
        given["hoodie.log.compaction.blocks.threshold"] = "2"
        given["hoodie.logfile.data.block.format"] = rng.choice(["parquet", "avro"])
        given["hoodoo.layout"] = rng.choice(["new_files", "small_file"])
        if index == "bucket":
            del given["hoodoo.layout"]
    if virtual:
        given[virtual] = "true"
    key = rng.choice([("k",), ("k",), ("k2",), ("k", "k2")])
    if partition == "TIMESTAMP":
        key = key[:1]
    return Setup(version, merged, index, partition, key, rng.random() < 0.4, virtual, metadata,
                 tuple(given.items()))  # fmt: skip


# Of every other table, of Hudi 1.2's types: predicates ask whether they are null, and what is within a blob.
LOGICAL: dict[str, tuple[pa.DataType, list[Any]]] = {
    "event": (hoodoo.variant(), [
        {}, {"k": [1, None, {"l": "x"}]}, [], 7, "text", True, _D("1.50"), _day("2024-02-29"),
    ]),
    "emb": (hoodoo.vector(3), [[0.0, -0.0, 1.5], [1.0, 2.0, -8.0]]),
    "small": (hoodoo.vector(2, "INT8"), [[0, -128], [127, 1]]),
    "photo": (hoodoo.blob(), [
        {"type": "INLINE", "data": b"", "reference": None},
        {"type": "INLINE", "data": b"bytes" * 40, "reference": None},
        {"type": "OUT_OF_LINE", "data": None, "reference": {
            "external_path": "f/é", "offset": 0, "length": None, "managed": False}},
    ]),
    "uid": (pa.string(), [str(uuid.UUID(int=n << 64)) for n in (0, 1, 2**63)]),
}  # fmt: skip


def base_schema(seed: int = 0) -> pa.Schema:
    keys = [(ID, pa.int64()), ("k", pa.string()), ("k2", pa.int32())]
    paths = [("p", pa.string()), ("q", pa.date32()), ("n", pa.int32()), ("s", pa.string()),
             ("t", pa.int64()), ("o", pa.int64())]  # fmt: skip
    plain = [(name, KINDS[kind]) for name, kind in PLAIN.items()]
    logical = [(name, kind) for name, (kind, _) in LOGICAL.items()] if seed % 2 else []
    return pa.schema([*keys, *paths, *plain, ("inner", INNER), *logical])


@define
class RandomTable:
    """A table of ``seed`` below ``path``, with its history. ``story``: what was done, for a report."""

    seed: int
    path: str
    setup: Setup
    rng: random.Random
    table: hoodoo.Table
    story: list[str] = field(factory=list)
    writes: list[str] = field(factory=list)  # the instants of completed writes
    schema: pa.Schema = field(factory=base_schema)
    next_id: int = 1
    refused: dict[str, int] = field(factory=dict)

    @classmethod
    def of(cls, seed: int, path: str, steps: int = 8) -> RandomTable:
        rng = random.Random(f"table {seed}")
        setup = draw_setup(rng)
        schema = base_schema(seed)
        table = hoodoo.create(path, schema, **setup.arguments)
        made = cls(seed, path, setup, rng, table, schema=schema)
        made.story += [
            f"HOODOO_NET_SEED={seed} HOODOO_NET_TABLES=1, or in tests/nets: RandomTable.of({seed}, 'folder')",
            f"create(**{setup.arguments})",
        ]
        made._upsert("upsert")
        for _ in range(rng.randint(steps // 2, steps)):
            made._step()
        return made

    @property
    def identity(self) -> str:
        return ID

    @property
    def often(self) -> tuple[str, ...]:
        return ("k", "k2", "w", *self._path_columns())

    @property
    def is_merged(self) -> bool:
        return self.setup.merged

    # --- steps ------------------------------------------------------------------------------------
    def _step(self) -> None:
        kinds = ["upsert"] * 5 + ["insert", "bulk_insert", "append", "delete", "delete anywhere",
                 "insert_overwrite", "drop", "cluster", "cluster", "evolve", "widen"]  # fmt: skip
        kinds += ["compact", "schedule_compaction", "log_compact"] if self.setup.merged else []
        kinds += ["clean"] if self.rng.random() < 0.3 else []
        kinds += ["rebuild"] if self.setup.metadata else []
        kinds += ["undo"] if self.rng.random() < 0.3 else []
        kind = self.rng.choice(kinds)
        if self.rng.random() < 0.3:
            self._reopen()
        if kind in ("upsert", "insert", "bulk_insert", "append", "insert_overwrite"):
            self._upsert(kind)
        elif kind == "delete":
            self._write("delete", self._rows(self.rng.randint(1, 6), set(self._path_columns())))
        elif kind == "delete anywhere":
            if self.setup.index not in ("bucket", "partitioned_record_index"):
                self._write("delete", self._rows(self.rng.randint(1, 4), set()))
        elif kind == "drop":
            paths = sorted({s.partition_path for s in self.table.file_slices()})
            if len(paths) > 1:
                path = self.rng.choice(paths)
                self._note(f"delete_partitions({path!r})", self.table.delete_partitions(path))
        elif kind == "evolve":
            more = [n for n in LATER if n not in self.schema.names]
            for name in more[:1]:
                self.schema = self.schema.append(pa.field(name, KINDS[LATER[name]]))
            self._upsert("upsert")
        elif kind == "widen":
            at = self.schema.get_field_index("w")
            self.schema = self.schema.set(at, pa.field("w", pa.int64()))
            self._upsert("upsert")
        else:
            self._service(kind)

    def _upsert(self, kind: str) -> None:
        rows = self._rows(self.rng.choice([1, 4, 8, 16]), None)
        self._write(kind, rows, add_columns=True)

    def _write(self, kind: str, rows: pa.Table, **more: bool) -> None:
        self._note(f"{kind}({rows.num_rows} rows)", getattr(self.table, kind)(rows, **more))

    def _service(self, kind: str) -> None:
        """Refused by the table, or done: neither changes a row."""
        rng, table = self.rng, self.table
        columns = rng.sample(
            ["w", "text", "real", "day", "moment", "k", "money"], rng.randint(1, 2)
        )
        order = rng.choice(["linear", "zorder", "hilbert"]) if len(columns) > 1 else "linear"
        size = rng.choice([1500, 5000, None])
        names = [n for n in ("files", "column_stats", "record_index") if n]
        name = rng.choice(names)
        done: dict[str, tuple[str, Callable[[], Any]]] = {
            "cluster": (
                f"cluster(order={order!r}, columns={columns}, target_file_size={size})",
                lambda: table.cluster(order=order, columns=columns, target_file_size=size),
            ),
            "compact": ("compact()", table.compact),
            "schedule_compaction": ("schedule_compaction()", table.schedule_compaction),
            "log_compact": ('run("logcompaction")', lambda: table.run("logcompaction")),
            "clean": ("clean(commits_retained=3)", lambda: table.clean(commits_retained=3)),
            "rebuild": (f"rebuild_index({name!r})", lambda: table.rebuild_index(name)),
            "undo": ("rollback(the newest)", self._undo),
        }  # fmt: skip
        text, call = done[kind]
        try:
            found = call()
        except HoodooError as error:
            if type(error).__name__ not in _REFUSALS:
                raise
            self.story.append(f"{text}  # {type(error).__name__}: {str(error)[:90]}")
            self.refused[kind] = self.refused.get(kind, 0) + 1
            return
        self._note(text, found)

    def _undo(self) -> Any:
        done = [i.requested for i in self.table.timeline().writes()]
        if len(done) < 2:
            return None
        found = self.table.rollback(done[-1])
        self.writes = [i for i in self.writes if i != done[-1]]
        return found

    def _reopen(self) -> None:
        runtime = {k: v for k, v in self.setup.options if k not in self.table.config.properties}
        self.table = hoodoo.open(self.path, runtime)
        self.story.append(f"open({runtime})")

    def _note(self, text: str, done: Any) -> None:
        instant = getattr(done, "instant", None)
        self.story.append(f"{text}  # {instant}" if instant else text)
        if instant and hasattr(done, "operation"):
            self.writes.append(instant)

    # --- rows -------------------------------------------------------------------------------------
    def _path_columns(self) -> list[str]:
        return [name.split(":")[0] for name in PARTITIONS[self.setup.partition]]

    def _rows(self, number: int, only: set[str] | None) -> pa.Table:
        """``only``: the columns besides the keys; None: all of them."""
        keys = self.setup.key
        fields = [f for f in self.schema if only is None or f.name in only or f.name in keys]
        columns = {f.name: self._column(f, number) for f in fields}
        return pa.table({f.name: _array(f, columns[f.name]) for f in fields})

    def _column(self, field: pa.Field, number: int) -> list[Any]:
        rng, name = self.rng, field.name
        if name == ID:
            first, self.next_id = self.next_id, self.next_id + number
            return list(range(first, first + number))
        if name == "k":
            return [rng.choice(_KEYS) for _ in range(number)]
        if name == "k2":
            return [
                rng.choice([0, 1] if "k" in self.setup.key else range(-2, 14))
                for _ in range(number)
            ]
        if name == "flag" and self.setup.partition == "flag":
            return [rng.choice([True, False]) for _ in range(number)]
        pools = {"p": self._paths(), "s": _DATES, "q": _DAYS, "n": [0, 7, -3, None], "t": _SECONDS,
                 "o": [0, 1, 2, 3]}  # fmt: skip
        if name in pools:
            some = rng.sample(pools[name], min(3, len(pools[name])))
            return [rng.choice(some) for _ in range(number)]
        if name in LOGICAL:
            return [
                None if rng.random() < 0.2 else rng.choice(LOGICAL[name][1]) for _ in range(number)
            ]
        if pa.types.is_struct(field.type):
            return self._structs(field.type, number)
        kind = (PLAIN | LATER)[name] if name != "w" else ("int64" if field.type == pa.int64() else "int32")  # fmt: skip
        return self._drawn(kind, number)

    def _structs(self, kind: pa.StructType, number: int) -> list[Any]:
        columns = {}
        for child in kind:
            if pa.types.is_struct(child.type):
                columns[child.name] = self._structs(child.type, number)
            else:
                columns[child.name] = self._drawn(kind_of(child.type) or "", number)
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]  # fmt: skip
        return [None if self.rng.random() < 0.15 else row for row in rows]

    def _drawn(self, kind: str, number: int) -> list[Any]:
        rng, pool = self.rng, POOLS[kind]
        how = rng.choice(["any", "any", "some", "one", "null", "filled"])
        if how == "null":
            return [None] * number
        if how == "one":
            return [rng.choice(pool)] * number
        pool = rng.sample(pool, min(2, len(pool))) if how == "some" else pool
        nulls = 0.0 if how == "filled" else 0.15
        return [None if rng.random() < nulls else rng.choice(pool) for _ in range(number)]

    def _paths(self) -> list[Any]:
        escaped = dict(self.setup.options)["hoodie.datasource.write.partitionpath.urlencode"]
        return _ESCAPED_PATHS if escaped == "true" else _PATHS


# What a service may answer where the table is none of its kind; anything else is a failure.
_REFUSALS = {"ConfigError", "UnsupportedTableError", "CommitConflictError"}
_KEYS = ["a", "b", "c", "d:e", "é𝄞", " x y ", "-0", "a b", *(f"key{n}" for n in range(14))]


def _array(field: pa.Field, values: list[Any]) -> pa.Array:
    if field.name == "uid":  # stored as text
        return pa.array([text and uuid.UUID(text) for text in values], pa.uuid())
    kind = field.type
    return hoodoo.variants(values) if kind == LOGICAL["event"][0] else pa.array(values, kind)


def kind_of(kind: pa.DataType) -> str | None:
    """The name of a type in KINDS, if it has one."""
    return next((name for name, known in KINDS.items() if known == kind), None)

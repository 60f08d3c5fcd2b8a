"""A trial of statements: random ones, on a table and on DuckDB's table of the same rows, which have to agree.

``statement_trial.py ENGINE COUNT`` runs ``COUNT`` statements on ``local`` or ``spark`` for each type of table, and says
how many did what DuckDB's did, were refused as they have to be, or differ.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa
from attrs import define, evolve, frozen
from hoodoo.errors import ConfigError, DataError, DuplicateKeyError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("n", pa.int32()),
        ("d", pa.date32()), ("note", pa.string()), ("ts", pa.int64()), ("ok", pa.bool_()),
        ("seen", pa.timestamp("us", tz="UTC")), ("price", pa.decimal128(10, 2)),
    ]
)  # fmt: skip
NAMES = SCHEMA.names
CITIES = ("oslo", "rome", "kyiv")
NOTES = ("", "a", "bc", "ünï", None)
TABLE_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
STATEMENTS = 5  # of a trial


@frozen
class Kind:
    """What table a trial has."""

    table_type: str
    version: int
    index: str | None
    partitioned: bool
    ordering: bool
    virtual: bool
    metadata: bool
    files: bool  # small files, and several of them

    @classmethod
    def drawn(cls, draw: random.Random) -> Kind:
        version = draw.choice((9, 9, 6))
        index = draw.choice(
            (None, "simple", "bloom", "bucket", "global_simple", "global_bloom", "record_index")
        )
        virtual = draw.random() < 0.25 and (version, index) != (6, "record_index")
        return cls(
            draw.choice(TABLE_TYPES), version, index,
            draw.random() < 0.6, draw.random() < 0.3, virtual, draw.random() < 0.5, draw.random() < 0.4,
        )  # fmt: skip

    @property
    def is_global(self) -> bool:
        return self.index is not None and (
            self.index.startswith("global") or self.index == "record_index"
        )

    def create(self, path: Path, **more: Any) -> Any:
        options: dict[str, Any] = dict(more)
        if self.virtual:
            options["hoodie.recordkey.virtual.enabled"] = "true"
        if self.files:
            options["hoodie.parquet.small.file.limit"] = "0"
        if self.metadata or self.index == "record_index":
            options["hoodie.metadata.enable"] = "true"
        else:
            options["hoodie.metadata.enable"] = "false"
        if self.index == "bucket":
            options["hoodie.bucket.index.num.buckets"] = "3"
        return hoodoo.create(
            str(path), SCHEMA, record_key="id", partition_by="city" if self.partitioned else (),
            ordering="ts" if self.ordering else (), table_type=self.table_type, table_version=self.version,
            index=self.index, options=options,
        )  # fmt: skip


def row(draw: random.Random, key: int) -> dict[str, Any]:
    return {
        "id": key,
        "city": draw.choice(CITIES),
        "fare": draw.choice((None, 0.0, -1.5, 7.25, float(draw.randrange(100)))),
        "n": draw.choice((None, *range(5))),
        "d": draw.choice((None, *(pa.scalar(18000 + i, pa.date32()).as_py() for i in range(4)))),
        "note": draw.choice(NOTES),
        "ts": draw.randrange(4),
        "ok": draw.choice((None, True, False)),
        "seen": pa.scalar(draw.randrange(10**15), pa.timestamp("us", tz="UTC")).as_py(),
        "price": pa.scalar(str(draw.randrange(1000) / 4), pa.string()).cast(pa.decimal128(10, 2)).as_py(),
    }  # fmt: skip


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


# --- expressions: the same text for both -------------------------------------------------------------
def predicate(draw: random.Random, sides: Sequence[str], depth: int = 2) -> str:
    """Over the columns of one of ``sides`` each: "" for plain names."""
    if depth and draw.random() < 0.4:
        both = [predicate(draw, sides, depth - 1) for _ in range(2)]
        return draw.choice(("({} and {})", "({} or {})", "(not {})")).format(*both)
    side = draw.choice(list(sides))
    dot = f"{side}." if side else ""
    return draw.choice(
        (
            f"{dot}id {draw.choice(('=', '<', '<=', '>', '>=', '<>'))} {draw.randrange(40)}",
            f"{dot}id between {draw.randrange(20)} and {draw.randrange(40)}",
            f"{dot}id in ({draw.randrange(40)}, {draw.randrange(40)}, {draw.randrange(40)})",
            f"{dot}city = '{draw.choice(CITIES)}'",
            f"{dot}city in ('oslo', 'rome')",
            f"{dot}fare {draw.choice(('<', '>', '=', '>='))} {draw.choice(('7.25', '-1.5', '50', '0'))}",
            f"{dot}n {draw.choice(('<', '>', '='))} {draw.randrange(5)}",
            f"{dot}n is null", f"{dot}note is not null", f"{dot}note = 'bc'", f"{dot}note > 'a'",
            f"{dot}d {draw.choice(('=', '<', '>='))} date '2019-04-1{draw.randrange(4, 9)}'",
            f"{dot}ok", f"{dot}ok = false", f"{dot}n + {dot}id > {draw.randrange(40)}",
            f"coalesce({dot}note, 'a') = 'a'", f"{dot}price > 100", "true", f"{dot}n = {dot}ts",
            f"{dot}id % 3 = {draw.randrange(3)}", f"{dot}city like '%o%'", "null",
        )
    )  # fmt: skip


def value(draw: random.Random, column: str, sides: Sequence[str]) -> str:
    side = draw.choice(list(sides))
    dot = f"{side}." if side else ""
    return draw.choice(
        {
            "city": (f"'{draw.choice(CITIES)}'", f"{dot}city", f"case when {dot}n > 2 then 'rome' else {dot}city end"),
            "fare": (f"{dot}fare * 2 + 1", f"{dot}fare", "7.5", "null", f"{dot}id + 0.5", f"{dot}n"),
            "n": (f"{dot}n + 1", f"{dot}n", "3", "null", f"cast({dot}ts as int)"),
            "d": (f"{dot}d", "date '2020-02-29'", "null"),
            "note": (f"{dot}note || 'x'", f"{dot}note", "'its'", f"upper({dot}city)", "null"),
            "ts": (f"{dot}ts + 1", f"{dot}ts", "3"),
            "ok": (f"{dot}ok", f"{dot}n > 1", f"not {dot}ok", "null"),
            "seen": (f"{dot}seen", "null"),
            "price": (f"{dot}price", f"{dot}price + 1", "1.25", "null", f"{dot}id"),
        }[column]
    )  # fmt: skip


def assignments(draw: random.Random, sides: Sequence[str], partitioned: bool) -> dict[str, str]:
    own = [
        n for n in NAMES if n != "id" and (n != "city" or not partitioned or draw.random() < 0.5)
    ]
    return {n: value(draw, n, sides) for n in draw.sample(own, draw.choice((1, 1, 2, 3)))}


# --- statements ---------------------------------------------------------------------------------------
@define
class Merge:
    on: str
    update: tuple[str | None, dict[str, str] | str] | None = None
    delete: str | bool | None = False
    insert: tuple[str | None, dict[str, str] | str] | None = None
    lone_update: tuple[str | None, dict[str, str]] | None = None
    lone_delete: str | bool | None = False
    delete_first: bool = False


def drawn_merge(draw: random.Random, partitioned: bool) -> Merge:
    both = ("target", "source")
    on = draw.choice(("target.id = source.id",) * 3 + (
        "target.id = source.id and target.city = source.city",
        "target.id = source.id and target.n > 1",
        "source.id = target.id and source.ok",
        "target.id = source.id + 1",
    ))  # fmt: skip
    whole = on == "target.id = source.id"
    made = Merge(on)
    if draw.random() < 0.2 and "source.id = target.id" not in on and "+" not in on:
        return Merge(on, update=(None, "all"), insert=(None, "all"))  # an upsert, by whole rows

    def maybe(sides: Sequence[str]) -> str | None:
        return predicate(draw, sides) if draw.random() < 0.6 else None

    if draw.random() < 0.7:
        every = draw.random() < 0.4 and on.startswith("target.id = source.id") and "+" not in on
        made.update = maybe(both), "all" if every else assignments(draw, both, partitioned)
    if draw.random() < 0.4:
        made.delete = maybe(both)
    if made.update is not None and made.delete is not False:
        made.delete_first = draw.random() < 0.5
        first = predicate(draw, both)
        if made.delete_first:
            made.delete = first
        else:
            made.update = first, made.update[1]
    if draw.random() < 0.6 and "+" not in on:
        named = {
            "id": "source.id",
            "city": "source.city",
            "ts": "source.ts",
            "note": "source.note || '!'",
        }
        made.insert = maybe(("source",)), "all" if draw.random() < 0.6 else named
    if draw.random() < 0.4 and (whole or made.insert is None):
        made.lone_update = predicate(draw, ("target",)), assignments(draw, ("target",), partitioned)
    if draw.random() < 0.3 and (whole or made.insert is None):
        made.lone_delete = predicate(draw, ("target",))
    if (
        made.update is None
        and made.delete is False
        and made.insert is None
        and made.lone_update is None
    ):
        made.lone_delete = (
            predicate(draw, ("target",)) if made.lone_delete is False else made.lone_delete
        )
    return made


def merge_text(made: Merge, target: str = "t", source: str = "s") -> str:
    """As DuckDB and Spark both read it."""

    def when(head: str, condition: Any, then: str) -> str:
        more = f" and {condition}" if isinstance(condition, str) else ""
        return f" when {head}{more} then {then}"

    def assigned(values: Any) -> str:
        values = {n: f"source.{n}" for n in NAMES} if values == "all" else values
        return "update set " + ", ".join(f"{n} = {v}" for n, v in values.items())

    text = f"merge into {target} as target using {source} as source on {made.on}"
    matched = []
    if made.update is not None:
        matched.append(when("matched", made.update[0], assigned(made.update[1])))
    if made.delete is not False:
        matched.append(when("matched", made.delete, "delete"))
    text += "".join(reversed(matched) if made.delete_first else matched)
    if made.insert is not None:
        values = {n: f"source.{n}" for n in NAMES} if made.insert[1] == "all" else made.insert[1]
        listed = f"insert ({', '.join(values)}) values ({', '.join(values.values())})"
        text += when("not matched", made.insert[0], listed)
    if made.lone_update is not None:
        text += when("not matched by source", made.lone_update[0], assigned(made.lone_update[1]))
    if made.lone_delete is not False:
        text += when("not matched by source", made.lone_delete, "delete")
    return text


def built(table: Any, source: Any, made: Merge, engine: Any) -> Any:
    """The same by the builder."""
    merge = table.merge(source, on=made.on, engine=engine)
    steps = []
    if made.update is not None:
        condition, values = made.update
        if values == "all":
            steps.append(lambda m: m.when_matched_update_all(condition))
        else:
            steps.append(lambda m: m.when_matched_update(values, condition))
    if made.delete is not False:
        steps.append(lambda m: m.when_matched_delete(made.delete))
    for step in reversed(steps) if made.delete_first else steps:
        merge = step(merge)
    if made.insert is not None:
        merge = merge.when_not_matched_insert(made.insert[1], made.insert[0])
    if made.lone_update is not None:
        merge = merge.when_not_matched_by_source_update(made.lone_update[1], made.lone_update[0])
    if made.lone_delete is not False:
        merge = merge.when_not_matched_by_source_delete(made.lone_delete)
    return merge.execute()


# --- the trial ----------------------------------------------------------------------------------------
class Trial:
    """``spark``: a session, whose engine runs the statements, of which some get their source as a DataFrame."""

    def __init__(
        self,
        seed: int,
        path: Path,
        spark: Any = None,
        statements: int = STATEMENTS,
        table_type: str | None = None,
    ) -> None:
        self.draw = random.Random(seed)
        # What the statements say does not depend on how they are given.
        self.doors = random.Random(f"doors {seed}")
        kind = Kind.drawn(self.draw)
        self.kind = kind if table_type is None else evolve(kind, table_type=table_type)
        self.spark, self.statements = spark, statements
        self.done: list[str] = []
        self.agreed = self.refused = 0
        self.model = duckdb.connect()
        self.model.execute("set TimeZone = 'UTC'")
        # On Spark mostly in tasks, else as small tables do by default.
        small = self.doors.choice(("0", "0", "0", "4MB"))
        more = {} if spark is None else {"hoodoo.spark.small.bytes": small}
        self.table = self.kind.create(path, **more)

    def run(self) -> Trial:
        try:
            self._load()
            for _ in range(self.statements):
                self._statement()
                if self.draw.random() < 0.15:
                    self._between()
            self._compare()
        except BaseException as error:
            raise AssertionError(f"{self.kind}\n" + "\n".join(self.done)) from error
        return self

    def _load(self) -> None:
        keys = self.draw.sample(range(40), self.draw.choice((0, 5, 25, 30)))
        rows = [row(self.draw, key) for key in keys]
        half = len(rows) // 2
        for part in (rows[:half], rows[half:]):
            if part:
                self.table.upsert(as_table(part))
        self.model.register("given", as_table(rows))
        self.model.execute("create table t as select * from given")

    def _between(self) -> None:
        if self.kind.table_type == "MERGE_ON_READ" and self.draw.random() < 0.5:
            self.done.append("compact")
            self.table.compact()
        else:
            self.done.append("cluster")
            if self.kind.index != "bucket":
                self.table.cluster()

    def _statement(self) -> None:
        draw, kind = self.draw, self.kind
        self.model.execute("create or replace temp table before as select * from t")
        what = draw.choice(("delete", "update", "update", "merge", "merge", "merge"))
        source = [row(draw, key) for key in draw.sample(range(45), draw.choice((0, 3, 12, 30)))]
        rows = as_table(source)
        self.model.register("s", rows)
        if what == "merge":
            made = drawn_merge(draw, kind.partitioned)
            text = merge_text(made)
        else:
            where = predicate(draw, ("",))
            if what == "delete":
                text = f"delete from t where {where}"
            else:
                values = assignments(draw, ("",), kind.partitioned)
                text = (
                    "update t set "
                    + ", ".join(f"{n} = {v}" for n, v in values.items())
                    + f" where {where}"
                )
        self.done.append(text)
        self.model.execute("begin")
        (count,) = self.model.execute(text).fetchone() or (0,)
        must, may = self._refused()
        try:
            if self.doors.random() < 0.3:
                self.done.append("  by text")
                names = {"t": self.table, "s": self._source(rows)}
                commit = hoodoo.sql(text, names, spark=self.spark)
            elif what == "merge":
                commit = built(self.table, self._source(rows), made, self.engine)
            elif what == "delete":
                commit = self.table.delete(where=where, engine=self.engine)
            else:
                commit = self.table.update(values, where=where, engine=self.engine)
        except (DataError, DuplicateKeyError, ConfigError) as error:
            self.model.execute("rollback")
            self.done.append(f"  refused: {type(error).__name__} {error}")
            assert isinstance(error, (*must, *may)), error
            self.refused += 1
        else:
            self.model.execute("commit")
            assert not must, f"was to be refused: {must}"
            self.done.append(f"  {commit.inserted} {commit.updated} {commit.deleted}")
            assert commit.inserted + commit.updated + commit.deleted == count, (commit, count)
            assert bool(commit.instant) == bool(count)
            self.agreed += 1
        self._compare()

    @property
    def engine(self) -> str | None:
        return None if self.spark is None else "spark"

    def _source(self, rows: pa.Table) -> Any:
        if self.doors.random() < 0.5 or self.spark is None:
            return rows
        self.done.append("  of a DataFrame")
        return self.spark.createDataFrame(rows)

    def _refused(self) -> tuple[tuple[type[Exception], ...], tuple[type[Exception], ...]]:
        """The errors of which one has to come, by what DuckDB made of the rows, and others that may."""

        def some(text: str) -> bool:
            return self.model.execute(f"select 1 from ({text}) limit 1").fetchone() is not None

        found: list[type[Exception]] = []
        key = "id" if self.kind.is_global or not self.kind.partitioned else "id, city"
        if some(f"select {key} from t group by {key} having count(*) > 1"):
            found.append(DuplicateKeyError)
        same = "t.id = b.id" if key == "id" else "t.id = b.id and t.city = b.city"
        if self.kind.ordering and some(
            f"select 1 from t join before b on {same} where t.ts < b.ts"
        ):
            found.append(DataError)
        moves = some("select 1 from t join before b on t.id = b.id where t.city <> b.city")
        if self.kind.partitioned and moves and self.kind.index == "record_index":
            found.append(ConfigError)
        # A row that moves may come back to a bucket whose base file has it still, and is compared; one that is inserted
        # looks the same here, and is not.
        returns = self.kind.index == "bucket" and self.kind.table_type == "MERGE_ON_READ"
        perhaps = (DataError,) if self.kind.ordering and moves and returns else ()
        return tuple(found), perhaps

    def _compare(self) -> None:
        wanted = self.model.sql("select * from t").to_arrow_table().cast(SCHEMA).to_pylist()
        found = self.table.read(columns=NAMES).to_arrow().cast(SCHEMA).to_pylist()

        def ordered(rows: list[dict[str, Any]]) -> list[str]:
            return sorted(repr([r[n] for n in NAMES]) for r in rows)

        assert ordered(found) == ordered(wanted)
        assert not self.table.timeline().pending()


# --- many of them, and their number -------------------------------------------------------------------
def session() -> Any:
    from pyspark.sql import SparkSession

    found = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    found.sparkContext.setLogLevel("OFF")
    return found


def main(engine: str, count: int) -> int:
    spark = session() if engine == "spark" else None
    names = ("agreed", "refused", "differ")
    found = {table_type: dict.fromkeys(names, 0) for table_type in TABLE_TYPES}
    began, seed = time.monotonic(), 0
    try:
        while any(sum(counts.values()) < count for counts in found.values()):
            for table_type, counts in found.items():
                left = min(STATEMENTS, count - sum(counts.values()))
                with tempfile.TemporaryDirectory(prefix="statements-") as home:
                    trial = Trial(seed, Path(home) / "t", spark, left, table_type)
                    try:
                        trial.run()
                    except AssertionError:
                        counts["differ"] += 1  # what comes after it in its trial is not run
                        print(f"{engine} {table_type} seed {seed}", file=sys.stderr)
                        traceback.print_exc()
                counts["agreed"] += trial.agreed
                counts["refused"] += trial.refused
            seed += 1
    finally:  # also where it is interrupted
        for table_type, counts in found.items():
            print(
                f"{engine}, {table_type}: {sum(counts.values())} statements, {counts['agreed']} did what DuckDB's did, "
                f"{counts['refused']} were refused as they have to be, {counts['differ']} differ"
            )
        print(f"{seed} trials of each, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if any(counts["differ"] for counts in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

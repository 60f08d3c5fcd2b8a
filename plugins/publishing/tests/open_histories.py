"""Random histories of a table that is published as Iceberg and Delta, and what readers see after
each action: the newest state, whole and filtered, and older states that are listed.

``python open_histories.py FIRST COUNT [COMMITS [SECONDS [RECORD]]]`` tries the histories with these
numbers, each of so many commits, and begins none after so many seconds. With the file ``RECORD`` it
notes each of them there, a line of JSON, goes on where it was stopped, and sums up all that the file
has. In a folder of memory (``TMPDIR=/dev/shm``) it takes half the time: commits wait for no disk.

``HOODOO_OPEN_READERS`` names the readers to use, with commas between them: empty, none but Spark,
which reads if ``HOODOO_SPARK_PYTHON`` is set (see ``spark_reader.py``)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hoodoo
import polars as pl
import pyarrow as pa
from attrs import define, field
from deltalake import DeltaTable
from hoodoo.errors import HoodooError, SchemaError
from open_conditions import Condition, drawn, plain
from open_readers import SCHEMA, check_names, delta, iceberg, row, shown, snapshots, texts
from pyiceberg.table import StaticTable

# Of one state of a table at a path: all rows, and for each condition the rows that the reader
# finds by it and those of all rows that it is true of.
Reader = Callable[[str, Sequence[Condition]], tuple[pa.Table, list[tuple[pa.Table, pa.Table]]]]
PLACES = ("a b", "c/d", "é%20", "x=1&y", "it's", None, "東京", "2024-01-02")
INDEXES = (
    "simple",
    "bloom",
    "global_simple",
    "global_bloom",
    "bucket",
    "consistent_bucket",
    "record_index",
    "partitioned_record_index",
    "growing_record_index",
)
GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
REMOVE_STATES = ("clean", "erase", "restore", "rollback")
STORED_IN_METADATA = ("record_index", "partitioned_record_index", "growing_record_index")


# --- readers --------------------------------------------------------------------------------------
def pyiceberg_reads(path: str, conditions: Sequence[Condition]) -> Any:
    table = StaticTable.from_metadata(path)
    whole = table.scan().to_arrow()
    return whole, [
        (table.scan(row_filter=c.iceberg()).to_arrow(), whole.filter(c.arrow()))
        for c in _of_arrow(conditions)
        if not c.differs_from_nothing
    ]


def deltalake_reads(path: str, conditions: Sequence[Condition]) -> Any:
    data = DeltaTable(path).to_pyarrow_dataset()
    whole = data.to_table()
    return whole, [
        (data.to_table(filter=c.arrow()), whole.filter(c.arrow())) for c in _of_arrow(conditions)
    ]


def _of_arrow(conditions: Sequence[Condition]) -> list[Condition]:
    """Those that datasets of pyarrow answer right: a row group whose other values are all equal is
    left out where NaN is asked for, in any Parquet file."""
    return [c for c in conditions if not c.asks_for_nan]


def polars_iceberg(path: str, conditions: Sequence[Condition]) -> Any:
    version = Path(path, "metadata/version-hint.text").read_text()
    return _polars(pl.scan_iceberg(f"{path}/metadata/v{version}.metadata.json"), conditions)


def polars_delta(path: str, conditions: Sequence[Condition]) -> Any:
    return _polars(pl.scan_delta(path), conditions)


def _polars(lazy: pl.LazyFrame, conditions: Sequence[Condition]) -> Any:
    with warnings.catch_warnings():  # about speed
        warnings.simplefilter("ignore", pl.exceptions.PerformanceWarning)
        whole = lazy.collect()
        each = [(lazy.filter(c.polars()).collect(), whole.filter(c.polars())) for c in conditions]
    return whole.to_arrow(), [(one.to_arrow(), other.to_arrow()) for one, other in each]


@cache
def _program(variable: str, name: str) -> subprocess.Popen[str] | None:
    """The program that reads with another library, if the environment ``variable`` names an
    interpreter that has it."""
    interpreter = os.environ.get(variable)
    if not interpreter:
        return None
    return subprocess.Popen(
        [interpreter, str(Path(__file__).with_name(name))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TZ": "UTC", "PYTHONPATH": "", "PYSPARK_PYTHON": interpreter},
    )


def _duckdb() -> subprocess.Popen[str] | None:
    return _program("HOODOO_DUCKDB_PYTHON", "duckdb_reader.py")


def _spark() -> subprocess.Popen[str] | None:
    return _program("HOODOO_SPARK_PYTHON", "spark_reader.py")


def _answered(process: subprocess.Popen[str] | None, asked: dict[str, Any]) -> None:
    assert process is not None and process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert not answer, answer


def _by_spark(form: str, path: str, state: int | None) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        asked = {"format": form, "path": path, "state": state, "target": f"{folder}/found"}
        _answered(_spark(), asked)
        with pa.OSFile(f"{folder}/found") as file:
            return pa.ipc.open_file(file).read_all()


def duckdb_iceberg(path: str, conditions: Sequence[Condition]) -> Any:
    version = Path(path, "metadata/version-hint.text").read_text()
    return _asked(f"iceberg_scan('{path}/metadata/v{version}.metadata.json')", conditions)


def duckdb_delta(path: str, conditions: Sequence[Condition]) -> Any:
    return _asked(f"delta_scan('{path}')", conditions)


def _asked(source: str, conditions: Sequence[Condition]) -> Any:
    # DuckDB leaves out row groups by the bounds in footers, which leave out NaN, in any
    # Parquet file.
    conditions = [c for c in conditions if not c.orders_nan]
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "source": source,
            "where": [c.sql() for c in conditions],
            "target": f"{folder}/found",
        }
        _answered(_duckdb(), asked)
        found = []
        for number in range(1 + 2 * len(conditions)):
            with pa.OSFile(f"{folder}/found.{number}") as file:
                found.append(pa.ipc.open_file(file).read_all())
    return found[0], list(zip(found[1::2], found[2::2], strict=True))


def readers() -> list[Reader]:
    found: list[Reader] = [pyiceberg_reads, deltalake_reads, polars_iceberg, polars_delta]
    if _duckdb() is not None:
        found += [duckdb_iceberg, duckdb_delta]
    names = os.environ.get("HOODOO_OPEN_READERS")
    return [r for r in found if names is None or r.__name__ in names.split(",")]


# --- histories ------------------------------------------------------------------------------------
@define
class History:
    """``count`` random actions on a table at ``path``. ``wanted``: what is not drawn."""

    path: Path
    seed: int
    wanted: dict[str, Any] = field(factory=dict)
    done: list[str] = field(factory=list)
    # What snapshots of Iceberg and versions of Delta show.
    states: dict[Any, list[str]] = field(factory=dict)
    unread: dict[Any, list[str]] = field(factory=dict)  # of these, what Spark has not read yet
    by_spark: int = 0  # states that Spark has read
    expired: int = 0  # states that were listed no longer when Spark came to them
    commits: int = 0
    compared: int = 0
    older: int = 0  # of these, with states before the newest one
    made: dict[str, Any] = field(factory=dict)

    def run(self, count: int) -> None:
        """Until ``count`` actions have completed something. Readers are asked after each action,
        after one that found nothing to do as well."""
        chance = random.Random(self.seed)
        table = self._create(chance)
        actions = self._actions(table, chance)
        known = _completed(table)
        while self.commits < count:
            name = "upsert" if self.commits < 2 else chance.choice([*actions, "upsert", "upsert"])
            self.done.append(name)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", hoodoo.errors.HoodooWarning)
                    if name in REMOVE_STATES:
                        self._read_by_spark()
                    actions[name]()
                now = _completed(table)
                self.commits, known = self.commits + (not now <= known), now
                self._check(table, chance, all_states=self.commits == count)
            except Exception as error:
                error.add_note(f"history {self.seed}: {self.made}: {self.done}")
                raise
        self._read_by_spark()
        findings = [f for f in table.verify().findings if f.kind != "key.twice" or not self.doubles]
        assert not findings, (self.seed, findings)

    def _create(self, chance: random.Random) -> hoodoo.Table:
        index = chance.choice(INDEXES)
        merged = chance.random() < 0.25 or index == "consistent_bucket"
        virtual = chance.random() < 0.2 and index in ("simple", "bucket")
        options = {
            "hoodoo.open.formats": chance.choice(["iceberg,delta", "iceberg,delta", "iceberg"]),
            "hoodie.clean.automatic": "false",
            "hoodie.metadata.enable": str(
                index in STORED_IN_METADATA or chance.random() < 0.3
            ).lower(),
            "hoodie.datasource.write.hive_style_partitioning": str(chance.random() < 0.5).lower(),
            "hoodie.datasource.write.partitionpath.urlencode": str(chance.random() < 0.3).lower(),
        }
        if merged:
            options |= {"hoodoo.open.read.optimized": "true", "hoodie.compact.inline": "false"}
        if virtual:
            options["hoodie.populate.meta.fields"] = "false"
        if "bucket" in index:
            options["hoodie.bucket.index.num.buckets"] = "3"
        if chance.random() < 0.3:  # several files in a partition
            options["hoodie.parquet.small.file.limit"] = "0"
        self.made = {
            "index": index,
            "partition_by": chance.choice(["place", "n", "day", ["place", "n"], (), "place"]),
            "table_type": "MERGE_ON_READ" if merged else "COPY_ON_WRITE",
            "table_version": chance.choice([6, 8, 9, 9]),
            "options": options,
            **self.wanted,
        }
        # Version 6 has neither of these; partitioned ones need partitions.
        if self.made["table_version"] == 6 and index in STORED_IN_METADATA[1:]:
            self.made["index"] = "record_index"
        if index == "partitioned_record_index" and not self.made["partition_by"]:
            self.made["partition_by"] = "place"
        return hoodoo.create(str(self.path), SCHEMA, record_key="id", **self.made)

    @property
    def by_id(self) -> bool:
        """Whether readers of all formats find columns by ids, so that they may be renamed."""
        return "delta" not in self.made["options"]["hoodoo.open.formats"]

    @property
    def doubles(self) -> bool:
        """Whether an overwrite may write a key that is in another partition, which it does not look
        for, and an update may take both rows."""
        names = self.made["partition_by"]
        moves = {"n", "day"} & {*([names] if isinstance(names, str) else names)}
        return self.made["index"] in GLOBAL and bool(moves) and "overwrite" in self.done

    def _rows(self, chance: random.Random, schema: pa.Schema, numbers: Sequence[int]) -> pa.Table:
        """Rows with these ids. Each column but the key is null in some."""
        value = chance.randrange(4) * 7
        made = []
        for number in numbers:
            found = row(number, value + chance.choice([0, 0, 1]))
            found["place"] = PLACES[number % len(PLACES)]
            for name in sorted(found.keys() - {"id"}):
                if chance.random() < 0.08:
                    found[name] = None
            made.append(found)
        return pa.Table.from_arrays(
            [pa.array([_value(one, f) for one in made], f.type) for f in schema], schema=schema
        )

    def _actions(self, table: hoodoo.Table, chance: random.Random) -> dict[str, Any]:
        newest: list[str] = []  # the write that may be undone
        points: list[str] = []
        tags: list[str] = []

        def rows(most: int) -> pa.Table:
            numbers = chance.sample(range(20), chance.randint(1, most))
            return self._rows(chance, table.schema, numbers)

        def written(found: Any) -> None:
            if found.instant:
                newest[:] = [found.instant]

        def rollback() -> None:
            if newest:
                table.rollback(newest.pop())

        def save() -> None:
            newest.clear()
            if not points and not tags and table.timeline().writes():
                point = table.savepoint()
                points.append(getattr(point, "instant", point))

        def restore() -> None:
            newest.clear()
            if points:
                table.restore(points.pop())

        def tag() -> None:
            newest.clear()
            if tags:
                table.untag(tags.pop())
            elif not points and table.timeline().writes():
                tags.append(f"t{len(self.done)}")
                table.tag(tags[-1])

        def alter() -> None:
            newest.clear()
            names, partitions = table.schema.names, table.config.partition_fields
            price = next((f for f in table.schema if plain(f.name) == "price"), None)
            changes: list[dict[str, Any]] = []
            if "n" not in partitions and table.schema.field("n").type == pa.int32():
                changes.append({"widen": {"n": "bigint"}})
            if price is not None and price.type.precision == 10:
                changes.append({"widen": {price.name: "decimal(14, 2)"}})
            changes += [{"add": {new: "string"}} for new in ("more", "most") if new not in names]
            inner = next(f for f in table.schema if plain(f.name) == "inner")
            below = [f"{inner.name}.{f.name}" for f in inner.type]
            if len(below) == 1:
                changes.append({"add": {f"{inner.name}.b": "string"}})
            if self.by_id:
                each = [n for n in [*names, *below] if n not in ("id", "n", "place", "day")]
                each = [n for n in each if not n.endswith("_2")]
                if each:
                    old = chance.choice(each)
                    new = f"{old.rpartition('.')[2]}_2"
                    changes += [{"rename": {old: new}}] * 3
                changes.append({"reorder": [chance.choice(names)]})
                if len(below) > 1:
                    changes.append({"drop": [below[-1]]})
            if gone := [n for n in ("raw", "more", "most", "raw_2") if n in names]:
                changes.append({"drop": [chance.choice(gone)]})
            if changes:
                change = chance.choice(changes)
                self.done[-1] = f"alter {change}"
                try:
                    table.alter(**change)
                except SchemaError as error:  # a name that another column had
                    assert "was that has been dropped or renamed" in str(error) or (
                        "index" in str(error)
                    ), error

        def erase() -> None:
            newest.clear()
            points.clear()
            tags.clear()
            self.states.clear()
            table.erase(keys=[chance.randrange(20)], drop_savepoints=True)

        def service(call: Callable[[], Any]) -> Callable[[], None]:
            def run() -> None:
                if call() is not None:
                    newest.clear()

            return run

        def one_row() -> None:
            new = [20 + len(self.done)]
            written(table.bulk_insert(self._rows(chance, table.schema, new)))

        def overwrite() -> None:
            written(table.insert_overwrite(rows(2)))

        actions: dict[str, Any] = {
            "upsert": lambda: written(table.upsert(rows(6))),
            "insert": one_row,
            "delete": lambda: written(table.delete(where=f"id % 5 = {chance.randrange(5)}")),
            "update": lambda: written(
                table.update(
                    {next(n for n in table.schema.names if plain(n) == "long"): "NULL"},
                    where=f"id % 4 = {chance.randrange(4)}",
                )
            ),
            "overwrite": overwrite,
            "overwrite table": lambda: written(table.insert_overwrite_table(rows(8))),
            "cluster": service(lambda: table.cluster(order="linear", columns=["id"])),
            "clean": service(lambda: table.clean(commits_retained=chance.choice([1, 3]))),
            "archive": service(table.archive),
            "rollback": rollback,
            "save": save,
            "restore": restore,
            "tag": tag,
            "alter": alter,
            "erase": erase,
        }
        if "bucket" in self.made["index"]:
            for name in ("insert", "cluster"):
                del actions[name]
        if table.config.table_type == "MERGE_ON_READ":
            actions["compact"] = service(table.compact)
        return actions

    def _check(self, table: hoodoo.Table, chance: random.Random, all_states: bool) -> None:
        path, names, right = str(self.path), table.schema.names, shown(table)
        check_names(path)
        conditions = [drawn(chance, table.schema) for _ in range(2)]
        for reader in readers():
            where = reader.__name__
            if self.by_id and "delta" in where:
                continue
            whole, each = reader(path, conditions)
            assert texts(_plain(whole, table.schema), names) == right, where
            for found, expected in each:
                one, other = texts(found, names), texts(expected, names)
                assert one == other, (where, conditions)
                self.compared += 1
            self.compared += 1
        self._older(path, names, right, chance, all_states)

    def _older(
        self, path: str, names: list[str], right: list[str], chance: random.Random, every: bool
    ) -> None:
        listed = [s.snapshot_id for s in snapshots(path)]
        newest = {("iceberg", listed[-1]): right}
        version = -1
        if not self.by_id:
            version = DeltaTable(path).version()
            newest["delta", version] = right
        self.unread |= {state: newest[state] for state in newest if state not in self.states}
        self.states |= newest
        older = [n for n in listed[:-1] if ("iceberg", n) in self.states]
        for number in older if every else chance.sample(older, min(2, len(older))):
            found = iceberg(path, number)
            assert _of_then(found) == self.states["iceberg", number], ("iceberg", number)
            self.older += 1
        past = [n for kind, n in self.states if kind == "delta" and n != version]
        for number in past if every else chance.sample(past, min(2, len(past))):
            try:
                found = delta(path, number)
            except FileNotFoundError:  # cleaned: as after VACUUM
                del self.states["delta", number]
                continue
            assert _of_then(found) == self.states["delta", number], ("delta", number)
            self.older += 1

    def _read_by_spark(self) -> None:
        """Each state once, before an action may remove it: Spark takes half a second for one. The
        newest ones are read without their numbers, too."""
        if _spark() is None or not self.unread:
            return
        path = str(self.path)
        listed = {s.snapshot_id for s in snapshots(path)}
        for (form, number), right in self.unread.items():
            if form == "iceberg" and number not in listed:  # a write let it expire
                self.expired += 1
                continue
            assert _of_then(_by_spark(form, path, number)) == right, ("spark", form, number)
            self.by_spark += 1
        for form, right in {form: right for (form, _), right in self.unread.items()}.items():
            assert _of_then(_by_spark(form, path, None)) == right, ("spark", form)
        self.unread.clear()


def _of_then(found: pa.Table) -> list[str]:
    return texts(found, found.column_names)


def _plain(found: pa.Table, schema: pa.Schema) -> pa.Table:
    """With the types of the table: readers answer large strings, views, and times of their own
    zone."""
    columns = [found[f.name].cast(f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _value(found: dict[str, Any], field: pa.Field) -> Any:
    """Of a row of :func:`open_readers.row`, which does not know columns that came later."""
    if plain(field.name) not in found:
        return f"new {found['id']}"
    value = found[plain(field.name)]
    if pa.types.is_struct(field.type) and value is not None:
        return {f.name: value.get(plain(f.name), "inner") for f in field.type}
    return value


def _completed(table: hoodoo.Table) -> set[tuple[str, str]]:
    """What the active timeline has completed."""
    each = table.timeline().instants
    return {(i.requested, i.action) for i in each if i.is_completed}


def main(
    first: int, count: int, commits: int = 30, seconds: int = 86_400, record: str = ""
) -> None:
    notes = Path(record or os.devnull)
    tried = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
    begun, done = time.monotonic(), {one["history"] for one in tried}
    for seed in range(first, first + count):
        if time.monotonic() - begun > seconds:
            break
        if seed in done:
            continue
        tried.append(_tried(seed, commits))
        with notes.open("a", encoding="utf-8") as file:
            print(json.dumps(tried[-1]), file=file)
        if said := tried[-1]["differs"]:
            print(f"{seed}: {said}", flush=True)
    numbers = [one["history"] for one in tried]
    totals = {
        name: sum(one[name] for one in tried)
        for name in ("commits", "actions", "comparisons", "older_states", "by_spark", "expired")
    }
    print(
        f"{len(tried)} histories ({min(numbers, default=0)} to {max(numbers, default=0)}), "
        + ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in totals.items())
        + f", {len(readers())} readers: {sum(bool(one['differs']) for one in tried)} differ; "
        f"{time.monotonic() - begun:.0f} s",
        flush=True,
    )


def _tried(seed: int, commits: int) -> dict[str, Any]:
    """One history, as a record has it."""
    differs = ""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder, "t"), seed)
        try:
            history.run(commits)
        except Exception as error:
            said = "; ".join(getattr(error, "__notes__", ()))
            kind = "" if isinstance(error, (AssertionError, HoodooError)) else "unforeseen "
            differs = f"{kind}{type(error).__name__} {str(error)[:1500]}\n  {said}"
    return {
        "history": seed,
        "commits": history.commits,
        "actions": len(history.done),
        "comparisons": history.compared,
        "older_states": history.older,
        "by_spark": history.by_spark,
        "expired": history.expired,
        "differs": differs,
    }


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), *sys.argv[5:])

"""Bad input: each row of docs/errors.md is provoked here, and leaves the table byte for byte as it was.

The page and this module hold each other: a row without a trial fails, a trial without a row fails,
and the message in the page is how the one raised begins, but for what varies, written as ``…``;
bad_input_messages.json has the whole of it.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from hoodoo import errors
from hoodoo.errors import HoodooError
from hoodoo.hookspecs import PluginRef
from hoodoo.hookspecs.merger import Merged
from hoodoo.testing.distributions import fake_distribution
from hoodoo_spark.worker import load

pytestmark = pytest.mark.sampled

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
WHOLE = json.loads(Path(__file__).with_name("bad_input_messages.json").read_text("utf-8"))
SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
ROWS = pa.table([[1, 2], ["oslo", "rome"], [1.5, 2.5], [1, 1]], schema=SCHEMA)
MORE = pa.table([[2, 3], ["rome", "rome"], [9.5, 9.5], [2, 2]], schema=SCHEMA)


@frozen
class World:
    """Where a trial happens: everything below ``home`` has to stay as it is."""

    home: Path
    outside: Path
    golden: Callable[[str], Path]

    @property
    def path(self) -> str:
        return str(self.home / "trips")

    def table(self, **more: Any) -> hoodoo.Table:
        """A table of two rows: id 1 in oslo, id 2 in rome."""
        given = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
        table = hoodoo.create(self.path, SCHEMA, **given)
        table.insert(ROWS)
        return table

    def merged(self, **more: Any) -> hoodoo.Table:
        """A table that is merged on read, with a log file in rome."""
        table = self.table(table_type="MERGE_ON_READ", **more)
        table.upsert(MORE.slice(0, 1))
        return table

    def create(self, schema: Any = SCHEMA, **more: Any) -> Any:
        """Make a table where none is."""
        given = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
        return lambda: hoodoo.create(self.path, schema, **given)

    def theirs(self, name: str) -> str:
        """A copy of a table that Hudi made."""
        path = self.home / "trips"
        shutil.copytree(self.golden(name), path)
        return str(path)

    def source(self) -> str:
        """A folder with a Parquet file."""
        (self.home / "source").mkdir()
        pq.write_table(ROWS, self.home / "source/a.parquet")
        return str(self.home / "source")

    def rewrite(self, old: bytes, new: bytes) -> None:
        """Change hoodie.properties by hand; the checksum with it if ``new`` keeps the table sound."""
        file = self.home / "trips/.hoodie/hoodie.properties"
        before = file.read_bytes()
        assert old in before
        file.write_bytes(before.replace(old, new))

    def process(self, code: str, **environment: str) -> Callable[[], None]:
        """Run ``code`` in another process that sees the distributions in ``outside``."""
        return lambda: _elsewhere(code, self, environment)


Act = Callable[[], Any]
TRIALS: dict[str, tuple[type[HoodooError], Callable[[World], Act]]] = {}


def trial(title: str, kind: type[HoodooError]) -> Callable[[Any], Any]:
    """The trial of the row ``title``: it prepares, and returns the act that has to fail."""

    def add(function: Callable[[World], Act]) -> Callable[[World], Act]:
        assert title not in TRIALS
        TRIALS[title] = (kind, function)
        return function

    return add


def _elsewhere(code: str, world: World, environment: dict[str, str]) -> None:
    """What ``code`` raises, raised here."""
    program = (
        "import json, sys\n"
        "import hoodoo\n"
        "import pyarrow as pa\n"
        f"path = {world.path!r}\n"
        "rows = pa.table({'id': [7], 'city': ['oslo'], 'fare': [1.0], 'ts': [1]})\n"
        "try:\n"
        + "".join(f"    {line}\n" for line in code.splitlines())
        + "except hoodoo.errors.HoodooError as error:\n"
        "    print(json.dumps(error.to_dict()))\n"
    )
    before = os.environ.get("PYTHONPATH")
    where = os.pathsep.join([str(world.outside), *([before] if before else [])])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": where, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    raise HoodooError.from_dict(json.loads(done.stdout.splitlines()[-1]))


def changed(name: str, values: Any) -> pa.Table:
    """Rows to write with another column ``name``."""
    return MORE.set_column(MORE.schema.get_field_index(name), name, values)


# --- creating -------------------------------------------------------------------------------------
@trial("the table exists already", errors.TableExistsError)
def _(world: World) -> Act:
    world.table()
    return world.create()


@trial("a table that is there, and contradicts an argument", errors.OptionConflictError)
def _(world: World) -> Act:
    world.table()
    return world.create(record_key="fare", exist_ok=True)


@trial("a table that is there, and lacks a column of the schema", errors.SchemaError)
def _(world: World) -> Act:
    world.table()
    return world.create(schema=SCHEMA.append(pa.field("tip", pa.float64())), exist_ok=True)


@trial("`hoodoo.write` where no table is, without a key", errors.CallError)
def _(world: World) -> Act:
    return lambda: hoodoo.write(world.path, MORE)


@trial("a commit of a number that the table lacks", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(as_of=12)


@trial("a folder with rows of other formats", errors.ConfigError)
def _(world: World) -> Act:
    (world.home / "trips").mkdir()
    pq.write_table(ROWS, world.home / "trips/a.parquet")
    return world.create()


@trial("a record index of files of a bootstrap", errors.UnsupportedTableError)
def _(world: World) -> Act:
    table = hoodoo.bootstrap(world.source(), world.path, record_key="id")
    return lambda: table.switch_index("record_index")


@trial("a backup within its table", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.backup(f"{world.path}/copy")


@trial("a write to a backup", errors.UnsupportedTableError)
def _(world: World) -> Act:
    copy = str(world.home / "copy")
    world.table().backup(copy)
    return lambda: hoodoo.open(copy).upsert(MORE)


@trial("`SORT BY` without Spark", errors.ConfigError)
def _(world: World) -> Act:
    text = "SELECT id FROM trips UNION ALL SELECT id FROM trips SORT BY id"
    table = world.table()
    return lambda: hoodoo.sql(text, {"trips": table})


@trial("an upsert into a table without key columns", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table(record_key=None)
    return lambda: table.upsert(MORE)


@trial("a key, partition or ordering column that the schema lacks", errors.MissingColumnError)
def _(world: World) -> Act:
    return world.create(partition_by="town")


@trial("a table version that is not written", errors.UnsupportedTableError)
def _(world: World) -> Act:
    return world.create(table_version=7)


@trial("a table type that does not exist", errors.ConfigError)
def _(world: World) -> Act:
    return world.create(table_type="MERGE")


@trial("a schema of an unknown kind", errors.ConfigError)
def _(world: World) -> Act:
    return world.create(schema=7)


@trial("a column type that Hudi has not", errors.SchemaError)
def _(world: World) -> Act:
    return world.create(schema=SCHEMA.append(pa.field("took", pa.duration("s"))))


@trial("a column name that Hudi has not", errors.SchemaError)
def _(world: World) -> Act:
    return world.create(schema=SCHEMA.append(pa.field("fare in €", pa.float64())))


@trial("`event_time` without an ordering column", errors.ConfigError)
def _(world: World) -> Act:
    return world.create(merger="event_time", ordering=())


@trial("two ordering columns in version 6", errors.ConfigError)
def _(world: World) -> Act:
    return world.create(table_version=6, ordering=("ts", "fare"))


@trial("an option against an argument", errors.OptionConflictError)
def _(world: World) -> Act:
    return world.create(options={"hoodie.table.recordkey.fields": "ts"})


@trial("a name that can't be one", errors.ConfigError)
def _(world: World) -> Act:
    return world.create(name="my trips")


@trial("a store that no plugin offers", errors.PluginError)
def _(world: World) -> Act:
    return lambda: hoodoo.create("ftp://host/trips", SCHEMA, record_key="id")


# --- opening --------------------------------------------------------------------------------------
@trial("a path that is a file", errors.ConfigError)
def _(world: World) -> Act:
    (world.home / "trips").write_text("id")
    return lambda: hoodoo.create(world.path, SCHEMA)


@trial("a Delta Lake table", errors.NotATableError)
def _(world: World) -> Act:
    (world.home / "trips/_delta_log").mkdir(parents=True)
    return lambda: hoodoo.open(world.path)


@trial("a directory of Parquet files", errors.NotATableError)
def _(world: World) -> Act:
    (world.home / "trips").mkdir()
    (world.home / "trips/rows.parquet").write_text("")
    return lambda: hoodoo.open(world.path)


@trial("a partition of a table", errors.NotATableError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(f"{world.path}/rome")


@trial("an engine that nobody offers", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, engine="duckdb")


@trial("not a table", errors.NotATableError)
def _(world: World) -> Act:
    (world.home / "trips").mkdir()
    (world.home / "trips/data.csv").write_text("id\n1\n")
    return lambda: hoodoo.open(world.path)


@trial("an unknown table version", errors.UnsupportedTableError)
def _(world: World) -> Act:
    world.table()
    world.rewrite(b"hoodie.table.version=9", b"hoodie.table.version=99")
    return lambda: hoodoo.open(world.path)


@trial("an unknown table type", errors.UnsupportedTableError)
def _(world: World) -> Act:
    world.table()
    world.rewrite(b"hoodie.table.type=COPY_ON_WRITE", b"hoodie.table.type=COPY_ON_READ")
    return lambda: hoodoo.open(world.path)


@trial("properties that were damaged", errors.CorruptTableError)
def _(world: World) -> Act:
    world.table()
    world.rewrite(b"hoodie.table.name=trips", b"hoodie.table.name=tripz")
    return lambda: hoodoo.open(world.path)


@trial("an unknown option", errors.UnknownOptionError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, options={"hoodie.parquet.max.filesize": 1000})


@trial("a value that is no option's", errors.ConfigError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, options={"hoodie.parquet.max.file.size": [1, 2]})


@trial("an option against a table property", errors.OptionConflictError)
def _(world: World) -> Act:
    world.table()
    options = {"hoodie.datasource.write.hive_style_partitioning": True}
    return lambda: hoodoo.open(world.path, options=options)


@trial("an index with another number of buckets", errors.OptionConflictError)
def _(world: World) -> Act:
    world.table(index="bucket", options={"hoodie.bucket.index.num.buckets": 4})
    return lambda: hoodoo.open(world.path, options={"hoodie.bucket.index.num.buckets": 5})


@trial("another merger than the table's", errors.OptionConflictError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, merger="commit_time")


# --- writing --------------------------------------------------------------------------------------
@trial("a key is null", errors.NullKeyError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(changed("id", pa.array([None, 3], pa.int64())))


@trial("the key column is missing", errors.MissingColumnError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(MORE.drop_columns(["id"]))


@trial("the partition column is missing", errors.MissingColumnError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.bulk_insert(MORE.drop_columns(["city"]))


@trial("the ordering column is missing", errors.MissingColumnError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(MORE.drop_columns(["ts"]))


@trial("a column of the wrong type", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(changed("fare", pa.array(["nine", "ten"])))


def _timed(world: World, kind: pa.DataType, arrives: pa.DataType) -> Act:
    schema = SCHEMA.append(pa.field("at", kind))
    table = hoodoo.create(world.path, schema, record_key="id", partition_by="city", ordering="ts")
    times = pa.array([1, 2], pa.int64()).cast(arrives)
    return lambda: table.insert(ROWS.append_column("at", times))


@trial("a timestamp without a zone, for a column with one", errors.SchemaError)
def _(world: World) -> Act:
    return _timed(world, pa.timestamp("us", "UTC"), pa.timestamp("us"))


@trial("a timestamp with a zone, for a column without", errors.SchemaError)
def _(world: World) -> Act:
    return _timed(world, pa.timestamp("us"), pa.timestamp("us", "UTC"))


@trial("nanoseconds that are no whole microseconds", errors.SchemaError)
def _(world: World) -> Act:
    return _timed(world, pa.timestamp("us"), pa.timestamp("ns"))


@trial("a value that does not fit the column", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.insert(changed("city", pa.array([b"\xff", b"rome"])))


@trial("a text that is no UTF-8", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(changed("city", pa.array([b"\xff", b"rome"]).view(pa.string())))


@trial("a key column of another type", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.append(changed("id", pa.array(["2", "3"])))


@trial("a column name that differs in case", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(MORE.rename_columns({"fare": "Fare"}))


@trial("data that is not Arrow", errors.DataError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert([3, 4])


@trial("a pandas column of several types", errors.DataError)
def _(world: World) -> Act:
    import pandas as pd

    table = world.table()
    return lambda: table.upsert(pd.DataFrame({"id": ["1", "2"], "fare": [1.0, "x"]}))


@trial("a pandas frame that has a name twice", errors.DataError)
def _(world: World) -> Act:
    import pandas as pd

    table = world.table()
    return lambda: table.upsert(pd.DataFrame([["1", 1.0, 2.0]], columns=["id", "fare", "fare"]))


@trial("one column instead of rows", errors.DataError)
def _(world: World) -> Act:
    import polars as pl

    table = world.table()
    return lambda: table.upsert(pl.Series("id", [3]))


@trial("columns that are no list", errors.CallError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(columns=5)  # type: ignore[arg-type]


@trial("a list of keys to delete, of a table without a key", errors.DataError)
def _(world: World) -> Act:
    table = hoodoo.create(world.path, SCHEMA)
    return lambda: table.delete([1])


@trial("an argument that does not exist", errors.CallError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(dataa=MORE)  # type: ignore[call-arg]


@trial("a stored key, inserted under the policy `fail`", errors.DuplicateKeyError)
def _(world: World) -> Act:
    table = world.table(options={"hoodie.datasource.insert.dup.policy": "fail"})
    return lambda: table.insert(MORE)


@trial("a duplicate policy that does not exist", errors.ConfigError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, {"hoodie.datasource.insert.dup.policy": "ignore"})


@trial("a partition that is not there", errors.DataError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.delete_partitions("paris")


@trial("a partition path that is a number", errors.CallError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.delete_partitions([2024])  # type: ignore[list-item]


@trial("a record key that is no name", errors.CallError)
def _(world: World) -> Act:
    return world.create(record_key=0)


@trial("a table name that is no text", errors.CallError)
def _(world: World) -> Act:
    return world.create(name=2024)


@trial("keys to delete of another type", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.delete(["one"])


@trial("a list of keys where the key is several columns", errors.DataError)
def _(world: World) -> Act:
    table = world.table(record_key=("id", "ts"))
    return lambda: table.delete([1])


@trial("a null in a virtual key", errors.NullKeyError)
def _(world: World) -> Act:
    options = {"hoodie.recordkey.virtual.enabled": "true"}
    table = world.table(record_key=["id", "fare"], options=options)
    return lambda: table.upsert(MORE.set_column(2, "fare", pa.nulls(2, pa.float64())))


@trial("a key generator whose keys can't be virtual", errors.ConfigError)
def _(world: World) -> Act:
    options = {"hoodie.recordkey.virtual.enabled": "true"}
    return world.create(key_generator="CUSTOM", partition_by="city:SIMPLE", options=options)


@trial("virtual keys for a table that stores them", errors.OptionConflictError)
def _(world: World) -> Act:
    world.table()
    return lambda: hoodoo.open(world.path, {"hoodie.recordkey.virtual.enabled": "true"})


@trial("base files in a format that no plugin offers, written", errors.PluginError)
def _(world: World) -> Act:
    table = hoodoo.open(world.theirs("cow_v9_lance_nonpartitioned"))
    return lambda: table.upsert(MORE)


@trial("a block format that does not exist", errors.ConfigError)
def _(world: World) -> Act:
    world.merged()
    return lambda: hoodoo.open(world.path, {"hoodie.logfile.data.block.format": "orc"})


# --- compaction -----------------------------------------------------------------------------------
@trial("a compaction strategy that no plugin offers", errors.ConfigError)
def _(world: World) -> Act:
    world.merged()
    return lambda: hoodoo.open(world.path, {"hoodie.compaction.strategy": "log_sise"})


@trial("a compaction of a table that is copied on write", errors.UnsupportedTableError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.compact()


@trial("a compaction that is not pending", errors.ConfigError)
def _(world: World) -> Act:
    table = world.merged()
    return lambda: table.run_compaction("20240101000000000")


@trial("a log compaction that is not pending", errors.ConfigError)
def _(world: World) -> Act:
    table = world.merged()
    return lambda: table.run_planned("logcompaction", "20240101000000000")


@trial("a count of deltacommits that is none", errors.ConfigError)
def _(world: World) -> Act:
    world.merged()
    options = {"hoodie.compact.inline": True, "hoodie.compact.inline.max.delta.commits": "x"}
    return lambda: hoodoo.open(world.path, options)


# --- reading --------------------------------------------------------------------------------------
@trial("a base file that was deleted by hand", errors.CorruptTableError)
def _(world: World) -> Act:
    world.table(options={"hoodie.metadata.enable": "false"})
    next((Path(world.path) / "oslo").glob("*.parquet")).unlink()
    return lambda: hoodoo.open(world.path).read().count()


@trial("another file in the place of a base file", errors.CorruptTableError)
def _(world: World) -> Act:
    table = world.table(options={"hoodie.metadata.enable": "false"})
    (file,) = (Path(world.path) / "oslo").glob("*.parquet")
    table.insert(pa.table([range(50), ["rome"] * 50, [0.5] * 50, [1] * 50], schema=SCHEMA))
    other = max((Path(world.path) / "rome").glob("*.parquet"), key=lambda p: p.stat().st_size)
    shutil.copy(other, file)
    return lambda: hoodoo.open(world.path).read().count()


@trial("an insert overwrite whose commit was damaged", errors.CorruptTableError)
def _(world: World) -> Act:
    table = world.table(options={"hoodie.clean.automatic": "false"})
    (old,) = {f.name.split("_")[0] for f in (Path(world.path) / "oslo").glob("*.parquet")}
    table.insert_overwrite(pa.table([[9], ["oslo"], [1.0], [9]], schema=SCHEMA))
    (file,) = (Path(world.path) / ".hoodie/timeline").glob("*.replacecommit")
    file.write_bytes(file.read_bytes().replace(old.encode(), b"f0f0f0f0" + old[8:].encode()))
    return lambda: hoodoo.open(world.path).read().count()


@trial("a column that is not there", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(columns=["id", "fair"])


@trial("a filter over a column that is not there", errors.SchemaError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(where=pc.field("town") == "oslo")


@trial("a filter that is a list", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(where=["city = 'oslo'"])


@trial("columns as one text", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(columns="id")


@trial("a moment without a zone", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(as_of="2024-01-01T00:00:00")


@trial("a moment that is none", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(as_of="yesterday")


@trial("a mode that does not exist", errors.ConfigError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.read(mode="incremental")


@trial("log files, and no plugin for the table's merger", errors.UnsupportedTableError)
def _(world: World) -> Act:
    world.merged(merger=Mine())
    table = hoodoo.open(world.path)
    return lambda: table.read().to_arrow()


@trial("base files in a format that no plugin offers", errors.UnsupportedTableError)
def _(world: World) -> Act:
    table = hoodoo.open(world.theirs("cow_v9_lance_nonpartitioned"))
    return lambda: table.read().to_arrow()


# --- plugins --------------------------------------------------------------------------------------
class HalfAMerger:
    merge_mode = "CUSTOM"


class Mine:
    """A merger that no distribution offers."""

    merge_mode = "CUSTOM"
    strategy_id = "3b2f5a7e-7a3e-4d3c-8f9e-0d4f6a5b1c22"
    columns = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pa.repeat(True, newer.num_rows))


@trial("a name that no plugin offers", errors.PluginError)
def _(world: World) -> Act:
    return world.create(merger="even_time")


@trial("a class instead of an object", errors.PluginError)
def _(world: World) -> Act:
    return world.create(merger=HalfAMerger)


@trial("an object that lacks members", errors.PluginError)
def _(world: World) -> Act:
    return world.create(merger=HalfAMerger())


@trial("a table whose merger is not installed", errors.PluginError)
def _(world: World) -> Act:
    world.table(merger=Mine())
    table = hoodoo.open(world.path)
    return lambda: table.upsert(MORE)


WRITE = "hoodoo.open(path).upsert(rows)"
# A table that does not need the plugin works; who asks for the plugin gets the error.
BROKEN = """assert hoodoo.open(path).read().count() > 0
from hoodoo.kernel import kernel
raise kernel().broken[0].error"""
HOOK = (
    "import hoodoo\n"
    "from hoodoo.hookspecs import Registration\n"
    "@hoodoo.hookimpl\n"
    "def hoodoo_mergers():\n"
    "    return [Registration('extra', 'nowhere:Extra')]\n"
)


def installed(world: World, name: str, source: str, entry_point: str | None = None) -> None:
    """A distribution ``name`` whose plugin module has this source."""
    module = name.replace("-", "_")
    fake_distribution(
        world.outside, name, entry_points={entry_point or module: module}, modules={module: source}
    )


@trial("two distributions with one entry point", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK, "extra")
    installed(world, "dist-b", HOOK, "extra")
    return world.process(WRITE)


@trial("two plugins with one name", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK)
    installed(world, "dist-b", HOOK)
    return world.process(WRITE)


@trial("a plugin that fails to import", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", "import no_such_library\n")
    return world.process(BROKEN)


@trial("a misspelt hook", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK.replace("hoodoo_mergers", "hoodoo_merger"))
    return world.process(BROKEN)


@trial("a hook that is not marked", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK.replace("@hoodoo.hookimpl\n", ""))
    return world.process(BROKEN)


@trial("a hook with other arguments", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK.replace("hoodoo_mergers()", "hoodoo_mergers(table)"))
    return world.process(BROKEN)


@trial("a hook that fails", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK.replace("return", "return 1 / 0, "))
    return world.process(BROKEN)


@trial("a factory that is not there", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    installed(world, "dist-a", HOOK)
    return world.process("hoodoo.create(path + '2', rows.schema, record_key='id', merger='extra')")


@trial("an executor lacks the plugin", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    return lambda: load(PluginRef("merger", "extra", "dist_a", "dist-a", "1.0"))


@trial("an executor has another version of the plugin", errors.PluginError)
def _(world: World) -> Act:
    world.table()
    ref = PluginRef("merger", "extra", "hoodoo_standard.registrations", "hoodoo-standard", "9.9")
    return lambda: load(ref)


# --- engines --------------------------------------------------------------------------------------
@trial("an engine that no plugin offers", errors.PluginError)
def _(world: World) -> Act:
    table = world.table()
    return lambda: table.upsert(MORE, engine="sparc")


@trial("no Java", errors.EngineError)
def _(world: World) -> Act:
    world.table()
    code = "hoodoo.open(path, engine='spark').upsert(rows)"
    return world.process(code, JAVA_HOME="", PATH=str(world.outside))


@trial("no PySpark", errors.EngineError)
def _(world: World) -> Act:
    world.table()
    (world.outside / "pyspark.py").write_text("raise ImportError('not here')\n")
    return world.process("hoodoo.open(path, engine='spark').upsert(rows)")


@trial("a PySpark that is too old", errors.EngineError)
def _(world: World) -> Act:
    world.table()
    (world.outside / "pyspark.py").write_text("__version__ = '3.4.2'\n")
    return world.process("hoodoo.open(path, engine='spark').upsert(rows)")


# --- the tests ------------------------------------------------------------------------------------
@pytest.fixture
def world(tmp_path: Path, golden: Callable[[str], Path]) -> World:
    for name in ("home", "outside"):
        (tmp_path / name).mkdir()
    return World(tmp_path / "home", tmp_path / "outside", golden)


def tree(home: Path) -> dict[str, bytes]:
    """Every file below ``home`` with its bytes."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def page_rows() -> dict[str, tuple[str, str]]:
    """Row of docs/errors.md -> class and message."""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        # The table of families holds errors too, but no messages.
        if len(cells) == 3 and re.fullmatch(r"`\w+Error`", cells[1]) and cells[2][0] == "`":
            assert cells[0] not in found, f"twice in the page: {cells[0]}"
            found[cells[0]] = (cells[1].strip("`"), cells[2].replace("\\|", "|").strip("`"))
    return found


def said(page: str, raised: str) -> bool:
    """Whether the page's message is the one raised; ``…`` stands for what varies."""
    raised = " ".join(raised.split())
    pattern = ".*".join(re.escape(part) for part in page.split("…"))
    return re.fullmatch(pattern, raised) is not None


@pytest.mark.parametrize("title", TRIALS)
def test_bad_input(title: str, world: World) -> None:
    kind, prepare = TRIALS[title]
    act = prepare(world)
    before = tree(world.home)
    with pytest.raises(HoodooError) as caught:
        act()
    error = caught.value
    assert type(error) is kind
    assert error.obj and error.rule and error.fix, f"object, rule and fix: {error.to_dict()}"
    assert tree(world.home) == before
    told_kind, message = page_rows()[title]
    assert told_kind == kind.__name__
    assert said(f"{message}…", str(error)), f"the page says:\n{message}\nraised:\n{error}"
    assert said(WHOLE[title], str(error)), f"noted:\n{WHOLE[title]}\nraised:\n{error}"


def test_each_row_of_the_page_has_its_trial() -> None:
    assert set(page_rows()) == set(TRIALS) == set(WHOLE)
    assert len(TRIALS) > 40


def test_the_page_names_each_family() -> None:
    text = PAGE.read_text("utf-8")
    waiting, missing = [HoodooError], []
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__ == "hoodoo.errors" and f"{kind.__name__}`" not in text:
            missing.append(kind.__name__)
    assert not missing


@pytest.mark.parametrize(
    ("page", "raised", "same"),
    [
        ("a: b … c", "a: b /tmp/x c", True),
        ("a: b (c).", "a: b (c).", True),
        ("a: b.", "a: bx", False),
        ("a: b", "a: b Fix: c", False),
    ],
)
def test_messages_are_compared_in_full(page: str, raised: str, same: bool) -> None:
    assert said(page, raised) is same


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_time_without_a_zone_in_a_filter(tmp_path: Path, kind: str, metadata: str) -> None:
    """Arrow notices it in a row, and no file need have one: it is not the fault of the plugin that looks at ranges."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    table = hoodoo.create(
        str(tmp_path / "t"),
        schema,
        record_key="id",
        table_type=kind,
        options={"hoodie.metadata.enable": metadata},
    )
    where = pc.field("at") > dt.datetime(2024, 1, 1)
    for _ in range(2):  # without rows, too
        with pytest.raises(
            hoodoo.errors.SchemaError, match=r"does not fit the types .* a time zone"
        ):
            table.read(where=where).count()
        with pytest.raises(
            hoodoo.errors.SchemaError, match=r"does not fit the types .* a time zone"
        ):
            table.delete(where=where)
        table.upsert(
            [{"id": n, "at": dt.datetime(2024, 1, n, tzinfo=dt.timezone.utc)} for n in (1, 2)]
        )
    zoned = pc.field("at") > dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    assert table.read(where=zoned).count() == 1

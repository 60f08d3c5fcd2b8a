"""Indexes of an expression: made here, or by Spark Hudi, they hold after whatever is done to the table."""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, SchemaError, UnsupportedTableError
from hoodoo.model.column_range import ColumnRange
from hoodoo.timeline import properties
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges
from hoodoo_metadata.partitions.expression.definition import Expression
from hoodoo_metadata.table.combine import with_ranges_merged
from hoodoo_metadata.table.keys import column_key, expression_key
from hoodoo_metadata.table.layout import group_of
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema

SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("day", pa.date32()), ("name", pa.string()), ("p", pa.string())]
)  # fmt: skip
UTC = dt.timezone.utc
INDEXES = {
    "day_of": ("from_unixtime(ts, 'yyyy-MM-dd')", "ts"),
    "year_of": ("year(day)", "day"),
    "later": ("date_add(day, 3)", "day"),
    "as_it_is": ("identity(name)", "name"),
    "loud": ("upper(name)", "name"),
}


def made(path: Path, kind: str) -> hoodoo.Table:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="p", table_type=kind,
        options={"hoodie.metadata.compact.max.delta.commits": 3, "hoodie.metadata.enable": True},
    )  # fmt: skip
    table.upsert(some_rows(random.Random(1), range(6)))
    for name, (expression, _column) in INDEXES.items():
        assert table.create_index(name, expression=expression).kind == "expression"
    return table


def some_rows(draw: random.Random, keys: Any) -> pa.Table:
    found = [
        {
            "id": f"k{key}", "p": "xy"[key % 2],
            "ts": draw.choice([None, draw.randrange(1_600_000_000, 1_800_000_000)]),
            "day": draw.choice([None, dt.date(1990, 1, 1) + dt.timedelta(draw.randrange(9999))]),
            "name": draw.choice([None, "oslo", "Rome", "ß"]),
        }
        for key in keys
    ]  # fmt: skip
    return pa.Table.from_pylist(found, SCHEMA)


def entries(table: hoodoo.Table, name: str) -> dict[str, ColumnRange]:
    """Key -> range; each lies in its group."""
    opened = MetadataTable.open(table.handle.storage, table.timeline())
    groups = opened.slices(f"expr_index_{name}")
    assert len(groups) == 2
    found: dict[str, ColumnRange] = {}
    for number, group in enumerate(groups):
        for batch in with_ranges_merged(opened.storage, group, record_schema(9)):
            keys = batch.column("key").cast(pa.string())
            assert {*group_of(keys, 2).tolist()} <= {number}
            found |= dict(zip(keys.to_pylist(), decode_ranges(batch.column("value")), strict=True))
    return found


def values(name: str, found: list[Any]) -> list[Any]:
    """Of the expression, in the zone that is furthest from UTC on either side."""
    found = [value for value in found if value is not None]
    if name == "day_of":
        moments = [dt.datetime.fromtimestamp(value, UTC) for value in found]
        return [
            (moment + dt.timedelta(hours=hours)).strftime("%Y-%m-%d")
            for moment in moments
            for hours in (-12, 14)
        ]
    if name == "year_of":
        return [value.year for value in found]
    if name == "later":
        return [value + dt.timedelta(3) for value in found]
    return [value.upper() for value in found] if name == "loud" else found


def check(table: hoodoo.Table) -> None:
    """No file, and no partition, holds a value that an entry rules out."""
    seen = 0
    for slice_ in table.file_slices():
        merged_rows = [
            row for row in table.read(meta=True).to_arrow().to_pylist()
            if slice_.base_file and row["_hoodie_file_name"] == slice_.base_file.name
        ]  # fmt: skip
        for name, (_expression, column) in INDEXES.items():
            there = entries(table, name)
            inside = values(name, [row[column] for row in merged_rows])
            path = slice_.partition_path
            whole = there[expression_key(column, path)]
            assert whole.of_partition and whole.name == path
            found = [whole]
            if slice_.base_file is not None and not slice_.log_files:
                of_file = there.get(column_key(column, path, slice_.base_file.name))
                assert (of_file is None) == (name == "loud") or not inside
                found += [of_file] if of_file else []
            for one in found:
                seen += 1
                for value in inside:
                    assert one.minimum.as_py() <= value <= one.maximum.as_py(), (name, one)
    assert seen


def without_note(path: Path) -> None:
    """As another engine leaves the properties."""
    file = path / ".hoodie/hoodie.properties"
    lines = file.read_text().splitlines()
    file.write_text(
        "".join(
            f"{li}\n" for li in lines if "metadata.secondary" not in li and "checksum" not in li
        )
    )


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_entries_hold_after_each_action(kind: str, tmp_path: Path) -> None:
    table, draw = made(tmp_path / "t", kind), random.Random(7)
    check(table)
    for step in range(6):
        table.upsert(some_rows(draw, draw.sample(range(20), 4)))
        if step == 2:
            table.compact() if kind == "MERGE_ON_READ" else table.cluster()
        if step == 4:
            table.delete(where="id = 'k1'")
            table.clean()
        check(table)
    table.rebuild_index()
    assert table.rebuild_index("day_of") == ("expr_index_day_of",)
    check(table)
    assert not table.verify().findings
    assert {index.name for index in table.indexes()} >= set(INDEXES)
    assert table.drop_index("loud") == ("expr_index_loud",)
    table.upsert(some_rows(draw, [3]))
    assert "expr_index_loud" not in table.config.metadata_partitions


def test_one_that_another_engine_made_is_kept(tmp_path: Path) -> None:
    """The properties list it, and ``index.json`` says what it is; nothing of Hoodoo's own does."""
    made(tmp_path / "t", "COPY_ON_WRITE")
    without_note(tmp_path / "t")
    again = hoodoo.open(str(tmp_path / "t"))
    again.upsert(some_rows(random.Random(3), range(3, 9)))
    check(again)
    assert {f"expr_index_{name}" for name in INDEXES} <= set(again.config.metadata_partitions)


def test_one_of_another_engine_outlasts_a_conflict(tmp_path: Path, monkeypatch: Any) -> None:
    """Another writer changes the properties just when the index is to be noted."""
    made(tmp_path / "t", "COPY_ON_WRITE")
    without_note(tmp_path / "t")
    update, conflicts = properties.update, [CommitConflictError("t", "changed", "again")] * 2

    def beside_another(*how: Any) -> Any:
        if conflicts:
            raise conflicts.pop()
        return update(*how)

    monkeypatch.setattr(properties, "update", beside_another)
    again = hoodoo.open(str(tmp_path / "t"))
    again.upsert(some_rows(random.Random(3), range(3, 9)))
    check(again)
    assert not conflicts
    assert {f"expr_index_{name}" for name in INDEXES} <= set(again.config.metadata_partitions)


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("act", ["restore", "rollback", "drop"])
def test_one_of_another_engine_outlasts_what_undoes_writes(act: str, tmp_path: Path) -> None:
    """Undoing is the first that Hoodoo does to it: it goes not, and is made again where it must be."""
    table = made(tmp_path / "t", "COPY_ON_WRITE")
    first = table.upsert(some_rows(random.Random(3), range(3, 9)))
    second = table.upsert(some_rows(random.Random(4), range(3, 9)))
    without_note(tmp_path / "t")
    again = hoodoo.open(str(tmp_path / "t"))
    if act == "restore":
        again.restore(first.instant)
    elif act == "rollback":
        again.rollback(second.instant)
    else:
        again.drop_index("loud")
        again.create_index("loud", expression="upper(name)")
    again.upsert(some_rows(random.Random(5), range(2, 5)))
    check(again)
    assert {f"expr_index_{name}" for name in INDEXES} <= set(again.config.metadata_partitions)


def test_what_cannot_be_kept_goes_with_its_definition(tmp_path: Path) -> None:
    made(tmp_path / "t", "COPY_ON_WRITE")
    file = tmp_path / "t/.hoodie/.index_defs/index.json"
    defined = json.loads(file.read_text())
    defined["indexDefinitions"]["expr_index_later"]["indexOptions"]["expr"] = "split"
    file.write_text(json.dumps(defined))
    without_note(tmp_path / "t")
    with pytest.warns(UserWarning, match="expr_index_later"):
        hoodoo.open(str(tmp_path / "t")).upsert(some_rows(random.Random(3), [1]))
    left = json.loads(file.read_text())["indexDefinitions"]
    assert "expr_index_later" not in left and "expr_index_year_of" in left


@pytest.mark.parametrize(
    "expression", ["", "ts", "year(day, 3)", "year(nothing)", "split(name, 'a')", "year(day) = 1", "identity(ts) + 1"]
)  # fmt: skip
def test_no_expression(expression: str, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    with pytest.raises(ConfigError, match="from_unixtime"):
        table.create_index("e", expression=expression)
    table.create_index("e", expression="date_format(day, 'yyyy-MM')")
    with pytest.raises(ConfigError, match="drop_index"):
        table.create_index("e", expression="date_format(day, 'yyyy-MM')")


def test_version_6_has_none(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", table_version=6)
    with pytest.raises(UnsupportedTableError, match="version 6"):
        table.create_index("e", expression="year(day)")


@pytest.mark.parametrize(
    ("function", "options", "kind", "ends", "wanted"),
    [
        ("from_unixtime", {}, pa.int64(), (0, 86400 * 365), ("1969-12-31 10:00:00", "1971-01-01 14:00:00")),
        ("from_unixtime", {"format": "MM-dd"}, pa.int64(), (0, 9), None),
        ("from_unixtime", {"format": "yyyy 'year'"}, pa.int64(), (0, 9), None),
        ("from_unixtime", {"format": "dd.MM.yyyy"}, pa.int64(), (0, 9), None),
        ("from_unixtime", {"format": "yyyy/MM"}, pa.int64(), (0, 10**15), None),
        ("date_format", {"format": "yyyy-MM"}, pa.date32(), (0, 31), ("1970-01", "1970-02")),
        ("date_format", {"format": "yyyy"}, pa.timestamp("us", "UTC"), (0, 1), ("1969", "1970")),
        ("year", {}, pa.timestamp("ms", "UTC"), (0, 86_400_000), (1969, 1970)),
        ("year", {}, pa.string(), ("1999-01-01", "2000-01-01"), None),
        ("month", {}, pa.date32(), (0, 1), None),
        ("date_sub", {"days": "2"}, pa.date32(), (10, 20), (8, 18)),
    ],
)  # fmt: skip
def test_bounds(
    function: str, options: dict[str, str], kind: pa.DataType, ends: Any, wanted: Any
) -> None:
    expression = Expression("c", kind, function, options, "column_stats")
    found = expression.of_file(ColumnRange("c", "f", *ends, kind, 5, 1))
    assert (found and (found.least, found.greatest)) == wanted
    whole = expression.of_any(ColumnRange("c", "f", *ends, kind, 5, 1))
    assert whole.least is not None and whole.kind == expression.answer


def test_sql_creates_it(tmp_path: Path) -> None:
    made(tmp_path / "t", "COPY_ON_WRITE").drop_index("day_of")
    session = hoodoo.session(tables={"t": str(tmp_path / "t")})
    session.sql(
        "CREATE INDEX days ON t USING column_stats(ts) OPTIONS(expr='from_unixtime', format='yyyy-MM-dd')"
    )
    session.sql(
        "CREATE INDEX first ON t USING column_stats(name) OPTIONS(len='1', pos='1', expr='substring')"
    )
    defined = json.loads((tmp_path / "t/.hoodie/.index_defs/index.json").read_text())
    found = {name: one["indexOptions"] for name, one in defined["indexDefinitions"].items()}
    assert found["expr_index_days"] == {"expr": "from_unixtime", "format": "yyyy-MM-dd"}
    assert found["expr_index_first"] == {"expr": "substring", "pos": "1", "len": "1"}


@pytest.mark.parametrize(
    "options",
    [
        r"expr='regexp_extract', pattern='\\\\d+', idx='0'", "expr='substring', len='1'", "expr='trim', trimString='x'",
        "expr='substring', pattern='1'", "expr='upper', format=3",
    ],
)  # fmt: skip
def test_no_option_is_lost(options: str, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    session = hoodoo.session(tables={"t": str(tmp_path / "t")})
    with pytest.raises(ConfigError, match="from_unixtime"):
        session.sql(f"CREATE INDEX e ON t USING column_stats(name) OPTIONS({options})")
    assert not [index for index in table.indexes() if index.kind == "expression"]


@pytest.mark.parametrize(
    ("kind", "nulls"), [(pa.string(), 2), (pa.date32(), 1)], ids=["of text", "of days"]
)
def test_texts_that_are_no_days_may_be_null(kind: pa.DataType, nulls: int) -> None:
    """Spark looks for ``year(name) IS NULL`` where an entry counts nulls."""
    expression = Expression("c", kind, "year", {}, "column_stats")
    ends = ("a", "b") if kind == pa.string() else (0, 1)
    assert expression.of_any(ColumnRange("c", "f", *ends, kind, 5, 1)).nulls == nulls


def test_its_column_stays(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.create_index("e", expression="identity(ts)")
    for how in ({"rename": {"ts": "x"}}, {"drop": "ts"}, {"widen": {"ts": "double"}}):
        with pytest.raises(SchemaError, match=r'index e is of it.*drop_index\("e"\)'):
            table.alter(**how)
    table.alter(widen={"ts": "bigint"}, add={"more": "int"})  # it is so already
    table.drop_index("e")
    table.alter(widen={"ts": "double"})


def test_indexes_have_names_of_their_own(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.create_index("one", "name")
    table.create_index("two", expression="year(day)")
    for name in ("one", "record_index"):
        with pytest.raises(ConfigError, match=f"drop_index.'{name}'"):
            table.create_index(name, expression="year(day)")
    with pytest.raises(ConfigError, match="drop_index.'two'"):
        table.create_index("two", "name")


@pytest.mark.parametrize("how", [{"columns": "name"}, {"expression": "upper(name)"}])
def test_what_is_left_of_one_is_dropped(how: dict[str, str], tmp_path: Path) -> None:
    """A definition without a partition, as the death of a maker leaves it, or a write without metadata."""
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.create_index("e", **how)
    defined = tmp_path / "t/.hoodie/.index_defs/index.json"
    text = defined.read_text()
    with pytest.warns(UserWarning, match="not wanted"):
        hoodoo.open(table.path, {"hoodie.metadata.enable": "false"}).upsert(
            some_rows(random.Random(1), [1])
        )
    defined.write_text(text)
    table = hoodoo.open(table.path)
    with pytest.raises(SchemaError, match=r'drop_index\("e"\)'):
        table.alter(drop="name")
    table.drop_index("e")
    table.alter(drop="name")
    assert "name" not in table.schema.names
    with pytest.raises(ConfigError, match="index e of table"):
        table.drop_index("e")

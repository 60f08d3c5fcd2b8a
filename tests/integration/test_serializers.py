"""How rows are packed between tasks changes no row; and what is not exchanged is not packed at all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, PluginError
from hoodoo.testing.distributions import made
from hoodoo.testing.samples import nested
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_rows.testing.tables import whole
from hoodoo_standard.engine.local import LocalEngine

pytestmark = pytest.mark.sampled(4)

NAMES = ("arrow", "avro", "pickle")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
NAIVE = {"hoodoo.naive.timestamps": "UTC"}
# The type null is no type of a table.
ROWS = nested(40).drop_columns(["nothing"])


def create(path: Path, kind: str, index: str = "simple", **more: Any) -> hoodoo.Table:
    options = {**NAIVE, **more.pop("options", {})}
    if index == "bucket":
        options["hoodie.bucket.index.num.buckets"] = "3"
    return hoodoo.create(
        str(path), ROWS.schema, record_key="key", table_type=kind, index=index, options=options,
        **more,
    )  # fmt: skip


def changed(count: int) -> pa.Table:
    """Every other row, with the values of the row after it."""
    at = list(range(0, count, 2))
    later = ROWS.take([(n + 1) % count for n in at])
    return later.set_column(0, "key", ROWS.column("key").take(at))


rows = partial(whole, columns=ROWS.schema.names, by="key")


def life(path: Path, kind: str, index: str, name: str, engine: str | None = None) -> pa.Table:
    """What a table holds after writes of each kind that meet in an exchange."""
    table = create(path, kind, index, engine=engine, options={"hoodoo.serializer": name})
    assert table.upsert(ROWS).inserted == 40
    table.upsert(changed(40))
    table.insert(ROWS.slice(0, 2).set_column(0, "key", pa.array([100, 101], pa.int64())))
    table.delete([3, 5])
    return rows(table)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", ["simple", "global_simple", "bucket"])
def test_tables_are_equal(tmp_path: Path, kind: str, index: str) -> None:
    found = {name: life(tmp_path / name, kind, index, name) for name in NAMES}
    assert found["arrow"].num_rows == 40
    assert found["avro"].equals(found["arrow"]) and found["pickle"].equals(found["arrow"])


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "name"), [("MERGE_ON_READ", n) for n in NAMES] + [(TYPES[0], "avro")]
)
def test_tables_are_equal_on_spark(spark: Any, tmp_path: Path, kind: str, name: str) -> None:
    ours = life(tmp_path / "local", kind, "bucket", "arrow")
    assert life(tmp_path / name, kind, "bucket", name, "spark").equals(ours)


def test_a_serializer_that_nobody_offers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="kryo"):
        create(tmp_path, TYPES[0], options={"hoodoo.serializer": "kryo"})
    assert not (tmp_path / ".hoodie").exists()


# --- what crosses ---------------------------------------------------------------------------------
def metered(table: hoodoo.Table, write: str, data: pa.Table, name: str = "arrow") -> MeteredEngine:
    engine = MeteredEngine(LocalEngine(2), made("serializer", name))
    getattr(table, write)(data, engine=engine)
    return engine


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("write", ["bulk_insert", "append"])
@pytest.mark.parametrize("index", ["simple", "global_simple"])
def test_rows_that_are_only_added_are_not_serialized(
    tmp_path: Path, kind: str, write: str, index: str
) -> None:
    table = create(tmp_path, kind, index)
    for _ in range(2):  # into an empty table, and beside rows that are there
        engine = metered(table, write, ROWS)
        assert engine.exchanges == [] and engine.total().messages == 0
    assert rows(table).num_rows == 80


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("write", ["upsert", "insert", "delete"])
def test_rows_that_meet_others_are(tmp_path: Path, kind: str, write: str) -> None:
    table = create(tmp_path, kind)
    table.bulk_insert(ROWS.slice(0, 30))
    data = changed(20) if write != "insert" else ROWS.slice(30)
    engine = metered(table, write, data)
    (exchange,) = engine.exchanges
    counted = exchange.read()
    assert counted == engine.total() and counted.rows == data.num_rows
    assert counted.messages > 0 and counted.bytes > 0
    assert "row_data" in exchange.schema.names and "record_key" in exchange.schema.names


def test_rows_with_a_bucket_go_there(tmp_path: Path) -> None:
    """The index says where a row has to be, so that adding is not free of charge."""
    table = create(tmp_path, "MERGE_ON_READ", "bucket")
    assert metered(table, "bulk_insert", ROWS).total().rows == 40


@pytest.mark.parametrize("name", NAMES)
def test_each_serializer_is_the_one_that_packs(tmp_path: Path, name: str) -> None:
    table = create(tmp_path, "MERGE_ON_READ", options={"hoodoo.serializer": name})
    table.upsert(ROWS)
    asked: list[str] = []

    class Watched(MeteredEngine):
        def exchange(self, stream: Any, parts: int, serializer: Any = None) -> Any:
            asked.append(serializer.name)
            return super().exchange(stream, parts, serializer)

    engine = Watched(LocalEngine(2))
    table.upsert(changed(40), engine=engine)
    assert asked == [name]
    total = engine.total()
    assert total.rows == 20 and total.serialize_seconds > 0 and total.deserialize_seconds > 0


@pytest.mark.parametrize("kind", TYPES)
def test_by_default_no_generic_record_is_made(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: Any, **_more: Any) -> Any:
        raise AssertionError("a record is made of each row")

    monkeypatch.setattr("hoodoo_standard.serialize.avro.to_python", refuse)
    table = create(tmp_path / "new", kind, "global_simple")
    for write, data in (("upsert", ROWS), ("upsert", changed(40)), ("delete", [3, 5])):
        getattr(table, write)(data, engine=MeteredEngine(LocalEngine(2)))
    assert rows(table).num_rows == 38
    before = create(tmp_path / "before", kind, options={"hoodoo.serializer": "avro"})
    with pytest.raises(PluginError, match="of each row"):
        before.upsert(ROWS, engine=MeteredEngine(LocalEngine(2)))


def test_a_partial_update_sends_the_changed_columns_alone(tmp_path: Path) -> None:
    table = create(tmp_path, "MERGE_ON_READ", merger="partial")
    table.upsert(ROWS)
    whole = metered(table, "upsert", changed(40)).total()
    few = metered(table, "upsert", changed(40).select(["key", "small"]))
    assert few.total().rows == whole.rows == 20 and few.total().bytes < whole.bytes / 2
    names = {field.name for field in few.exchanges[0].schema.field("row_data").type}
    assert "small" in names and "large" not in names


@pytest.mark.parametrize("kind", TYPES)
def test_a_read_exchanges_nothing(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path, kind)
    table.upsert(ROWS)
    table.upsert(changed(40))

    def refuse(*_given: Any) -> Any:
        raise AssertionError("rows are exchanged")

    monkeypatch.setattr(LocalEngine, "exchange", refuse)
    assert rows(table).num_rows == 40
    since = table.timeline().writes()[0].requested
    assert table.incremental(since).to_arrow().num_rows == 20
    assert table.read(where=pa.compute.field("key") == 3).to_arrow().num_rows == 1
    with pytest.raises(PluginError, match="exchanged"):  # as a write would
        table.upsert(changed(40))


def test_a_compaction_exchanges_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, "MERGE_ON_READ")
    table.upsert(ROWS)
    table.upsert(changed(40))
    before = rows(table)
    engine = MeteredEngine(LocalEngine(2))
    assert table.compact(engine=engine).files and engine.exchanges == []
    assert rows(table).equals(before)

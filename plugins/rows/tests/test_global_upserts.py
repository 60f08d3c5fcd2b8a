"""With a global index rows cross once; only those whose key came more than once meet by key before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.hookspecs import engine as engine_family
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_rows.write import repeated
from hoodoo_standard.engine.local import LocalEngine

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64()), ("v", pa.int64())]
)
MARKED = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
STAYS = {
    "hoodie.simple.index.update.partition.path": "false",
    "hoodie.bloom.index.update.partition.path": "false",
    "hoodie.record.index.update.partition.path": "false",
}
MOVES = {key: "true" for key in STAYS}
CITIES = ("a", "b", "c")


def made(path: Path, kind: str, index: str = "global_simple", **more: Any) -> hoodoo.Table:
    return hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        partition_by="city",
        index=index,
        table_type=kind,
        **more,
    )


def whole(count: int, add: int = 0) -> pa.Table:
    ids = list(range(count))
    cities = [CITIES[i % 3] for i in ids]
    return pa.table([ids, cities, [add] * count, [i + add for i in ids]], schema=SCHEMA)


def crossed(table: hoodoo.Table, data: Any) -> list[tuple[int, int]]:
    """Rows and bytes of each exchange of an upsert."""
    engine = MeteredEngine(LocalEngine(2))
    table.upsert(data, engine=engine)
    return [(c.rows, c.bytes) for c in (exchange.read() for exchange in engine.exchanges)]


@pytest.fixture(params=["few keys", "many keys"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the keys of a write are more than the driver takes."""
    found: bool = request.param == "many keys"
    if found:
        monkeypatch.setattr(engine_family, "RESULT_BYTES", 0)
    return found


@pytest.mark.parametrize(
    "index", ["global_simple", "global_bloom", "record_index", "growing_record_index"]
)
def test_rows_cross_once_and_hashes_of_their_keys_before(
    tmp_path: Path, index: str, many: bool
) -> None:
    table = made(tmp_path, TYPES[0], index)
    for add in (0, 1):  # into an empty table, and over its rows
        found = crossed(table, whole(3000, add))
        if many:
            hashes, size = found.pop(0)
            assert hashes == 3000 and size < 3000 * 9
            # What lies in the table: its places and the rows meet by key, once the index has found them.
            lying = [rows for rows, _size in found if rows == 6000]
            assert len(lying) == add * (2 if "record_index" in index else 1)
            found = [one for one in found if one[0] != 6000]
            if add and "record_index" in index:  # which is asked where its entries lie
                asked, size = found.pop(0)
                assert asked == 3000 and size < 3000 * 9
        (rows, more), *entries = found
        assert rows == 3000 and more > 3000 * 24
        assert not entries or "record_index" in index  # which learns by an exchange of its own
    assert table.read().to_arrow().num_rows == 3000


def test_only_repeated_keys_meet_before(tmp_path: Path, many: bool) -> None:
    table = made(tmp_path, TYPES[0])
    table.upsert(whole(3000))
    again = whole(10, 2).set_column(1, "city", pa.array(["c"] * 10))
    found = crossed(table, pa.concat_tables([whole(3000, 1), again]))
    # Seven move: a delete each, where they lay. Many rows meet with their places before.
    rows_crossed = [3010, 20, 3000 + 3000, 3007] if many else [20, 3007]
    assert [rows for rows, _ in found] == rows_crossed
    rows = table.read().to_arrow().sort_by("id")
    assert rows.column("v").to_pylist() == [i + (2 if i < 10 else 1) for i in range(3000)]
    assert set(rows.slice(0, 10).column("city").to_pylist()) == {"c"}


def batches(seed: int) -> Iterator[pa.Table]:
    """Upserts in which keys come again, with other paths, other times, and marked as deleted."""
    draw = random.Random(seed)
    for number in range(3):
        rows = [
            (draw.randrange(30), draw.choice(CITIES), draw.randrange(5), number * 100 + i,
             draw.random() < 0.2)
            for i in range(40)
        ]  # fmt: skip
        yield pa.table(list(zip(*rows, strict=True)), schema=MARKED)


def constant(keys: pa.Array) -> Any:
    return np.zeros(len(keys), np.uint64)


WAYS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "those that come again": lambda patch: None,
    "all": lambda patch: patch.setattr(repeated, "_MOST", 0),
    "all hashes are equal": lambda patch: patch.setattr(repeated, "key_hash", constant),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("more", [{}, {"ordering": "ts"}, {"merger": "partial"}], ids=str)
def test_the_same_rows_whoever_meets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, moves: bool, more: Any, many: bool
) -> None:
    found = []
    for name, patched in WAYS.items():
        with monkeypatch.context() as patch:
            patched(patch)
            table = made(tmp_path / name, kind, options=MOVES if moves else STAYS, **more)
            for batch in batches(7):
                table.upsert(batch)
            table.delete(pa.table({"id": [1, 1, 2], "city": ["a", "b", "c"]}))
        found.append(table.read(columns=SCHEMA.names).to_arrow().sort_by("id"))
    assert found[0].num_rows > 10
    assert len(set(found[0].column("id").to_pylist())) == found[0].num_rows
    assert found[0].equals(found[1]) and found[0].equals(found[2])


def test_rows_are_made_once(tmp_path: Path) -> None:
    """A source that would not give the same rows again is evaluated before anything is decided by them."""
    begun = []

    def rows() -> Iterator[pa.RecordBatch]:
        begun.append(1)
        yield from pa.concat_tables([whole(50), whole(50, 1)]).to_batches()

    table = made(tmp_path, TYPES[0])
    table.upsert(pa.RecordBatchReader.from_batches(SCHEMA, rows()))
    assert begun == [1] and table.read().to_arrow().num_rows == 50


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_on_spark(spark: Any, tmp_path: Path, many: bool) -> None:
    """The same rows as on the local engine, of a DataFrame that has other values each time it is evaluated."""
    from hoodoo_spark.engine import SparkEngine
    from pyspark.sql import functions as F

    ours = made(tmp_path / "local", TYPES[1])
    theirs = made(tmp_path / "spark", TYPES[1])
    batch = next(batches(3))
    ours.upsert(batch, engine="local")
    theirs.upsert(batch, engine="spark")
    names = SCHEMA.names
    wanted = ours.read(columns=names).to_arrow().sort_by("id")
    assert theirs.read(columns=names).to_arrow().sort_by("id").equals(wanted)
    drawn = spark.range(0, 400, 1, 4).select(
        (F.col("id") % 200).alias("id"),
        F.element_at(F.array(*map(F.lit, CITIES)), F.floor(F.rand() * 3 + 1).cast("int")).alias("city"),
        F.lit(9).cast("long").alias("ts"),
        F.floor(F.rand() * 1e9).cast("long").alias("v"),
    )  # fmt: skip
    engine = MeteredEngine(SparkEngine(spark))
    theirs.upsert(drawn, engine=engine)
    rows = theirs.read().to_arrow()
    assert sorted(rows.column("id").to_pylist()) == list(range(200))
    found = [exchange.read().rows for exchange in engine.exchanges]
    hashes, apart, meeting, sent = found if many else [400, found[0], 400, found[1]]
    assert hashes == 400 == apart and 200 <= sent <= 400 and 200 <= meeting <= 400

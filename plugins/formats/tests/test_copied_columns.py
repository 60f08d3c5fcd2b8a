"""Tables whose rewrites copy what does not change, beside the same tables without: rows, readers, indexes, crashes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import hoodoo
import hudi
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.model.meta import FILE_NAME, META_COLUMNS
from hoodoo.testing.contracts import file_format_rows as contract
from hoodoo.testing.contracts.crash import CrashTrials
from hoodoo_formats.parquet import in_place
from hoodoo_formats.parquet.in_place import InPlaceWriter
from hypothesis import given, settings

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64()), ("word", pa.string()),
     ("ratio", pa.float64()), ("tags", pa.list_(pa.string())), ("n", pa.int32())]
)  # fmt: skip
# Several row groups in each file.
BLOCKS = {"hoodie.parquet.block.size": "8000"}
ROWS = 1200


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of any size are copied; the columns that were encoded all the same."""
    found: list[str] = []
    encode = InPlaceWriter._encoded

    def encoding(self: InPlaceWriter, table: pa.Table) -> Any:
        found.extend(table.schema.names)
        return encode(self, table)

    monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    monkeypatch.setattr(InPlaceWriter, "_encoded", encoding)
    return found


def _data(ids: Any, word: str, ts: int) -> pa.Table:
    numbers = np.asarray(ids, np.int64)
    columns = [
        pa.array(numbers),
        pa.array([f"c{i % 2}" for i in numbers]),
        pa.array(np.full(len(numbers), ts)),
        pa.array([None if i % 7 == 0 else f"{word}{i % 11}" for i in numbers], pa.string()),
        pa.array(numbers / 3),
        pa.array([None if i % 5 == 0 else ["a"] * (i % 3) for i in numbers], pa.list_(pa.string())),
        pa.array(numbers * 2, pa.int32()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _rows(table: hoodoo.Table) -> list[dict[str, Any]]:
    names = [*META_COLUMNS, *table.schema.names]
    found = table.read(columns=names).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def _values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not k.startswith("_hoodie")} for row in rows]


def _check(table: hoodoo.Table, path: Path, wanted: list[dict[str, Any]]) -> None:
    rows = _rows(table)
    assert _values(rows) == _values(wanted)
    # What Hudi keeps of each row: who wrote it is known by the order of the commits.
    order = {c: n for n, c in enumerate(sorted({r["_hoodie_commit_time"] for r in rows}))}
    theirs = {c: n for n, c in enumerate(sorted({r["_hoodie_commit_time"] for r in wanted}))}
    for one, other in zip(rows, wanted, strict=True):
        assert order[one["_hoodie_commit_time"]] == theirs[other["_hoodie_commit_time"]]
        for name in ("_hoodie_record_key", "_hoodie_partition_path"):
            assert one[name] == other[name]
        assert one["_hoodie_commit_seqno"].startswith(one["_hoodie_commit_time"])
    assert len({row["_hoodie_commit_seqno"] for row in rows}) == len(rows)
    found = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    own = [n for n in rows[0] if not n.startswith("_hoodie")]
    read = pa.Table.from_batches(found).select(own).to_pylist()
    assert sorted(read, key=lambda row: row["id"]) == _values(rows)
    newest = {row[FILE_NAME] for row in rows}
    for file in (p for p in path.rglob("*.parquet") if p.name in newest):
        sql = f"select count(*), count(distinct {FILE_NAME}), min({FILE_NAME}) from '{file}'"
        count, names, name = duckdb.sql(sql).fetchall()[0]
        assert (names, name, count) == (1, file.name, pq.read_metadata(file).num_rows)
    assert table.verify().ok


@pytest.mark.parametrize("index", ["bucket", "simple", "bloom"])
@pytest.mark.parametrize("by", [None, "city"])
def test_the_same_rows(tmp_path: Path, index: str, by: str | None, copied: list[str]) -> None:
    """Updates of few and of all columns, new keys, deletes, rows of less order, partial rows, a column that comes and one
    that grows."""
    options = {**BLOCKS, "hoodie.metadata.enable": "true"}
    if index == "bucket":
        options["hoodie.bucket.index.num.buckets"] = "2"
    tables = {
        way: hoodoo.create(
            str(tmp_path / way), SCHEMA, record_key="id", ordering="ts", index=index,
            partition_by=by, merger="partial",
            options={**options, "hoodoo.parquet.copy.unchanged": str(way == "copied").lower()},
        )
        for way in ("copied", "written")
    }  # fmt: skip
    rng = np.random.default_rng(1)

    def both(verb: str, *given: Any, **named: Any) -> None:
        for table in tables.values():
            getattr(table, verb)(*given, **named)
        _check(tables["copied"], tmp_path / "copied", _rows(tables["written"]))

    def some(count: int) -> Any:
        return rng.choice(ROWS, count, replace=False)

    both("bulk_insert", _data(range(ROWS), "w", 1))
    both("upsert", _data(some(30), "x", 2))
    # A small row group at the end of a file is written anew.
    assert copied.count("word") > copied.count("ratio")
    both("upsert", _data([*some(20), 5000, 5001], "y", 3))
    both("upsert", _data([*some(10), 5001, 5002], "late", 0))
    key = ["id", *([by] if by else [])]
    both("delete", _data(some(15), "", 0).select(key))
    both("upsert", _data(some(300), "z", 4).select([*key, "ts", "ratio"]))
    both("insert", _data(range(6000, 6010), "new", 5))
    for table in tables.values():
        table.alter(add={"more": "string"}, widen={"n": "bigint"})
    more = _data(some(25), "m", 6)
    more = more.set_column(6, "n", pa.array([1 << 40] * 25))
    both("upsert", more.append_column("more", pa.array(["here"] * 25)))


def test_a_partial_update_reads_what_it_needs(tmp_path: Path, copied: list[str]) -> None:
    """Of many columns those are decoded and encoded that come."""
    names = [f"c{n}" for n in range(40)]
    schema = pa.schema([("id", pa.int64()), ("ts", pa.int64()), *((n, pa.int64()) for n in names)])
    numbers = np.arange(ROWS)
    whole = pa.table([pa.array(numbers + n) for n in range(len(schema))], schema=schema)
    table = hoodoo.create(
        str(tmp_path), schema, record_key="id", ordering="ts", index="simple", merger="partial", options=BLOCKS
    )  # fmt: skip
    table.bulk_insert(whole)
    change = whole.slice(5, 9).select(["id", "ts", "c7"])
    table.upsert(change.set_column(2, "c7", pa.array([-1] * 9)))
    assert set(copied) == {"_hoodie_commit_time", "_hoodie_commit_seqno", FILE_NAME, "c7"}
    found = table.read().to_arrow().sort_by("id")
    assert found["c8"].to_pylist() == whole["c8"].to_pylist()
    assert found["c7"].to_pylist()[5:14] == [-1] * 9 and found["c7"][14].as_py() == 23


def test_rows_that_lose_change_nothing(tmp_path: Path, copied: list[str]) -> None:
    """Where all rows of a row group are older than the stored ones, it is copied."""
    table = hoodoo.create(
        str(tmp_path), SCHEMA, record_key="id", ordering="ts", index="simple", options=BLOCKS
    )
    table.bulk_insert(_data(range(ROWS), "w", 5))
    table.upsert(pa.concat_tables([_data([3], "new", 6), _data(range(600, ROWS, 9), "late", 1)]))
    # One row group has the new row. Of the others the file's name alone is encoded.
    assert copied.count("word") == 1 and copied.count("ratio") == 0
    assert copied.count(FILE_NAME) > 2
    found = table.read().to_arrow().sort_by("id")["word"].to_pylist()
    assert found[3] == "new3" and not [w for w in found if w and w.startswith("late")]


def test_a_change_data_log_has_rows_before_and_after(tmp_path: Path, copied: list[str]) -> None:
    """It needs whole stored rows: such tables are written as ever."""
    table = hoodoo.create(
        str(tmp_path), SCHEMA, record_key="id", ordering="ts", index="simple",
        options={**BLOCKS, "hoodie.table.cdc.enabled": "true"},
    )  # fmt: skip
    table.bulk_insert(_data(range(ROWS), "w", 1))
    table.upsert(_data([3, 4], "x", 2))
    assert not copied


COPY = "hoodoo.parquet.copy.unchanged"


def _newest(table: hoodoo.Table, path: Path) -> list[str]:
    names = set(table.read(columns=[FILE_NAME]).to_arrow()[FILE_NAME].to_pylist())
    return [str(file) for file in sorted(path.rglob("*.parquet")) if file.name in names]


def _read_by(reader: str, table: hoodoo.Table, path: Path) -> pa.Table:
    if reader == "hudi":
        found = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
        return pa.Table.from_batches(found)
    files = _newest(table, path)
    if reader == "duckdb":
        return duckdb.connect().sql(f"from read_parquet({files})").to_arrow_table()
    read = [pq.read_table(file, partitioning=None) for file in files]
    flat = [f.name for f in read[0].schema if not pa.types.is_nested(f.type)]
    # Lists have other names inside where they are of another writer.
    same = len({str(one.schema) for one in read}) == 1
    return pa.concat_tables(read if same else [one.select(flat) for one in read])


def _sorted(table: pa.Table, names: list[str]) -> list[str]:
    return sorted(repr(row) for row in table.select(names).to_pylist())


RANDOM = pa.schema([("id", pa.int64()), *contract.FLAT, *contract.NESTED])


def _random(ids: list[int], start: int) -> pa.Table:
    """Rows of these keys; all other columns count on from ``start``, some values are null."""
    made = contract.rows(RANDOM, len(ids), start)
    return made.set_column(0, RANDOM.field("id"), pa.array(ids, pa.int64()))


writes = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "upsert", "delete", "partial"]),
        st.sets(st.integers(0, 320), min_size=1, max_size=60),
        st.integers(0, 1000),
        st.sets(st.sampled_from(RANDOM.names[1:]), max_size=6),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=6, deadline=None)
@given(history=writes, block=st.sampled_from([4000, 20_000, 1 << 20]))
def test_random_writes(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], block: int
) -> None:
    """The same rows as without, by three readers."""
    path = tmp_path_factory.mktemp("random")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "COPIED_FROM", 0)
        tables = {}
        for way in ("true", "false"):
            tables[way] = hoodoo.create(
                str(path / way), RANDOM, record_key="id", index="simple", merger="partial",
                options={"hoodie.parquet.block.size": str(block), COPY: way},
            )  # fmt: skip
            tables[way].bulk_insert(_random(list(range(300)), 0))
        for verb, keys, start, differ in history:
            now = tables["false"].read().to_arrow()
            here = now.filter(pc.is_in(now["id"], pa.array(keys, pa.int64())))
            # Those that are there differ in some columns; the others are new.
            fresh = _random(here["id"].to_pylist(), start)
            for name in differ:
                at = RANDOM.get_field_index(name)
                here = here.set_column(at, RANDOM.field(name), fresh[name])
            new = _random(sorted(keys - {*here["id"].to_pylist()}), start)
            rows = pa.concat_tables([here.select(RANDOM.names).cast(RANDOM), new])
            for table in tables.values():
                if verb == "delete":
                    table.delete(rows.select(["id"]))
                elif verb == "partial":
                    table.upsert(here.select(["id", *sorted(differ)]))
                else:
                    table.upsert(rows)
        wanted = _sorted(tables["false"].read().to_arrow(), RANDOM.names)
        assert _sorted(tables["true"].read().to_arrow(), RANDOM.names) == wanted
        assert tables["true"].verify().ok
        if wanted:
            for reader in ("pyarrow", "hudi"):
                found = _read_by(reader, tables["true"], path / "true")
                assert _sorted(found.select(RANDOM.names).cast(RANDOM), RANDOM.names) == wanted
            # Its times and nested names are of other types than Arrow's.
            flat = [n for n in RANDOM.names if n not in ("clock", *contract.NESTED.names)]
            found = _read_by("duckdb", tables["true"], path / "true")
            kinds = pa.schema([RANDOM.field(n) for n in flat])
            theirs = tables["false"].read(columns=flat).to_arrow()
            assert _sorted(found.select(flat).cast(kinds), flat) == _sorted(theirs, flat)


GOLDEN = [
    "cow_v6_complexkeygen_hivestyle",
    "cow_v6_nonpartitioned",
    "cow_v6_simplekeygen_nonhivestyle",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_overwrite",
]


@pytest.mark.parametrize("name", GOLDEN)
def test_tables_of_spark_hudi(
    golden: Callable[[str], Path], tmp_path: Path, name: str, copied: list[str]
) -> None:
    """Their columns are copied where they have the compression that is asked for."""
    source = golden(name)
    found = {}
    for way in ("true", "false"):
        path = tmp_path / way
        shutil.copytree(source, path)
        options = {COPY: way, "hoodie.parquet.compression.codec": "gzip"}
        table = hoodoo.open(str(path), options=options)
        before = table.read().to_arrow()
        rows = before.slice(0, 1 + before.num_rows // 3)
        copied.clear()
        table.upsert(rows)  # as they are: Hudi's own columns alone change
        # Lists in files of older parquet-mr have other names inside.
        nested = {f.name for f in before.schema if pa.types.is_nested(f.type)}
        expected = {"_hoodie_commit_time", "_hoodie_commit_seqno", FILE_NAME}
        assert set(copied) - nested == (expected if way == "true" else set())
        last = next(
            f for f in before.schema if pa.types.is_string(f.type) or pa.types.is_floating(f.type)
            if f.name not in _fixed(table)
        )  # fmt: skip
        at = before.schema.get_field_index(last.name)
        rows = rows.set_column(at, last, pa.nulls(rows.num_rows, last.type))
        table.upsert(rows)
        assert way == "false" or last.name in copied
        table.delete(before.slice(before.num_rows - 1))
        names = before.schema.names
        rows = _sorted(table.read().to_arrow(), names)
        assert _sorted(_read_by("hudi", table, path), names) == rows
        for reader in ("pyarrow", "duckdb"):
            assert _read_by(reader, table, path).num_rows == len(rows)
        # One of the tables has a key twice.
        found[way] = rows, {finding.kind for finding in table.verify().findings}
    assert found["true"] == found["false"]


def _fixed(table: hoodoo.Table) -> set[str]:
    """Columns whose values may not change here: those of the key, the partition path and the order."""
    config = table.config
    return {*config.record_key_fields, *config.partition_fields, *config.ordering_fields}


class TestCrashes(CrashTrials):
    """Wherever the process ends, while what does not change is copied."""

    table: ClassVar[Any] = {"index": "simple"}
    operations: ClassVar[Any] = {"upsert": CrashTrials.operations["upsert"]}

    @pytest.fixture(autouse=True)
    def _copies(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        begun: list[InPlaceWriter] = []
        end = InPlaceWriter._end

        def ending(writer: InPlaceWriter) -> None:
            begun.append(writer)
            end(writer)

        monkeypatch.setattr(in_place, "COPIED_FROM", 0)
        monkeypatch.setattr(InPlaceWriter, "_end", ending)
        yield
        assert begun

    @pytest.fixture(params=[(9, "COPY_ON_WRITE"), (6, "COPY_ON_WRITE")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        found: tuple[int, str] = request.param
        return found


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_spark_reads_what_was_copied(tmp_path: Path, spark: Any, copied: list[str]) -> None:
    """With filters that row groups are skipped by, and without its vectorized reader."""
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id", index="simple", options=BLOCKS)
    table.bulk_insert(_data(range(ROWS), "w", 1))
    table.upsert(_data(range(0, ROWS, 100), "x", 2))
    table.upsert(_data(range(7, 20), "y", 3))
    assert copied
    wanted = table.read().to_arrow().sort_by("id").to_pylist()
    files = _newest(table, tmp_path)
    assert sum(pq.read_metadata(file).num_row_groups for file in files) > 3
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        try:
            frame = spark.read.parquet(*files).select(*SCHEMA.names)
            rows = [row.asDict() for row in frame.orderBy("id").collect()]
            assert rows == wanted
            words = {row["word"] for row in wanted} - {None}
            assert {word[0] for word in words} == {"w", "x", "y"}
            for word in words:
                some = frame.where(frame.word == word).count()
                assert some == sum(row["word"] == word for row in wanted)
        finally:
            spark.conf.unset("spark.sql.parquet.enableVectorizedReader")

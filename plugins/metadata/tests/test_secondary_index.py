"""Secondary indexes: they say of each value which record keys have it, after whatever is done to the table."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError, UnsupportedTableError
from hoodoo_metadata.partitions.secondary.rows import (
    PrefixHash,
    entry_keys,
    prefixes,
    record_keys_of,
)
from hoodoo_metadata.table.layout import group_of
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.slice import layers, merged

SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("n", pa.int32()), ("fare", pa.float64()), ("at", pa.string())]
)  # fmt: skip
CITIES = ["oslo", "rome", "a$b", "c\\d", "", "\0", None]


def made(path: Path, kind: str = "COPY_ON_WRITE", **more: Any) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="at", table_type=kind, **more
    )


def row(draw: random.Random, key: int) -> dict[str, Any]:
    return {
        "id": f"k{key}$", "city": draw.choice(CITIES), "n": draw.choice([None, 1, 2, -3]), "fare": 1.0,
        "at": "xy"[key % 2],
    }  # fmt: skip


def entries(table: hoodoo.Table, name: str) -> list[str]:
    """The keys of all entries, each of which lies in its group."""
    opened = MetadataTable.open(table.handle.storage, table.timeline())
    groups = opened.slices(f"secondary_index_{name}")
    found = []
    for number, group in enumerate(groups):
        keys = [k for b in merged(layers(opened.storage, group)) for k in b.column(0).to_pylist()]
        slots = PrefixHash().spread(pa.array([k.decode() for k in keys], pa.string()))
        assert {int(slot) % len(groups) for slot in slots.to_pylist()} <= {number}
        found += [k.decode() for k in keys]
    return sorted(found)


def check(table: hoodoo.Table, names: dict[str, str]) -> None:
    rows = table.read().to_arrow()
    keys = rows.column("id").combine_chunks()
    for name, column in names.items():
        wanted = entry_keys(rows.column(column).combine_chunks(), keys)
        assert entries(table, name) == sorted(wanted.to_pylist())
    asked: list[Any] = [pc.field("city") == "oslo", pc.field("city").isin(["a$b", "c\\d"])]
    asked += [pc.field("n") == 1, (pc.field("n") == -3) & (pc.field("city") == "rome")]
    for where in asked:
        same_rows(table, where)
        same_rows(table, where, mode="read_optimized")


def same_rows(table: hoodoo.Table, where: Any, **how: Any) -> None:
    """A filter lets the rows through that are left of the whole read."""
    found = table.read(["id"], where=where, **how).to_arrow().column("id").to_pylist()
    whole = table.read(**how).to_arrow()
    assert sorted(found) == sorted(whole.filter(where).column("id").to_pylist())


def test_entries_are_as_hudi_writes_them() -> None:
    """Values, keys and groups of a table that Hudi 1.2 wrote, with ten groups."""
    values = pa.array(["Spotify", "Uber", None, "Best Buy", "Singapore Airlines"])
    keys = pa.array(["TXN-018", "TXN-014", "TXN-003", "TXN-013", "TXN-007"])
    made = entry_keys(values, keys)
    assert made.to_pylist()[2:4] == ["\0$TXN-003", "Best Buy$TXN-013"]
    assert [h % 10 for h in PrefixHash().spread(made).to_pylist()] == [0, 4, 6, 8, 9]
    assert group_of(prefixes(values), 10).tolist() == [0, 4, 6, 8, 9]
    odd = pa.array(["a$b\\", "\0", "", "x\ny"])
    assert record_keys_of(entry_keys(odd, odd)).to_pylist() == odd.to_pylist()
    assert entry_keys(odd, odd).to_pylist()[0] == "a\\$b\\\\$a\\$b\\\\"


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.sampled(2)
def test_it_says_what_rows_say(tmp_path: Path, kind: str) -> None:
    draw = random.Random(kind)
    table = made(tmp_path / "t", kind)
    table.upsert([row(draw, key) for key in range(20)])
    index = table.create_index("by_city", ["city"])
    assert (index.name, index.kind, index.columns, index.ready) == (
        "by_city", "secondary", ("city",), True
    )  # fmt: skip
    table.create_index("by_n", "n", kind="secondary")
    names = {"by_city": "city", "by_n": "n"}
    check(table, names)
    steps: list[Callable[[], Any]] = [
        lambda: table.upsert([row(draw, key) for key in draw.sample(range(30), 8)]),
        lambda: table.delete([{"id": f"k{key}$", "at": "xy"[key % 2]} for key in range(3)]),
        lambda: table.cluster(order="linear", columns=["n"]),
        lambda: table.upsert([row(draw, key) for key in draw.sample(range(30), 8)]),
        lambda: table.insert_overwrite([row(draw, 41)]),
        lambda: table.compact_metadata(),
        lambda: table.compact() if kind == "MERGE_ON_READ" else table.clean(),
        lambda: table.update({"city": "'oslo'"}, where="n = 1"),
    ]
    for step in steps:
        step()
        check(table, names)
    kept = table.savepoint()
    last = table.upsert([row(draw, key) for key in range(30, 40)])
    table.rollback(last.instant)
    check(table, names)
    for instant in table.timeline().writes():
        same_rows(table, pc.field("city") == "oslo", as_of=instant.requested)
    table.upsert([row(draw, key) for key in range(30, 40)])
    table.restore(kept)
    table.upsert([row(draw, 3)])
    check(table, names)
    assert {i.name for i in table.indexes()} >= {"by_city", "by_n", "record_index"}
    with pytest.raises(ConfigError, match="own index|is needed by"):
        table.drop_index("record_index")
    table.drop_index("by_n")
    assert not list((tmp_path / "t/.hoodie/metadata").glob("*by_n*"))
    table.upsert([row(draw, 1)])
    check(table, {"by_city": "city"})


def _rows(*given: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [{"id": i, "at": at, "city": city, "n": 1, "fare": 1.0} for i, at, city in given]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("way", ["switch_index", "rebuild_index"])
def test_a_key_that_was_in_two_partition_paths_loses_no_value(
    tmp_path: Path, kind: str, way: str
) -> None:
    """Of both rows there is one entry, which went with the first of them."""
    table = made(tmp_path / "t", kind, index="simple", options={"hoodie.metadata.enable": True})
    table.upsert(_rows(("a", "x", "oslo"), ("a", "y", "oslo"), ("b", "x", "oslo")))
    table.create_index("by_city", ["city"])
    table.delete([{"id": "a", "at": "x"}])
    same_rows(table, pc.field("city") == "oslo")
    assert table.verify().ok  # no read goes by what lacks the entry
    getattr(table, way)("record_index")
    same_rows(table, pc.field("city") == "oslo")
    check(table, {"by_city": "city"})
    assert table.verify().ok
    table.upsert(_rows(("b", "x", "rome")))
    check(table, {"by_city": "city"})


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_no_read_goes_by_it_while_keys_may_be_once_in_each_partition_path(
    tmp_path: Path, kind: str
) -> None:
    table = made(tmp_path / "t", kind, index="record_index")
    table.upsert(_rows(("b", "x", "oslo")))
    table.create_index("by_city", ["city"])
    table.switch_index("partitioned_record_index")
    table.upsert(_rows(("a", "x", "oslo"), ("a", "y", "oslo")))
    table.upsert(_rows(("a", "x", "rome")))
    same_rows(table, pc.field("city") == "oslo")
    assert table.verify().ok
    table.delete([{"id": "a", "at": "x"}])
    table.switch_index("record_index")
    check(table, {"by_city": "city"})
    assert table.verify().ok


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_key_of_a_second_partition_path_is_a_second_row_as_before(
    tmp_path: Path, kind: str
) -> None:
    """The record index that is made for it is for reads: it does not become the table's own, which would move rows."""
    table = made(tmp_path / "t", kind)
    table.upsert(_rows(("a", "x", "oslo"), ("b", "x", "rome")))
    table.create_index("by_city", ["city"])
    check(table, {"by_city": "city"})
    table.upsert(_rows(("a", "y", "oslo")))
    hoodoo.open(str(tmp_path / "t")).upsert(_rows(("b", "y", "oslo")))
    assert table.read(["id", "at"]).to_arrow().num_rows == 4
    same_rows(table, pc.field("city") == "oslo")
    assert table.verify().ok


def test_keys_that_are_unique_in_their_partition_path_have_none(tmp_path: Path) -> None:
    table = made(tmp_path / "t", index="partitioned_record_index")
    table.upsert(_rows(("a", "x", "oslo")))
    with pytest.raises(UnsupportedTableError, match="once in each partition path"):
        table.create_index("by_city", ["city"])
    assert [i.name for i in table.indexes()] == ["column_stats", "partitioned_record_index"]


def test_a_read_opens_the_files_that_have_the_value(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for n in range(4):
        table.bulk_insert([{"id": f"{n}", "city": f"c{n}", "n": n, "fare": 0.0, "at": "x"}])
    table.create_index("by_city", ["city"])
    scan = table.read(where="city = 'c2'")
    assert len(scan.plan.slices) == 1 and scan.to_pylist()[0]["n"] == 2
    assert len(table.read(where=pc.field("city") == "nowhere").plan.slices) == 0
    assert len(table.read(where=pc.field("fare") == 0.0).plan.slices) == 4


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"name": "a", "columns": ["nope"]}, SchemaError, "is not in the table"),
        ({"name": "a", "columns": ["fare"]}, ConfigError, "texts, whole numbers and dates"),
        ({"name": "a", "columns": ["n", "city"]}, ConfigError, "of 2 columns"),
        ({"name": "a/b", "columns": ["n"]}, ConfigError, "makes no directory"),
        ({"name": "a", "columns": ["n"], "kind": "vector"}, ConfigError, "Kinds are secondary"),
        ({"name": "a", "columns": ["n"], "expression": "upper"}, ConfigError, "no function of one column"),
        ({"name": "mine", "columns": ["id"], "kind": "record_index"}, ConfigError, "is called record_index"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused(
    tmp_path: Path, given: dict[str, Any], error: type[HoodooError], said: str
) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(error, match=said):
        table.create_index(**given)
    assert table.indexes() == ()


def test_older_tables_have_none(tmp_path: Path) -> None:
    table = made(tmp_path / "t", table_version=6)
    with pytest.raises(UnsupportedTableError, match="have no secondary indexes"):
        table.create_index("a", ["n"])


@pytest.mark.parametrize("virtual", [False, True])
def test_a_global_index_in_the_place_of_a_partitioned_one_is_refused(
    tmp_path: Path, virtual: bool
) -> None:
    options = {"hoodie.populate.meta.fields": not virtual}
    table = made(tmp_path / "t", index="partitioned_record_index", options=options)
    table.upsert(_rows(("a", "x", "oslo")))
    before = [i.name for i in table.indexes()]
    with pytest.raises(ConfigError, match="switch_index"):
        table.create_index("record_index", kind="record_index")
    assert [i.name for i in table.indexes()] == before


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("other", ["n", "fare"])
def test_one_that_another_engine_made_again(tmp_path: Path, other: str) -> None:
    """Spark Hudi drops and makes an index, and leaves Hoodoo's note of its column as it is."""
    table = made(tmp_path / "t")
    table.upsert(
        [{"id": f"k{k}", "city": f"c{k}", "n": k, "fare": 1.0, "at": "x"} for k in range(4)]
    )
    table.create_index("i", "n")
    definitions = tmp_path / "t/.hoodie/.index_defs/index.json"
    if other == "n":  # the entries of `n` are there, and the note is of `city`
        table.handle.change_properties({"hoodoo.metadata.secondary": "secondary_index_i:city"})
    else:
        definitions.write_text(definitions.read_text().replace('["n"]', '["fare"]'))
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.read(where="city = 'c2'").count() == table.read(where="n = 2").count() == 1
    table.upsert([{"id": "k9", "city": "c2", "n": 2, "fare": 1.0, "at": "x"}])
    assert table.read(where="city = 'c2'").count() == table.read(where="n = 2").count() == 2
    assert not table.verify().findings
    there = {index.name: index.columns for index in table.indexes()}
    assert there.get("i") == (("n",) if other == "n" else None)

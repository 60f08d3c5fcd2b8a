"""What the index learns, what it leaves to the exact search, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooWarning
from hoodoo_vector_index import segments
from hoodoo_vector_index.index import IvfIndex

OPTIONS = {"hoodoo.index.vector.least.rows": "10", "hoodoo.index.vector.columns": "e cosine, e"}


def vectors(ids: Any, seed: int = 0, dimension: int = 4) -> pa.Table:
    drawn = np.random.default_rng(seed).standard_normal((len(ids), dimension), np.float32)
    lists = pa.FixedSizeListArray.from_arrays(drawn.ravel(), dimension)
    return pa.table({"id": list(ids), "e": lists})


def created(path: Path, rows: pa.Table | None = None, **more: Any) -> hoodoo.Table:
    data = vectors(range(200)) if rows is None else rows
    options = {**OPTIONS, **more.pop("options", {})}
    table = hoodoo.create(str(path), data.schema, record_key="id", options=options, **more)
    table.bulk_insert(data)
    return table


def known(table: hoodoo.Table) -> dict[str, Any]:
    return {one.metric: one for one in table.report("vector_index")}


def test_a_write_is_indexed_and_the_table_says_so_to_all(tmp_path: Path) -> None:
    made = created(tmp_path / "t")
    table = hoodoo.open(str(made.path), {"hoodoo.index.vector.least.rows": "10"})
    counted = {m: (one.files, one.indexed) for m, one in known(table).items()}
    assert counted == {"l2": (1, 1), "cosine": (1, 1)}
    table.upsert(vectors(range(150, 300), 1))
    assert known(table)["l2"].indexed == 1
    names = [p.name for p in (tmp_path / "t/.hoodie/.hoodoo/vectors/e/l2").iterdir()]
    assert len(names) == 1, "what is of older files is gone"


def test_the_index_is_asked_and_the_table_has_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the index does not name are not found; what it makes up is not believed."""
    table = created(tmp_path / "t")
    query = vectors([0], 3)["e"][0].as_py()
    exact = table.search("e", query, 5)
    near = IvfIndex.near

    def wrong(self: IvfIndex, request: Any) -> Any:
        return {s: pa.array(["no such key"]) for s in near(self, request)}

    def few(self: IvfIndex, request: Any) -> Any:
        return {s: pa.array(["7", "8", "9", "10", "11"]) for s in near(self, request)}

    with monkeypatch.context() as patched:
        patched.setattr("hoodoo_vector_index.index.IvfIndex.near", few)
        found = table.search("e", query, 5, approximate=True)
        assert sorted(found["id"].to_pylist()) == [7, 8, 9, 10, 11]
        patched.setattr("hoodoo_vector_index.index.IvfIndex.near", wrong)
        assert table.search("e", query, 5, approximate=True).equals(exact)


@pytest.mark.parametrize("damage", ["gone", "cut off", "another byte", "other file"])
def test_damaged_indexes_are_not_used(
    tmp_path: Path, damage: str, recwarn: pytest.WarningsRecorder
) -> None:
    table = created(tmp_path / "t")
    (path,) = (tmp_path / "t/.hoodie/.hoodoo/vectors/e/l2").iterdir()
    data = path.read_bytes()
    middle = len(data) // 2
    broken = {
        "cut off": data[:middle],
        "another byte": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "other file": b"PAR1" * 20,
    }
    path.unlink() if damage == "gone" else path.write_bytes(broken[damage])
    segments.forget(table.handle.storage)
    query = [0.5, 0.1, -0.4, 1.0]
    found = table.search("e", query, 5, approximate=True)
    assert found.equals(table.search("e", query, 5))
    assert known(table)["l2"].why == {"not indexed yet": 1}
    warned = [w for w in recwarn if issubclass(w.category, HoodooWarning)]
    assert bool(warned) == (damage != "gone")
    assert table.run("index_vectors", again=True)
    assert known(table)["l2"].indexed == 1


def test_what_is_no_base_file_alone_is_searched_whole(tmp_path: Path) -> None:
    table = created(tmp_path / "t", table_type="MERGE_ON_READ")
    assert known(table)["l2"].indexed == 1
    near = vectors([7], 9)
    table.upsert(near)
    query = near["e"][0].as_py()
    assert known(table)["l2"].why == {"log files": 1}
    found = table.search("e", query, 1, approximate=True)
    assert found["id"].to_pylist() == [7] and found["_distance"][0].as_py() == 0.0
    table.compact()
    assert known(table)["l2"].indexed == 1


def test_vectors_that_no_list_takes(tmp_path: Path) -> None:
    """NaN is an error, as in the exact search; zeros have a distance, by cosine too."""
    rows = vectors(range(200))
    zeros = pa.table({"id": [500], "e": pa.array([[0.0] * 4], rows["e"].type)})
    table = created(tmp_path / "zeros", pa.concat_tables([rows, zeros]))
    opposite = [-x for x in rows["e"][3].as_py()]
    exact = table.search("e", opposite, 120, "cosine")
    found = table.search("e", opposite, 120, "cosine", approximate=True)
    assert 500 in exact["id"].to_pylist() and 500 in found["id"].to_pylist()
    lists = pa.list_(pa.float32())
    bad = pa.table({"id": [501], "e": pa.array([[float("nan")] * 4], lists)})
    plain = rows.set_column(1, "e", rows["e"].cast(lists))
    table = created(tmp_path / "nan", pa.concat_tables([plain, bad]))
    assert known_why(table) == {"vectors with NaN, or numbers beyond 32 bits": 1}
    with pytest.raises(hoodoo.errors.SchemaError, match="NaN"):
        table.search("e", [1.0] * 4, approximate=True)


def known_why(table: hoodoo.Table) -> dict[str, int]:
    return table.report("vector_index", sample=0)[0].why


def test_files_with_few_rows_and_tables_without_keys(tmp_path: Path) -> None:
    few = created(tmp_path / "few", vectors(range(5)))
    assert known(few)["l2"].why == {"fewer than 10 vectors": 1}
    bare = created(tmp_path / "bare", options={"hoodie.populate.meta.fields": "false"})
    assert known(bare)["l2"].indexed == 0
    query = [0.5, 0.1, -0.4, 1.0]
    assert bare.search("e", query, approximate=True).equals(bare.search("e", query))


def test_another_metric_column_or_length_is_searched_whole(tmp_path: Path) -> None:
    table = created(tmp_path / "t")
    query = [0.5, 0.1, -0.4, 1.0]
    assert table.search("e", query, 3, "dot", approximate=True).equals(
        table.search("e", query, 3, "dot")
    )
    with pytest.raises(hoodoo.errors.SchemaError):
        table.search("e", [1.0], approximate=True)


def test_reads_of_older_snapshots(tmp_path: Path) -> None:
    table = created(tmp_path / "t")
    table.upsert(vectors(range(100), 5))
    query = [0.5, 0.1, -0.4, 1.0]
    old = table.read(as_of=1)
    assert old.search("e", query, 4, approximate=True).equals(old.search("e", query, 4))


def test_rows_that_were_written_since(tmp_path: Path) -> None:
    """The index names others, too."""
    table = created(tmp_path / "t")
    table.upsert(vectors(range(50), 5))
    new = table.incremental(since=1)
    query = [0.5, 0.1, -0.4, 1.0]
    exact = new.search("e", query, 50).to_pylist()
    found = new.search("e", query, 9, approximate=True).to_pylist()
    assert len(found) == 9 and all(row in exact for row in found)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no metric"):
        hoodoo.create(
            str(tmp_path / "x"),
            vectors([1]).schema,
            record_key="id",
            options={"hoodoo.index.vector.columns": "e manhattan"},
        )
    path = str(tmp_path / "plain")
    hoodoo.create(path, vectors([1]).schema, record_key="id")
    with pytest.raises(ConfigError, match="which columns"):
        hoodoo.open(path).run("index_vectors")
    wrong = hoodoo.open(path, {"hoodoo.index.vector.columns": "f"})
    with pytest.raises(ConfigError, match="names f"):
        wrong.run("index_vectors")


def named(key: str) -> pa.Table:
    return pa.table(
        {"id": [key, *(f"person-{n}" for n in range(50))], "e": vectors(range(51))["e"]}
    )


@pytest.mark.filterwarnings("ignore:.*names e.*")
@pytest.mark.parametrize("then", ["", "renamed", "dropped", "opened without the option"])
def test_an_erasure_reaches_the_index(tmp_path: Path, then: str) -> None:
    """Also that of a column which is indexed no longer."""
    key, path = "person-to-erase", tmp_path / "t"
    data, late = named(key), then == "opened without the option"
    made = hoodoo.create(
        str(path), data.schema, record_key="id", options={} if late else dict(OPTIONS)
    )
    (hoodoo.open(str(path), OPTIONS) if late else made).bulk_insert(data)
    table = hoodoo.open(str(path))
    changes = {"renamed": {"rename": {"e": "f"}}, "dropped": {"drop": "e"}}
    if then in changes:
        table.alter(**changes[then])

    def holding() -> list[Path]:
        each = (path / ".hoodie/.hoodoo/vectors").rglob("*.parquet")
        return [file for file in each if key.encode() in file.read_bytes()]

    assert holding()
    report = table.erase(keys=[key], prove=True).report
    assert report is not None and report["erased"] and not holding()


@pytest.mark.filterwarnings("ignore:.*names e.*")
def test_a_column_that_is_gone_stops_no_other(tmp_path: Path) -> None:
    data = vectors(range(50))
    data = data.append_column("g", data["e"])
    options = {**OPTIONS, "hoodoo.index.vector.columns": "e, g"}
    table = hoodoo.create(str(tmp_path / "t"), data.schema, record_key="id", options=options)
    table.alter(drop="e")
    table.bulk_insert(data.drop_columns("e"))
    assert len([*(tmp_path / "t/.hoodie/.hoodoo/vectors/g/l2").iterdir()]) == 1


def test_other_columns_are_named_as_the_warning_says(tmp_path: Path) -> None:
    table = created(tmp_path / "t")
    with pytest.warns(HoodooWarning, match=r'run\("index_vectors", columns='):
        table.alter(rename={"e": "f"})
    with pytest.raises(ConfigError, match="names g"):
        table.run("index_vectors", columns="g")
    table.run("index_vectors", columns="f cosine")
    table = hoodoo.open(str(tmp_path / "t"), {"hoodoo.index.vector.least.rows": "10"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.insert(vectors(range(900, 999)).rename_columns(["id", "f"]))
        table.cluster(order="linear", columns=["id"])
    assert {metric: one.column for metric, one in known(table).items()} == {"cosine": "f"}
    assert known(table)["cosine"].indexed >= 1


def test_a_table_with_one_vector_has_a_report(tmp_path: Path) -> None:
    one = {"hoodoo.index.vector.least.rows": "1"}
    table = created(tmp_path / "t", vectors(range(1)), options=one)
    assert [(each.indexed, each.recall) for each in table.report("vector_index")] == [(1, 1.0)] * 2


@pytest.mark.spark
def test_on_spark_files_are_indexed_in_tasks(tmp_path: Path, spark: Any) -> None:
    table = created(tmp_path / "t", options={"hoodie.metadata.enable": "false"})
    assert table.run("index_vectors", again=True, engine="spark")
    assert known(table)["l2"].recall > 0.5


def test_neighbours_that_differ_in_what_varies_least_are_found(tmp_path: Path) -> None:
    """In tight clusters most of what varies is which cluster it is."""
    draw = np.random.default_rng(5)
    centres = draw.standard_normal((30, 64))
    close = centres[draw.integers(0, 30, 4000)] + 0.1 * draw.standard_normal((4000, 64))
    lists = pa.FixedSizeListArray.from_arrays(close.astype("f4").ravel(), 64)
    columns = {"hoodoo.index.vector.columns": "e l2"}
    table = created(tmp_path / "t", pa.table({"id": range(4000), "e": lists}), options=columns)
    assert known(table)["l2"].recall >= 0.95


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_vectors_that_vary_in_few_directions_have_these_alone(tmp_path: Path, metric: str) -> None:
    """As embeddings do: 6 of 64, and a common part. The index is shorter, and finds as much."""
    draw = np.random.default_rng(2)
    basis = draw.standard_normal((6, 64))
    apart = draw.standard_normal((3000, 6)) @ basis + 0.01 * draw.standard_normal((3000, 64))
    columns = {"hoodoo.index.vector.columns": f"e {metric}"}
    sizes = []
    for number, some in enumerate((apart, draw.standard_normal((3000, 64)))):
        lists = pa.FixedSizeListArray.from_arrays((some + 3).astype("f4").ravel(), 64)
        rows = pa.table({"id": range(3000), "e": lists})
        table = created(tmp_path / f"{number}", rows, options=columns)
        (path,) = (tmp_path / f"{number}/.hoodie/.hoodoo/vectors/e/{metric}").iterdir()
        sizes.append(path.stat().st_size)
        if not number:
            assert known(table)[metric].recall >= 0.95
    assert sizes[0] < sizes[1] / 2

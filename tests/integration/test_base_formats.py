"""Tables whose base files are no plain Parquet: whatever the extension says, nothing goes past the format."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import base_formats
import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hoodoo import Table
from hoodoo.errors import HoodooError, PluginError
from hoodoo.hookspecs.file_format import ColumnBounds
from hoodoo.testing.contracts.file_format import FileFormatContract
from hoodoo.testing.distributions import fake_distribution, found_anew
from hoodoo_rows.testing.tables import Maker
from noted_sizes import restat

pytestmark = pytest.mark.sampled

FORMATS = ("ipc", "ranged_ipc", "veiled")
SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("v", pa.int64()), ("x", pa.float64())]
)


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = fake_distribution(
        tmp_path_factory.mktemp("formats"),
        "hoodoo-other-formats",
        entry_points={"base_formats": "base_formats"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        with found_anew():
            yield


rows = Maker(
    SCHEMA, "step", step=1, city=("a", "b"), v=lambda i, step: i * step,
    x=lambda i: float(i) if i % 3 else None,
)  # fmt: skip


def created(path: Path, base: str, kind: str, **more: Any) -> Table:
    options = {
        "hoodie.table.base.file.format": base,
        "hoodie.metadata.enable": True,
        "hoodie.metadata.index.column.stats.enable": True,
        "hoodie.parquet.small.file.limit": 0,
        **more,
    }
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", table_type=kind, options=options
    )


def seen(table: Table, where: Any = None) -> list[tuple[int, int]]:
    found = table.read(where=where).to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("base", FORMATS)
def test_fault_15_a_table_of_another_format_lives_with_column_stats(
    tmp_path: Path, base: str, kind: str
) -> None:
    table = created(tmp_path / "t", base, kind)
    for start in range(0, 60, 10):  # enough files for column_stats to be asked
        table.append(rows(range(start, start + 10)))
    assert "column_stats" in table.config.metadata_partitions
    expected = {i: i for i in range(60)}
    table.upsert(rows(range(5, 15), 100))
    expected |= {i: i * 100 for i in range(5, 15)}
    assert seen(table) == sorted(expected.items())
    last = table.append(rows(range(90, 95)))
    table.rollback(last.instant)
    assert seen(table) == sorted(expected.items())
    if kind == "MERGE_ON_READ":
        table.compact()
    for plan, more in (
        ("size", {}), ("key_range", {}), ("commit_time", {}), ("random", {}),
        ("overlap", {"columns": "v"}), ("size", {"columns": ["v"], "order": "linear"}),
    ):  # fmt: skip
        commit = table.cluster(
            plan, options={"hoodie.clustering.plan.strategy.small.file.limit": 1 << 30}, **more
        )
        if commit.instant:
            assert commit.files
        assert seen(table) == sorted(expected.items()), plan
    v, x = pc.field("v"), pc.field("x")
    for where in (v > 900, v == 17, (v < 3) | (v > 1300), v.is_null(), x < 4, x.is_null()):
        found = table.read().to_arrow().filter(where)
        assert seen(table, where) == sorted(
            zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True)
        ), str(where)
    table.delete(pa.table({"id": [1, 2]}))
    assert len(seen(table)) == 58
    assert table.verify().ok
    assert table.rebuild_index()
    assert table.verify().ok


@pytest.mark.parametrize(("base", "pruned"), [("ipc", 0), ("ranged_ipc", 5), ("veiled", 5)])
def test_ranges_prune_where_the_format_knows_them(tmp_path: Path, base: str, pruned: int) -> None:
    table = created(tmp_path / "t", base, "COPY_ON_WRITE")
    for start in range(0, 60, 10):
        table.append(rows(range(start, start + 10)).filter(pc.field("city") == "a"))
    scan = table.read(where=pc.field("v") >= 50)
    assert scan.count() == 5
    assert scan.plan.pruned_by_metadata == pruned
    known = [file.bounds[0] for file in table.report("layout", columns=["v"]).files]
    assert (known.count(None) == len(known)) == (base == "ipc")


def test_a_format_that_answers_wrong_ranges_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: Any = {"v": ColumnBounds(pa.scalar("x"), pa.scalar("y"), 0)}
    monkeypatch.setattr(base_formats.RangedIpcFormat, "column_ranges", lambda *_: wrong)
    table = created(tmp_path / "t", "ranged_ipc", "COPY_ON_WRITE")
    with pytest.raises(PluginError, match="column_ranges of the file format RangedIpcFormat"):
        table.append(rows(range(4)))
    wrong["v"] = ColumnBounds(pa.scalar(0), pa.scalar(3), 5)
    with pytest.raises(PluginError, match="5 nulls among"):
        table.append(rows(range(4)))
    wrong.clear()
    table.append(rows(range(4)))
    assert len(seen(table)) == 4


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("base", FORMATS)
def test_fault_15_spark_reads_what_only_the_format_reads(
    spark: Any, collected: Any, tmp_path: Path, base: str
) -> None:
    spark.sparkContext.addPyFile(base_formats.__file__)
    table = created(tmp_path / "t", base, "COPY_ON_WRITE")
    table.upsert(rows(range(20)))
    found = collected(table.read(["id", "v"]).to_spark(spark))
    assert sorted(found["id"].to_pylist()) == list(range(20))
    some = table.read(["id"], where=pc.field("v") > 15).to_spark(spark)
    assert sorted(collected(some)["id"].to_pylist()) == [16, 17, 18, 19]


class TestRangedIpc(FileFormatContract):
    @pytest.fixture
    def file_format(self) -> Any:
        return base_formats.RangedIpcFormat()


def test_a_column_whose_range_nobody_knows_is_not_told_to_be_null(tmp_path: Path) -> None:
    """INT96: there is no order of such values that all writers agree on."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id",
        options={"hoodie.parquet.small.file.limit": 0, "hoodie.metadata.enable": False},
    )  # fmt: skip
    for n in range(5):
        table.append(pa.table([[n], [n]], schema=schema))
    for file in (tmp_path / "t").glob("*.parquet"):
        found = pq.read_table(file)
        pq.write_table(found, file, use_deprecated_int96_timestamps=True)
        restat(file)
    table = hoodoo.open(table.path)
    table.rebuild_index("column_stats")
    asked = table.read(["id"], where=pc.field("at") >= pa.scalar(0, pa.timestamp("us", "UTC")))
    assert asked.count() == 5


def test_arrow_writes_no_footer_of_hudi_into_orc() -> None:
    """Why nobody offers ORC: its footer has Hudi's key range, bloom filter and schema. If this
    fails, Arrow writes them now."""
    footer = {"hoodie_min_record_key": "1", "orc.avro.schema": "{}"}
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"a": [1]}).replace_schema_metadata(footer), sink)
    assert not orc.ORCFile(pa.BufferReader(sink.getvalue())).metadata
    assert not any("metadata" in name for name in signature(orc.ORCWriter).parameters)


def test_a_table_of_orc_files_is_refused(tmp_path: Path) -> None:
    """Nobody offers them: neither a read nor a write takes them for Parquet."""
    table = hoodoo.create(tmp_path / "t", "id bigint", record_key="id")
    table.upsert([{"id": 1}])
    table.handle.change_properties({"hoodie.table.base.file.format": "ORC"})
    with pytest.raises(HoodooError, match="format ORC") as raised:
        hoodoo.open(tmp_path / "t").read().to_arrow()
    assert "Parquet" in raised.value.fix
    with pytest.raises(PluginError, match="ORC"):
        hoodoo.open(tmp_path / "t").upsert([{"id": 2}])

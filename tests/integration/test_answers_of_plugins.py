"""Wrong answers of plugins of several families: each is an error that names the plugin, and nothing is committed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError, DataError, PluginError
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.hookspecs.merger import Merged
from hoodoo.testing.distributions import made
from hoodoo_clustering.hookspecs.clustering import ClusteredGroup
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])

rows = Maker(SCHEMA, city="a", v=lambda n: -n).count


@frozen
class Ordered:
    """A clustering whose keys are ``more`` values too many, or too few."""

    more: int = 0
    columns: tuple[str, ...] = ("v",)
    sample_rows: int = 0

    def fitted(self, sample: pa.Table) -> Ordered:
        return self

    def keys(self, table: pa.Table) -> Sequence[Any]:
        column = table["v"].to_pylist()
        return [pa.array(column[: self.more] if self.more < 0 else column + column[: self.more])]

    def told(self, groups: Sequence[ClusteredGroup]) -> dict[str, str]:
        return {}


@pytest.mark.parametrize("more", [-1, 1])
def test_fault_a3_an_order_that_is_one_value_off_loses_no_row(tmp_path: Path, more: int) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.append(rows(100))
    table.append(rows(100, 100))
    with pytest.raises(PluginError, match=r"clustering object .*Ordered, keys: answered .* 200"):
        table.cluster(order=Ordered(more))
    assert table.read().count() == 200
    assert not table.clusterings()  # nobody could run the plan
    assert table.cluster(order=Ordered()).instant
    assert table.read().count() == 200


def test_fault_16_a_plan_with_an_order_that_has_no_name_is_refused(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.append(rows(10))
    table.append(rows(10, 10))
    with pytest.raises(ConfigError, match=r"Ordered: is an object.*table.cluster"):
        table.schedule_clustering(order=Ordered())
    assert not table.clusterings()


@frozen
class Keys:
    """A key generator that answers ``keys`` or ``paths``, whatever comes; else the columns as they are."""

    keys: Any = None
    paths: Any = None
    record_key_fields: tuple[str, ...] = ("id",)
    partition_fields: tuple[str, ...] = ("city",)

    def record_keys(self, batch: pa.RecordBatch) -> Any:
        return batch.column("id").cast(pa.string()) if self.keys is None else self.keys

    def partition_paths(self, batch: pa.RecordBatch) -> Any:
        return batch.column("city") if self.paths is None else self.paths

    def partition_values(self, path: str, schema: pa.Schema) -> None:
        return None


def keyed(path: Path, **given: Any) -> Any:
    generator = Keys(**given)
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", key_generator=generator
    )


WRITES = ["upsert", "append", "bulk_insert", "insert"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["1", None]), pa.array(["1", ""]), pa.array([1, 2]), ["1", "2"],
        pa.array(["1", "2"], pa.large_string()), pa.array(["1"]), pa.chunked_array([["1", "2"]]), None,
    ],
    ids=["null", "empty", "int", "list", "large", "short", "chunked", "good"],
)  # fmt: skip
def test_fault_a12_wrong_record_keys_are_not_written(tmp_path: Path, write: str, keys: Any) -> None:
    table = keyed(tmp_path / "t", keys=keys)
    if keys is None:
        assert getattr(table, write)(rows(2)).inserted == 2
        return
    with pytest.raises(PluginError, match=r"key_generator object .*Keys, record_keys: answered"):
        getattr(table, write)(rows(2))
    assert not table.timeline().writes() and not table.read().count()


@pytest.mark.parametrize("write", WRITES)
def test_fault_a12_a_null_in_the_data_is_the_datas(tmp_path: Path, write: str) -> None:
    """A null key and a null path of a column that is null there: the rows are at fault, not the plugin."""
    table = keyed(tmp_path / "t")
    broken = rows(2).set_column(0, "id", pa.array([1, None], pa.int64()))
    with pytest.raises(DataError, match="key column id: is null or empty in 1 of 2 rows"):
        getattr(table, write)(broken)
    broken = rows(2).set_column(1, "city", pa.array(["a", None]))
    with pytest.raises(DataError, match="partition column city: is null in 1 of 2 rows"):
        getattr(table, write)(broken)
    assert not table.timeline().writes()


def test_fault_a12_a_wrong_path_is_the_plugins(tmp_path: Path) -> None:
    for paths in (pa.array(["a", None]), pa.array(["a", "../b"]), pa.array(["a"])):
        table = keyed(tmp_path / str(len(list(tmp_path.iterdir()))), paths=paths)
        with pytest.raises(PluginError, match="partition_paths: answered"):
            table.upsert(rows(2))
        assert not table.timeline().writes()


@pytest.mark.parametrize("city", [".hoodie_x", "a/.hoodie", "a//b", "a/", "/a", ".", "a\0b"])
@pytest.mark.parametrize("by_column", [True, False])
def test_a_path_that_listings_pass_over_is_refused(
    tmp_path: Path, city: str, by_column: bool
) -> None:
    """Rows below such a name would be committed, and no reader would find them."""
    table = keyed(tmp_path / "t", **({} if by_column else {"paths": pa.array([city, "b"])}))
    data = rows(2)
    if by_column:
        data = data.set_column(1, "city", pa.array([city, "b"]))
    with pytest.raises(DataError if by_column else PluginError, match="of rows of the table"):
        table.upsert(data)
    assert not table.timeline().writes()


@frozen
class Ambiguous(Keys):
    """Fails where it is to say whether keys could be those of other rows."""

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        raise ValueError("cannot tell")


def test_a_generator_that_fails_to_judge_rows_is_named(tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", key_generator=Ambiguous(partition_fields=())
    )
    with pytest.raises(
        PluginError, match=r"Ambiguous, refuse_ambiguous: raised ValueError: cannot"
    ):
        table.upsert(rows(2))
    assert not table.timeline().writes()


@frozen
class Finds:
    """An index that answers ``found``, rows of LOCATIONS_SCHEMA, of a table with one file group."""

    how: str
    is_global: bool = False
    moves_partitions: bool = False

    def locate(self, keys: Any, context: Any) -> Any:
        file_id = "no-such-file-group" if self.how == "unknown" else context.slices[0].file_id
        names = ["1", "1"] if self.how == "twice" else ["77"] if self.how == "unasked" else ["1"]
        found = pa.table(
            {
                "record_key": names,
                "partition_path": [""] * len(names),
                "file_id": [file_id] * len(names),
            }
        )
        return found if self.how == "table" else context.engine.source(found)


@pytest.mark.parametrize("how", ["twice", "unknown", "table"])
def test_fault_a12_an_index_that_answers_wrongly_is_named(tmp_path: Path, how: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.upsert(rows(3))
    wrong = hoodoo.open(str(tmp_path / "t"), index=Finds(how))
    with pytest.raises(PluginError, match=r"index object .*Finds, locate: answered"):
        wrong.upsert(rows(2))
    with pytest.raises(PluginError, match=r"index object .*Finds, locate: answered"):
        wrong.delete([1])
    assert table.read().count() == 3 and len(table.timeline().writes()) == 1


def test_keys_that_nobody_asked_for_are_not_deleted(tmp_path: Path) -> None:
    """What an index locates is what a delete deletes."""
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.upsert(rows(80))
    wrong = hoodoo.open(str(tmp_path / "t"), index=Finds("unasked"))
    with pytest.raises(PluginError, match="not asked for"):
        wrong.delete([1])
    assert table.read().count() == 80


class _WrongEntries:
    """The simple index, with entries beside that are wrong."""

    is_global = False
    moves_partitions = False
    knows_logs = False

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.simple = made("index", "simple")

    def locate(self, keys: Any, context: Any) -> Any:
        return self.simple.locate(keys, context)

    def entries(self, context: Any) -> Any:
        if self.kind == "raises":
            raise ValueError("no entries today")
        if self.kind == "none":
            return None
        place = {"record_key": "0", "partition_path": "", "file_id": "f"}
        if self.kind == "null":
            place["file_id"] = None  # type: ignore[assignment]
        count = 2 if self.kind == "twice" else 1
        found = pa.Table.from_pylist([place] * count, LOCATIONS_SCHEMA)
        if self.kind == "names":
            found = found.rename_columns(["key", "path", "file"])
        return context.engine.source(found)


@pytest.mark.parametrize("kind", ["raises", "none", "null", "twice", "names"])
def test_wrong_entries_of_an_index_are_named(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.append(rows(10))
    with pytest.raises(PluginError, match=r"_WrongEntries.*entries"):
        table.compare_indexes(_WrongEntries(kind), "simple")


@frozen
class _NamesAndBuilds:
    """Its rows lack the columns that it does not name."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = "755b420a-d5a4-488b-a84f-dd2cfc963c84"
    columns: tuple[str, ...] | None = ("n",)

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(rows=newer)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("twice", [False, True], ids=["a stored row", "two rows"])
def test_a_merger_that_names_columns_and_answers_rows_is_named(
    tmp_path: Path, kind: str, twice: bool
) -> None:
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="k", merger=_NamesAndBuilds(), table_type=kind
    )
    row = {"k": 1, "n": 1, "v": "a"}
    if not twice:
        table.insert([row])
    merges_when_read = kind == "MERGE_ON_READ" and not twice
    if merges_when_read:
        table.upsert([row])
    with pytest.raises(PluginError, match=r"_NamesAndBuilds.* names its columns and answers rows"):
        if merges_when_read:
            table.read().to_arrow()
        else:
            table.upsert([row, row] if twice else [row])
    assert not table.timeline().pending()

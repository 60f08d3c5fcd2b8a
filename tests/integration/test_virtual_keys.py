"""RFC-21's defaults, expectations and exceptions, one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import (
    ConfigError,
    DataError,
    HoodooError,
    MissingColumnError,
    NullKeyError,
    OptionConflictError,
    SchemaError,
)
from hudi_columns import COMMIT_TIME, META_COLUMNS, RECORD_KEY
from noted_sizes import restat
from virtual_tables import (
    CLASS,
    COLUMNS,
    CONCATENATOR,
    COW,
    HUDIS,
    KEPT_META,
    KINDS,
    MOR,
    ON,
    POPULATE,
    SCHEMA,
    STORED_UNTIL,
    VERSIONS,
    VIRTUAL,
    base_files,
    check,
    create,
    falsify,
    footers,
    ours,
    rows,
    stored,
    told,
)

pytestmark = pytest.mark.sampled(4)

ABOUT_KEYS = {
    "hoodie_min_record_key", "hoodie_max_record_key", "org.apache.hudi.bloomfilter",
    "hoodie_bloom_filter_type_code",
}  # fmt: skip


# --- Default: _hoodie_record_key will be written to disk ----------------------------------------------
@pytest.mark.parametrize("options", [{}, {VIRTUAL: "false"}, {POPULATE: "true"}])
def test_the_default_is_unchanged(tmp_path: Path, options: dict[str, str]) -> None:
    table = create(tmp_path, options)
    table.upsert(rows(range(4), "a", 1))
    text = (tmp_path / ".hoodie/hoodie.properties").read_text()
    said = {line.partition("=")[0] for line in text.splitlines()}
    about_keys = {POPULATE, VIRTUAL, KEPT_META, STORED_UNTIL, COLUMNS, CLASS, CONCATENATOR}
    assert said & about_keys == set(options)
    meta = stored(table)
    assert all(None not in values for values in meta.values())
    assert sorted(meta[RECORD_KEY]) == ["0", "1", "2", "3"]
    assert footers(table) == ABOUT_KEYS
    assert [*SCHEMA.names, *META_COLUMNS] == table.read(meta=True).schema.names


def files(path: Path) -> dict[str, bytes]:
    """The data files, with their bytes."""
    found = [p for p in path.rglob("*") if p.is_file() and ".hoodie/" not in str(p)]
    return {str(p): p.read_bytes() for p in found}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_enabled_on_an_existing_table_without_a_rewrite(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = create(tmp_path, table_type=kind, table_version=version)
    table.upsert(rows(range(6), "old", 1))
    old = files(tmp_path)
    names = {s.base_file.name for s in table.file_slices() if s.base_file}
    table.enable_virtual_keys()
    assert files(tmp_path) == old
    check(table, tmp_path, dict.fromkeys(range(6), "old"))
    table.upsert(rows([1, 7], "new", 2))  # in partition b only
    assert {name: data for name, data in files(tmp_path).items() if name in old} == old
    expected = {0: "old", 1: "new", 2: "old", 3: "old", 4: "old", 5: "old", 7: "new"}
    check(table, tmp_path, expected)
    # New files have no keys, of rows from before either, and say nothing of keys.
    if kind == MOR:
        table.compact()
    by_age: dict[bool, list[Any]] = {True: [], False: []}
    for slice_, file in zip(table.file_slices(), base_files(table), strict=True):
        assert slice_.base_file is not None
        by_age[slice_.base_file.name in names].append(file)
    assert len(by_age[True]) == len(by_age[False]) == 1
    (stayed,), (new,) = by_age[True], by_age[False]
    assert stayed.read().column(RECORD_KEY).null_count == 0
    assert new.read().column(RECORD_KEY).null_count == new.metadata.num_rows
    assert not ABOUT_KEYS & {k.decode() for k in new.metadata.metadata}
    assert {k.decode() for k in stayed.metadata.metadata} >= ABOUT_KEYS
    check(table, tmp_path, expected)
    table.enable_virtual_keys()  # again: nothing
    assert not table.verify().findings


@pytest.mark.parametrize("kind", KINDS)
def test_enabled_for_other_objects_of_the_table_too(tmp_path: Path, kind: str) -> None:
    """Those that are open already read and write by the new rule."""
    table = create(tmp_path, table_type=kind)
    table.upsert(rows(range(4), "a", 1))
    reader, writer = (hoodoo.open(str(tmp_path)) for _ in range(2))
    assert reader.read().count() == writer.read().count() == 4
    table.enable_virtual_keys()
    table.upsert(rows([0, 1, 9], "b", 2))
    expected = {0: "b", 1: "b", 2: "a", 3: "a", 9: "b"}
    assert ours(reader) == expected
    writer.upsert(rows([2, 10], "c", 3))
    check(table, tmp_path, {**expected, 2: "c", 10: "c"})
    assert not table.verify().findings


@pytest.mark.parametrize("version", VERSIONS)
def test_enabled_for_a_compaction_by_another_object(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, table_type=MOR, table_version=version)
    table.upsert(rows(range(4), "a", 1))
    other = hoodoo.open(str(tmp_path))
    other.schedule_compaction()
    table.enable_virtual_keys()
    table.upsert(rows([0, 1], "b", 2))
    other.compact()
    check(table, tmp_path, {0: "b", 1: "b", 2: "a", 3: "a"})
    assert not any(s.log_files for s in table.file_slices())


# --- stored keys are ignored, and a warning is logged ------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_stored_keys_are_ignored_with_one_warning(tmp_path: Path, kind: str) -> None:
    """Even where they are wrong: by them a row would be updated in the place of another one."""
    create(tmp_path, table_type=kind).upsert(rows(range(6), "old", 1))
    with told() as before:
        hoodoo.open(str(tmp_path)).read().to_arrow()
    assert not before
    hoodoo.open(str(tmp_path)).enable_virtual_keys()
    falsify(hoodoo.open(str(tmp_path)), lambda n: ["4", "0", "2"][n])
    table = hoodoo.open(str(tmp_path))
    with told() as warnings:
        for _ in range(3):
            table.read().to_arrow()
        table.upsert(rows([0, 1], "new", 2))
        expected = {i: "new" if i < 2 else "old" for i in range(6)}
        check(table, tmp_path, expected)
        table.delete([2])
        del expected[2]
        check(table, tmp_path, expected)
    (warning,) = warnings
    assert "older files with stored keys" in warning and "rewrite_keys" in warning
    if kind == MOR:
        table.compact()
        check(table, tmp_path, expected)
    table.rewrite_keys()
    with told() as after:
        assert ours(hoodoo.open(str(tmp_path))) == expected
    assert not after


def test_keys_that_columns_do_not_give_can_not_become_virtual(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.upsert(rows(range(4), "a", 1))
    falsify(table, lambda n: f"other{n}")
    table = hoodoo.open(table.path)
    before = dict(table.config.properties)
    for method in (table.enable_virtual_keys, table.rewrite_keys):
        with pytest.raises(ConfigError, match=r"'other0'.*columns give '\d': virtual keys would"):
            method()
    assert hoodoo.open(str(tmp_path)).config.properties == before


# --- columns that are not there, values that are null -------------------------------------------------
def test_a_missing_column_is_an_error(tmp_path: Path) -> None:
    for more in ({"record_key": "nope"}, {"record_key": None}):
        with pytest.raises(MissingColumnError, match="column nope"):
            create(tmp_path / "none", {**ON, COLUMNS: "nope"}, **more)
    assert not (tmp_path / "none").exists()
    table = create(tmp_path / "t", ON, record_key=["id", "k2"])
    table.upsert(rows(range(4), "a", 1))
    lacking = rows([1], "b", 2).drop_columns(["k2"])
    for write in (table.upsert, table.insert, table.bulk_insert, table.insert_overwrite):
        with pytest.raises(MissingColumnError, match="column k2"):
            write(lacking)
    # A file that lacks it, which no writer of ours has made: nobody could find its rows.
    table = without(tmp_path / "t", table, "k2")
    with pytest.raises(MissingColumnError, match="k2"):
        table.upsert(rows([1], "b", 2))
    assert len(table.timeline().writes()) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_an_error_for_readers_that_merge(tmp_path: Path, kind: str) -> None:
    table = create(tmp_path, ON, table_type=kind)
    table.upsert(rows(range(4), "a", 1))
    table.upsert(rows([1], "b", 2))
    table = without(tmp_path, table, "id")
    reads = (table.read(columns=["v"]).to_arrow, table.read().count, table.read().to_arrow)
    for read in reads:
        with pytest.raises(MissingColumnError, match=r"lacks (the column id|it\.)"):
            read()


def rewritten(
    path: Path, table: hoodoo.Table, change: Callable[[pa.Table], pa.Table]
) -> hoodoo.Table:
    """The table anew, with other rows in each base file, whose sizes its commits say."""
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        file = path / slice_.base_file.path
        pq.write_table(change(pq.read_table(file, partitioning=None)), file)
        restat(file)
    return hoodoo.open(table.path)


def without(path: Path, table: hoodoo.Table, column: str) -> hoodoo.Table:
    """No file has ``column``."""
    return rewritten(path, table, lambda found: found.drop_columns([column]))


def doctored(path: Path, table: hoodoo.Table, column: str, keep: int = 0) -> hoodoo.Table:
    """In each file ``column`` becomes null, but for the first ``keep`` rows."""

    def change(found: pa.Table) -> pa.Table:
        at = found.schema.get_field_index(column)
        values = found.column(at).to_pylist()
        less = [v if n < keep else None for n, v in enumerate(values)]
        field = found.schema.field(at).with_nullable(True)
        return found.set_column(at, field, pa.array(less, field.type))

    return rewritten(path, table, change)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [ON, HUDIS], ids=["rfc", "hudi"])
def test_null_in_a_key_column_is_an_error_for_readers(
    tmp_path: Path, options: dict[str, Any], kind: str
) -> None:
    """Such rows no writer of ours has made. Statistics show that others have no null: nothing more is read.
    Reads that merge say so, too."""
    table = create(tmp_path, options, table_type=kind)
    table.upsert(rows(range(4), "a", 1))
    table.upsert(rows([1], "b", 2))
    assert table.read(columns=["v"]).to_arrow().num_rows == 4
    table = doctored(tmp_path, table, "id", keep=1)
    reads = (table.read(columns=["v"]).to_arrow, table.read().count)
    for read in reads:
        with pytest.raises(NullKeyError, match=r"base file .*column 'id'.*is null.*Restore the"):
            read()


def test_null_in_one_of_several_key_columns_for_readers(tmp_path: Path) -> None:
    """COMPLEX makes a key of the others, as Hudi does; a concatenator needs all."""
    whole = create(tmp_path / "a", ON, record_key=["id", "k2"])
    joined = create(tmp_path / "b", {**ON, CONCATENATOR: "-"}, record_key=["id", "k2"])
    for table in (whole, joined):
        table.upsert(rows(range(4), "a", 1))
    whole = doctored(tmp_path / "a", whole, "k2")
    joined = doctored(tmp_path / "b", joined, "k2")
    assert whole.read().count() == 4
    with pytest.raises(NullKeyError, match="k2"):
        joined.read().count()
    whole = doctored(tmp_path / "a", whole, "id")
    with pytest.raises(NullKeyError, match="id"):
        whole.read(columns=["v"]).to_arrow()


def test_a_key_column_that_the_schema_lacks_is_an_error_for_readers(tmp_path: Path) -> None:
    table = create(tmp_path, ON)
    table.upsert(rows(range(4), "a", 1))
    text = (tmp_path / ".hoodie/hoodie.properties").read_text()
    lines = [x for x in text.splitlines() if not x.startswith("hoodie.table.checksum")]
    changed = [
        "hoodie.table.recordkey.fields=gone" if x.startswith("hoodie.table.recordkey") else x
        for x in lines
    ]
    (tmp_path / ".hoodie/hoodie.properties").write_text("\n".join(changed) + "\n")
    with pytest.raises(MissingColumnError, match="gone"):
        hoodoo.open(str(tmp_path)).read(columns=["v"])


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_readers_on_spark(tmp_path: Path, spark: Any) -> None:
    """Spark's own reader reads the files, and fails as ours does."""
    table = create(tmp_path / "a", ON)
    table.upsert(rows(range(4), "a", 1))
    frame = table.read(columns=["v"]).to_spark(spark)
    assert frame.count() == 4 and [r.v for r in frame.collect()] == ["a"] * 4
    table = doctored(tmp_path / "a", table, "id", keep=1)
    spark.catalog.clearCache()
    for query in (table.read(columns=["v"]), table.read(), table.read(columns=[])):
        with pytest.raises(Exception, match=r"record key, columns id: is null"):
            query.to_spark(spark).count()
    joined = create(tmp_path / "b", {**ON, CONCATENATOR: "-"}, record_key=["id", "k2"])
    joined.upsert(rows(range(4), "a", 1))
    joined = doctored(tmp_path / "b", joined, "k2", keep=1)
    with pytest.raises(Exception, match=r"record key, columns id, k2: is null"):
        joined.read(columns=["v"]).to_spark(spark).collect()
    whole = create(tmp_path / "c", HUDIS, record_key=["id", "k2"])
    whole.upsert(nulled("k2"))
    assert whole.read(columns=["v"]).to_spark(spark).count() == 3
    table = without(tmp_path / "a", table, "id")
    with pytest.raises(Exception, match="lacks the column id"):
        table.read(columns=["v"]).to_spark(spark).count()


def nulled(column: str) -> pa.Table:
    made = [{**r, column: None if r["id"] == 3 else r[column]}
            for r in rows([2, 3, 4], "x", 1).to_pylist()]  # fmt: skip
    return pa.Table.from_pylist(made, SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("between", [{}, {CONCATENATOR: "-"}])
def test_null_in_a_key_column_is_an_error(
    tmp_path: Path, between: dict[str, str], kind: str
) -> None:
    table = create(tmp_path, {**ON, **between}, record_key=["id", "k2"], table_type=kind)
    for name in ("id", "k2"):
        for write in (table.upsert, table.insert, table.append, table.bulk_insert,
                      table.insert_overwrite, table.delete):  # fmt: skip
            with pytest.raises(NullKeyError, match=f"(?s)key column {name}.*null in 1 of 3 rows"):
                write(nulled(name))
    assert table.read().count() == 0 and not table.timeline().writes()
    table.upsert(nulled("v"))
    assert table.read().count() == 3


def test_null_in_a_nested_key_column_is_an_error(tmp_path: Path) -> None:
    schema = pa.schema([("at", pa.struct([("no", pa.int64())])), ("id", pa.int64())])
    table = create(
        tmp_path, ON, schema=schema, record_key=["at.no", "id"], partition_by=(), ordering=()
    )
    for at in (None, {"no": None}):
        data = pa.Table.from_pylist([{"at": {"no": 1}, "id": 1}, {"at": at, "id": 2}], schema)
        with pytest.raises(NullKeyError, match=r"key column at\.no"):
            table.upsert(data)
    good = pa.Table.from_pylist([{"at": {"no": 1}, "id": 1}, {"at": {"no": 2}, "id": 1}], schema)
    table.upsert(good)
    table.upsert(good)
    assert table.read().count() == 2


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_nulls_by_hudis_rule_where_only_its_property_says_so(
    tmp_path: Path, kind: str, version: int
) -> None:
    """A part of a COMPLEX key may be null, as with keys that are stored."""
    table = create(tmp_path, HUDIS, record_key=["id", "k2"], table_type=kind, table_version=version)
    table.upsert(nulled("k2"))
    table.upsert(nulled("k2").set_column(2, "v", pa.array(["y"] * 3)))
    check(table, tmp_path, {2: "y", 3: "y", 4: "y"})
    with pytest.raises(NullKeyError):
        one = create(tmp_path / "one", HUDIS)
        one.upsert(nulled("id"))


def test_nulls_after_enabling(tmp_path: Path) -> None:
    """RFC-21's rule, which holds for what is written from then on; rows from before are still found."""
    table = create(tmp_path, record_key=["id", "k2"])
    table.upsert(nulled("k2"))
    table.enable_virtual_keys()
    with pytest.raises(NullKeyError):
        table.upsert(nulled("k2"))
    table.upsert(rows([2], "y", 2))
    assert ours(table) == {2: "y", 3: "x", 4: "x"}
    table.rewrite_keys()
    check(table, tmp_path, {2: "y", 3: "x", 4: "x"})


# --- settings that differ from the table's ------------------------------------------------------------
KEPT = {KEPT_META: COMMIT_TIME}
DIFFERING: list[tuple[dict[str, str], dict[str, str]]] = [
    (ON, {VIRTUAL: "false"}),
    (ON, {POPULATE: "true"}),
    (ON, {COLUMNS: "id"}),
    (ON, {COLUMNS: "k2,id"}),
    (ON, {CONCATENATOR: "-"}),
    (ON, {CLASS: "CONCATENATED"}),
    (ON, {KEPT_META: ""}),
    (ON, {KEPT_META: ",".join(META_COLUMNS)}),
    ({**ON, CONCATENATOR: "-"}, {CONCATENATOR: "+"}),
    ({**ON, KEPT_META: ""}, KEPT),
    ({}, ON),
    ({}, HUDIS),
    ({}, {CONCATENATOR: "-"}),
    ({}, KEPT),
    (HUDIS, ON),
    (HUDIS, KEPT),
    (HUDIS, {POPULATE: "true"}),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("table", "given"), DIFFERING)
def test_settings_that_differ_are_refused(
    tmp_path: Path, table: dict[str, str], given: dict[str, str], version: int
) -> None:
    create(tmp_path, table, record_key=["id", "k2"], table_version=version)
    (key,) = given
    with pytest.raises(OptionConflictError, match=key):
        hoodoo.open(str(tmp_path), given)


@pytest.mark.parametrize("version", VERSIONS)
def test_settings_that_the_table_has_are_accepted(tmp_path: Path, version: int) -> None:
    create(tmp_path / "a", ON, record_key=["id", "k2"], table_version=version)
    same = {**ON, COLUMNS: "id,k2", POPULATE: "false", CLASS: "COMPLEX", **KEPT}
    hoodoo.open(str(tmp_path / "a"), same).upsert(rows([1], "a", 1))
    between = {**ON, CONCATENATOR: "-"}
    create(tmp_path / "b", between, record_key=["id", "k2"], table_version=version)
    hoodoo.open(str(tmp_path / "b"), {**between, CLASS: "concatenated"})
    create(tmp_path / "c", HUDIS, table_version=version)
    hoodoo.open(str(tmp_path / "c"), {**HUDIS, VIRTUAL: "false"})


def test_settings_that_contradict_arguments_are_refused(tmp_path: Path) -> None:
    for options, more in (
        ({COLUMNS: "k2"}, {}),
        ({CLASS: "COMPLEX"}, {"key_generator": "SIMPLE"}),
        ({VIRTUAL: "false", POPULATE: "false"}, {}),
        ({POPULATE: "true"}, {}),
    ):
        with pytest.raises(OptionConflictError):
            create(tmp_path / "t", {**ON, **options}, **more)
    values = {COLUMNS: "id", CLASS: "COMPLEX"}
    for key in (COLUMNS, CONCATENATOR, CLASS, KEPT_META):
        with pytest.raises(ConfigError, match="keys of this table are stored"):
            create(tmp_path / "t", {key: values.get(key, COMMIT_TIME)})
    assert not (tmp_path / "t").exists()


# --- what keys are made of does not change ------------------------------------------------------------
NARROW = pa.schema([("id", pa.int32()), ("k2", pa.string()), ("v", pa.int32()), ("r", pa.int32())])
WIDE = {"id": pa.int64(), "v": pa.int64(), "r": pa.int64()}


def narrow(*without: str, **types: pa.DataType) -> pa.Table:
    made = [{"id": i, "k2": f"x{i}", "v": i, "r": i % 2} for i in range(3)]
    schema = pa.schema(
        [f.with_type(types.get(f.name, f.type)) for f in NARROW if f.name not in without]
    )
    return pa.Table.from_pylist(made, schema)


@pytest.mark.parametrize("enabled_later", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_key_and_partition_columns_stay_as_they_are(
    tmp_path: Path, kind: str, enabled_later: bool
) -> None:
    table = create(
        tmp_path, {} if enabled_later else ON, schema=NARROW, record_key=["id", "k2"],
        partition_by="r", ordering=(), table_type=kind,
    )  # fmt: skip
    if enabled_later:
        table.enable_virtual_keys()
    table.upsert(narrow())
    for name in ("id", "r"):  # widened
        with pytest.raises((SchemaError, ConfigError), match=name):
            table.upsert(narrow(**{name: WIDE[name]}))
    for name in ("id", "k2", "r"):  # dropped
        with pytest.raises(MissingColumnError, match=name):
            table.upsert(narrow(name))
    # Added: columns of the key are said once. A column that comes later is none of them.
    with pytest.raises(OptionConflictError):
        hoodoo.open(str(tmp_path), {COLUMNS: "id,k2,later"})
    with pytest.raises(OptionConflictError):
        hoodoo.open(str(tmp_path), {"hoodie.datasource.write.partitionpath.field": "r,later"})
    assert len(table.timeline().writes()) == 1
    assert table.schema == NARROW
    later = narrow(v=WIDE["v"]).append_column("later", pa.array(["a", "b", "c"]))
    table.upsert(later, add_columns=True)
    found = table.read().to_arrow()
    assert found.num_rows == 3 and found.schema.field("v").type == pa.int64()
    assert found.column("later").null_count == 0


# --- which keys can be virtual ------------------------------------------------------------------------
TIMES = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy",
}
UNABLE: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "TIMESTAMP": ({"key_generator": "TIMESTAMP", "partition_by": "ts"}, TIMES),
    "CUSTOM": ({"partition_by": "region:SIMPLE"}, {}),
    "generated": ({"record_key": None}, {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNABLE)
def test_generators_that_can_not_be_virtual(tmp_path: Path, name: str, kind: str) -> None:
    more, options = UNABLE[name]
    if name == "generated":
        more = {**more, "ordering": ()}
    why = "no key columns" if name == "generated" else "can't make virtual keys"
    for virtual in (ON, HUDIS):
        with pytest.raises(ConfigError, match=why):
            create(tmp_path / "new", {**options, **virtual}, table_type=kind, **more)
    assert not (tmp_path / "new").exists()
    table = create(tmp_path / "t", options, table_type=kind, **more)
    table.insert(rows(range(3), "a", 1))
    for method in (table.enable_virtual_keys, table.rewrite_keys):
        with pytest.raises(ConfigError, match=why):
            method()
    assert hoodoo.open(str(tmp_path / "t")).config.populate_meta_fields


BY_HOODOO = {"hoodoo.recordkey.virtual.by.hoodoo": "true"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["TIMESTAMP", "CUSTOM", "CUSTOM of times"])
def test_generators_that_can_be_virtual_by_an_option(
    tmp_path: Path, name: str, kind: str, version: int
) -> None:
    """The record key is a plain column; the partition path is that of the file."""
    more, options = {**UNABLE, "CUSTOM of times": ({"partition_by": "ts:TIMESTAMP"}, TIMES)}[name]
    made = {**options, **BY_HOODOO, **(ON if version == 9 else HUDIS)}
    table = create(tmp_path / "t", made, table_type=kind, table_version=version, **more)
    lived(table, tmp_path / "t")
    old = create(tmp_path / "old", options, table_type=kind, table_version=version, **more)
    old.upsert(rows(range(6), "a", 1))
    hoodoo.open(old.path, BY_HOODOO).rewrite_keys()
    lived(hoodoo.open(old.path), tmp_path / "old")


def lived(table: hoodoo.Table, path: Path) -> None:
    def seen(rows: dict[int, str]) -> None:
        if table.config.has_partition_types:  # which ``hudi`` does not read, whatever the keys
            assert ours(hoodoo.open(table.path)) == rows
        else:
            check(hoodoo.open(table.path), path, rows)

    table.upsert(rows(range(6), "b", 1))
    again = hoodoo.open(table.path)
    again.upsert(rows([0, 1, 9], "c", 1))
    again.delete([2])
    expected = {**dict.fromkeys(range(6), "b"), 0: "c", 1: "c", 9: "c"}
    del expected[2]
    seen(expected)
    if again.config.table_type == MOR:
        again.compact()
    again.cluster()
    again.upsert(rows([9], "d", 2))
    seen({**expected, 9: "d"})
    assert set(stored(again)[RECORD_KEY]) == {None}
    assert again.verify().ok


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_generators_by_an_option_on_spark(tmp_path: Path, kind: str, spark: Any) -> None:
    more, options = UNABLE["TIMESTAMP"]
    table = create(
        tmp_path, {**options, **BY_HOODOO, **ON}, table_type=kind, engine="spark", **more
    )
    table.upsert(rows(range(6), "b", 1))
    table.upsert(rows([0, 9], "c", 1))
    found = table.read(columns=["id", "v"]).to_spark(spark).collect()
    expected = {**dict.fromkeys(range(6), "b"), 0: "c", 9: "c"}
    assert {r.id: r.v for r in found} == expected and len(found) == 7
    check(hoodoo.open(table.path), tmp_path, expected)


# --- columns, concatenator, class ---------------------------------------------------------------------
def test_columns_may_be_said_by_the_rfcs_setting(tmp_path: Path) -> None:
    table = create(tmp_path, {**ON, COLUMNS: "id, k2"}, record_key=None)
    assert table.config.record_key_fields == ("id", "k2")
    table.upsert(rows(range(3), "a", 1))
    table.upsert(rows(range(3), "b", 2))
    check(table, tmp_path, dict.fromkeys(range(3), "b"))
    assert COLUMNS not in table.config.properties  # Hudi's property says it


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_made_again_with_the_new_settings(tmp_path: Path, kind: str) -> None:
    """RFC-21's other way to rewrite old data. Nothing of the old table's keys comes along."""
    old = create(tmp_path / "old", table_type=kind)
    old.upsert(rows(range(6), "a", 1))
    old.upsert(rows([1, 2], "b", 2))
    made = create(tmp_path / "new", ON, table_type=kind)
    made.bulk_insert(old.read().to_arrow())
    assert set(stored(made)[RECORD_KEY]) == {None} and not ABOUT_KEYS & footers(made)
    expected = {0: "a", 1: "b", 2: "b", 3: "a", 4: "a", 5: "a"}
    check(made, tmp_path / "new", expected)
    assert hoodoo.open(made.path).upsert(rows([5], "c", 3)).updated == 1
    check(made, tmp_path / "new", {**expected, 5: "c"})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_concatenator_is_kept_and_used(tmp_path: Path, kind: str, version: int) -> None:
    table = create(
        tmp_path, {**ON, CONCATENATOR: "::"}, record_key=["id", "k2"], table_type=kind,
        table_version=version, index="global_simple",
    )  # fmt: skip
    # As a class: of a type that it does not know Spark could not read the table.
    assert table.config.properties["hoodie.table.keygenerator.class"] == "CONCATENATED"
    assert "hoodie.table.keygenerator.type" not in table.config.properties
    assert table.config.properties[CONCATENATOR] == "::"
    for text in ("a", "b"):
        again = hoodoo.open(str(tmp_path))
        again.upsert(rows(range(4), text, 1))
    assert ours(again) == dict.fromkeys(range(4), "b")
    again.delete(rows([1], "", 1).select(["id", "k2"]))
    assert ours(again) == dict.fromkeys([0, 2, 3], "b")
    if kind == MOR:
        again.compact()
        assert ours(again) == dict.fromkeys([0, 2, 3], "b")
    with pytest.raises(DataError, match="'::'"):
        turned = create(tmp_path / "o", {**ON, CONCATENATOR: "::"}, record_key=["k2", "id"])
        turned.upsert(rows([1], "a", 1).set_column(1, "k2", pa.array(["x::1"])))
    assert not again.verify().findings


def test_rows_of_a_table_with_a_concatenator_are_read_by_others(tmp_path: Path) -> None:
    """Copied on write: nothing has to be merged by key."""
    table = create(tmp_path, {**ON, CONCATENATOR: "-"}, record_key=["id", "k2"])
    table.upsert(rows(range(4), "a", 1))
    table.upsert(rows([1], "b", 2))
    check(table, tmp_path, {0: "a", 1: "b", 2: "a", 3: "a"})


def test_a_concatenator_of_one_column_changes_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, {**ON, CONCATENATOR: "-"})
    assert table.config.properties["hoodie.table.keygenerator.type"] == "SIMPLE"
    table.upsert(rows(range(3), "a", 1))
    table.upsert(rows(range(3), "b", 1))
    check(table, tmp_path, dict.fromkeys(range(3), "b"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["COMPLEX", "org.apache.hudi.keygen.ComplexKeyGenerator"])
def test_the_class_is_a_key_generator(tmp_path: Path, name: str, version: int) -> None:
    options = {**ON, CLASS: name, COLUMNS: "id"}
    if version == 6:
        options["hoodie.write.complex.keygen.new.encoding"] = "false"
    table = create(tmp_path, options, record_key=None, table_version=version)
    properties = table.config.properties
    if version == 9:
        assert properties["hoodie.table.keygenerator.type"] == "COMPLEX"
    else:
        assert properties["hoodie.table.keygenerator.class"].endswith(".ComplexKeyGenerator")
    assert CLASS not in properties
    for text in ("a", "b"):
        hoodoo.open(str(tmp_path)).upsert(rows(range(3), text, 1))
    check(table, tmp_path, dict.fromkeys(range(3), "b"))


def test_a_class_that_nobody_offers(tmp_path: Path) -> None:
    with pytest.raises(HoodooError, match=r"com\.uber\.marmaray\.SimpleRecordKey"):
        create(tmp_path / "t", {**ON, CLASS: "com.uber.marmaray.SimpleRecordKey"})
    assert not (tmp_path / "t").exists()
    assert create(tmp_path / "o", ON, table_type=COW).config.get(VIRTUAL) == "true"

"""``create`` takes what a Spark job hands to ``df.write.format("hudi").options(...)``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import (
    ConfigError,
    HoodooWarning,
    MissingColumnError,
    OptionConflictError,
    PluginError,
    UnsupportedTableError,
)

pytestmark = pytest.mark.sampled(4)

WRITE = "hoodie.datasource.write."
KEYGEN, MODEL = "org.apache.hudi.keygen.", "org.apache.hudi.common.model."
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()), ("uuid", pa.string()), ("rider", pa.string()), ("fare", pa.float64()),
        ("city", pa.string()),
    ]
)  # fmt: skip
ROWS = pa.table([[5, 5], ["a", "b"], ["r1", "r2"], [1.5, 2.5], ["rome", "oslo"]], schema=SCHEMA)
# With what the quickstart of Hudi has besides: of no effect here, and no error.
QUICKSTART: dict[str, Any] = {
    "hoodie.table.name": "trips",
    f"{WRITE}recordkey.field": "uuid",
    f"{WRITE}partitionpath.field": "city",
    f"{WRITE}table.name": "trips",
    f"{WRITE}operation": "upsert",
    f"{WRITE}precombine.field": "ts",
}
DATES = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}


def create(path: Path, options: dict[str, Any], **more: Any) -> Any:
    return hoodoo.create(str(path / "t"), SCHEMA, options=options, **more)


@pytest.mark.parametrize("version", [None, "9", "6"])
@pytest.mark.parametrize("kind", [None, "COPY_ON_WRITE", "MERGE_ON_READ"])
def test_fault_a9_the_quickstart(tmp_path: Path, version: str | None, kind: str | None) -> None:
    options = dict(QUICKSTART)
    if version is not None:
        options["hoodie.write.table.version"] = version
    if kind is not None:
        options[f"{WRITE}table.type"] = kind
    table = create(tmp_path, options)
    config = table.config
    assert (config.name, config.version) == ("trips", int(version or 9))
    assert config.record_key_fields == ("uuid",) and config.partition_fields == ("city",)
    assert config.ordering_fields == ("ts",) and config.table_type == (kind or "COPY_ON_WRITE")
    table.upsert(ROWS)
    assert table.upsert(ROWS).updated == 2
    late = ROWS.set_column(0, "ts", pa.array([4, 6])).set_column(3, "fare", pa.array([0.0, 0.0]))
    hoodoo.open(table.path, options).upsert(late)  # the job hands it over each time
    found = hoodoo.open(table.path).read(["uuid", "fare"]).to_arrow().to_pylist()
    assert sorted(map(tuple, (row.values() for row in found))) == [("a", 1.5), ("b", 0.0)]


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    with pytest.warns(HoodooWarning, match="shuffle.parallelism"):
        create(tmp_path, {**QUICKSTART, "hoodie.upsert.shuffle.parallelism": 2})


def test_other_numbers_of_buckets_by_partition_path_are_refused(tmp_path: Path) -> None:
    """A writer that counts buckets otherwise than the one before puts keys in twice."""
    name, bucket = "hoodie.bucket.index.partition.expressions", {"hoodie.index.type": "BUCKET"}
    table = create(tmp_path, {**QUICKSTART, **bucket, name: "rome,8;oslo,2"})
    assert hoodoo.open(table.path, {name: "rome,8;oslo,2"}).upsert(ROWS).inserted == 2
    with pytest.raises(OptionConflictError, match="partition.expressions"):
        hoodoo.open(table.path, {name: "rome,8;oslo,3"}).upsert(ROWS)
    with pytest.raises(ConfigError, match="a rule is `regex,number`"):
        hoodoo.open(table.path, {name: "rome=8"}).upsert(ROWS)


def test_the_parser_of_times_by_its_older_name(tmp_path: Path) -> None:
    parser = "org.apache.hudi.keygen.parser.HoodieDateTimeParser"
    old = {**QUICKSTART, "hoodie.deltastreamer.keygen.datetime.parser.class": parser}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            create(tmp_path, old).config.properties["hoodie.keygen.datetime.parser.class"] == parser
        )


LEGACY = "hoodie.table.legacy.payload.class"
SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "properties": (
        {
            "hoodie.table.name": "t", "hoodie.table.recordkey.fields": "uuid, rider",
            "hoodie.table.partition.fields": "city", "hoodie.table.ordering.fields": "ts,fare",
            "hoodie.table.type": "MERGE_ON_READ", "hoodie.table.version": "9",
        },
        {
            "record_key": ["uuid", "rider"], "partition_by": "city", "ordering": ["ts", "fare"],
            "table_type": "MERGE_ON_READ", "table_version": 9,
        },
    ),
    "older names": (
        {
            f"{WRITE}recordkey.field": "uuid", "hoodie.table.precombine.field": "ts",
            f"{WRITE}storage.type": "MERGE_ON_READ", f"{WRITE}partitionpath.field": "",
        },
        {"record_key": "uuid", "ordering": "ts", "table_type": "MERGE_ON_READ"},
    ),
    "generator by class": (
        {f"{WRITE}recordkey.field": "uuid", f"{WRITE}keygenerator.class": KEYGEN + "ComplexKeyGenerator",
         f"{WRITE}partitionpath.field": "city", f"{WRITE}hive_style_partitioning": "true"},
        {"record_key": "uuid", "partition_by": "city", "key_generator": "COMPLEX",
         "options": {f"{WRITE}hive_style_partitioning": True}},
    ),
    "generator by type": (
        {f"{WRITE}recordkey.field": "uuid", "hoodie.table.keygenerator.type": "complex",
         f"{WRITE}partitionpath.field": "city"},
        {"record_key": "uuid", "partition_by": "city", "key_generator": "COMPLEX"},
    ),
    "custom": (
        {f"{WRITE}recordkey.field": "uuid", f"{WRITE}partitionpath.field": "city:SIMPLE,ts:TIMESTAMP",
         f"{WRITE}keygenerator.class": KEYGEN + "CustomKeyGenerator", **DATES},
        {"record_key": "uuid", "partition_by": ["city:SIMPLE", "ts:TIMESTAMP"], "options": DATES},
    ),
    "custom in version 6": (
        {f"{WRITE}recordkey.field": "uuid", f"{WRITE}partitionpath.field": "city:SIMPLE,ts:TIMESTAMP",
         "hoodie.write.table.version": "6", f"{WRITE}keygenerator.class": KEYGEN + "CustomKeyGenerator",
         **DATES},
        {"record_key": "uuid", "partition_by": ["city:SIMPLE", "ts:TIMESTAMP"], "table_version": 6,
         "options": DATES},
    ),
    "payload": (
        {f"{WRITE}recordkey.field": "uuid", f"{WRITE}precombine.field": "ts",
         f"{WRITE}payload.class": MODEL + "OverwriteWithLatestAvroPayload"},
        {"record_key": "uuid", "ordering": "ts", "merger": "commit_time"},
    ),
    "mode": (
        {f"{WRITE}recordkey.field": "uuid", f"{WRITE}precombine.field": "ts",
         "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
        {"record_key": "uuid", "ordering": "ts", "merger": "commit_time"},
    ),
    "index": (
        {f"{WRITE}recordkey.field": "uuid", "hoodie.index.type": "BUCKET",
         "hoodie.bucket.index.num.buckets": 4},
        {"record_key": "uuid", "index": "bucket", "options": {"hoodie.bucket.index.num.buckets": 4}},
    ),
    "virtual keys": (
        {f"{WRITE}recordkey.field": "uuid", "hoodie.populate.meta.fields": "false"},
        {"record_key": "uuid", "options": {"hoodie.populate.meta.fields": False}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_fault_a9_options_make_the_table_that_arguments_make(tmp_path: Path, name: str) -> None:
    """Alone, and together with arguments that say the same."""
    options, arguments = SAME[name]
    if f"{WRITE}payload.class" in options:  # the table notes the class that was named, as Hudi's do
        arguments = {**arguments, "options": {LEGACY: options[f"{WRITE}payload.class"]}}
    wanted = create(tmp_path / "a", **{"options": {}, **arguments}).config.properties
    assert create(tmp_path / "o", options).config.properties == wanted
    both = {**arguments, "options": {**arguments.get("options", {}), **options}}
    table = create(tmp_path / "b", **both)
    assert table.config.properties == wanted
    table.upsert(ROWS)
    assert hoodoo.open(table.path, options).upsert(ROWS).updated == 2


AGAINST: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({f"{WRITE}recordkey.field": "uuid"}, {"record_key": "rider"}, "uuid", "record_key=rider"),
    ({f"{WRITE}partitionpath.field": "city"}, {"partition_by": "rider"}, "city", "partition_by=rider"),
    ({f"{WRITE}partitionpath.field": "city:SIMPLE"}, {"partition_by": "city:TIMESTAMP"}, "SIMPLE", "TIMEST"),
    ({f"{WRITE}precombine.field": "ts"}, {"ordering": "fare"}, "ts", "ordering=fare"),
    ({f"{WRITE}table.type": "MERGE_ON_READ"}, {"table_type": "COPY_ON_WRITE"}, "MERGE", "table_type=COPY"),
    ({"hoodie.write.table.version": 6}, {"table_version": 9}, "6", "table_version=9"),
    ({"hoodie.table.name": "one"}, {"name": "two"}, "one", "name=two"),
    ({f"{WRITE}keygenerator.class": KEYGEN + "SimpleKeyGenerator"}, {"key_generator": "COMPLEX"},
     "SimpleKey", "key_generator=COMPLEX"),
    ({"hoodie.index.type": "BLOOM"}, {"index": "simple"}, "BLOOM", "index=simple"),
    ({f"{WRITE}payload.class": MODEL + "DefaultHoodieRecordPayload"}, {"merger": "commit_time"},
     "DefaultHoodie", "merger=commit_time"),
    ({"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}, {"merger": "commit_time"}, "EVENT", "merger=commit"),
    # Two options of one dictionary.
    ({f"{WRITE}recordkey.field": "uuid", "hoodie.table.recordkey.fields": "rider"}, {}, "uuid", "rider"),
    ({f"{WRITE}precombine.field": "ts", "hoodie.table.ordering.fields": "fare"}, {}, "ts", "fare"),
    ({f"{WRITE}table.name": "one", "hoodie.table.name": "two"}, {}, "one", "two"),
    ({f"{WRITE}keygenerator.class": KEYGEN + "SimpleKeyGenerator", f"{WRITE}keygenerator.type": "COMPLEX"},
     {}, "SimpleKey", "COMPLEX"),
    ({f"{WRITE}payload.class": MODEL + "DefaultHoodieRecordPayload", f"{WRITE}precombine.field": "ts",
      "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}, {}, "DefaultHoodie", "COMMIT_TIME"),
    ({"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
      "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}, {}, "COMMIT_TIME", "EVENT_TIME"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "arguments", "one", "other"), AGAINST)
def test_fault_a9_what_is_said_twice_is_equal(
    tmp_path: Path, options: dict[str, Any], arguments: dict[str, Any], one: str, other: str
) -> None:
    more = {"record_key": "uuid"} if not any("recordkey" in key for key in options) else {}
    with pytest.raises(OptionConflictError) as caught:
        create(tmp_path, options, **{**more, "ordering": "ts", **arguments}
               if not any("ordering" in k or "precombine" in k for k in options) else {**more, **arguments})  # fmt: skip
    message = str(caught.value)
    assert one in message and other in message
    assert any(key in message for key in options)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({f"{WRITE}recordkey.field": "gone"}, MissingColumnError),
        ({f"{WRITE}table.type": "BOTH"}, ConfigError),
        ({"hoodie.write.table.version": "nine"}, ConfigError),
        ({"hoodie.write.table.version": "7"}, UnsupportedTableError),
        ({f"{WRITE}payload.class": "org.acme.Payload"}, PluginError),
        ({f"{WRITE}keygenerator.class": "org.acme.Keys"}, PluginError),
        ({f"{WRITE}drop.partition.columns": "true"}, UnsupportedTableError),
    ],
)
def test_options_that_can_not_be_followed(
    tmp_path: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        create(tmp_path, {f"{WRITE}recordkey.field": "uuid", **options})
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("name", ["HBASE", "INMEMORY", "FLINK_STATE"])
def test_indexes_outside_of_the_table_are_refused(tmp_path: Path, name: str) -> None:
    """The message says which there are. Nothing is made."""
    with pytest.raises(ConfigError, match=rf"hoodie\.index\.type.*not '{name}'") as caught:
        create(tmp_path, {**QUICKSTART, "hoodie.index.type": name})
    assert "record_index" in caught.value.fix and "global_simple" in caught.value.fix
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("names", ["city,region", "city, region"])
def test_columns_between_commas_are_several(tmp_path: Path, names: str) -> None:
    """As the options of Hudi have them: no column of a table can have a comma in its name."""
    schema = pa.schema([(name, pa.string()) for name in ("id", "city", "region", "a", "b")])
    texts = hoodoo.create(
        str(tmp_path / "texts"), schema, name="t", record_key="id,city", partition_by=names, ordering="a,b"
    )  # fmt: skip
    lists = hoodoo.create(
        str(tmp_path / "lists"), schema, name="t", record_key=["id", "city"], partition_by=["city", "region"],
        ordering=["a", "b"],
    )  # fmt: skip
    assert texts.handle.config.properties == lists.handle.config.properties
    with pytest.raises(MissingColumnError):
        hoodoo.create(str(tmp_path / "none"), schema, record_key="")

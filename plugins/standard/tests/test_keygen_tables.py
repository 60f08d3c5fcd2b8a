"""Tables with each kind of key generator: made, written, found again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.timeline import properties
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage

T = "hoodie.keygen.timebased."
TIMES = {T + "timestamp.type": "UNIX_TIMESTAMP", T + "output.dateformat": "yyyy/MM/dd"}
ENCODING = "hoodie.write.complex.keygen.new.encoding"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("ts", pa.int64()),
        ("at", pa.struct([("day", pa.int32())])),
        ("n", pa.int64()),
    ]
)
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]

rows = Maker(
    SCHEMA, "n", "city", n=0, city="a", ts=lambda i: i * 86_400, at=lambda i: {"day": i % 2}
)


def create(path: Path, partition_by: Any, **more: Any) -> hoodoo.Table:
    given = {"record_key": "id", "partition_by": partition_by, **more}
    return hoodoo.create(str(path / "t"), SCHEMA, **given)


def where(table: hoodoo.Table) -> dict[str, str]:
    """Record key -> partition path; fails where a key occurs twice."""
    found = table.read(columns=[RECORD_KEY, PARTITION_PATH]).to_arrow()
    keys = found.column(RECORD_KEY).to_pylist()
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, found.column(PARTITION_PATH).to_pylist(), strict=True))


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_timestamp(tmp_path: Path, version: int, kind: str) -> None:
    table = create(
        tmp_path, "ts", key_generator="TIMESTAMP", table_version=version, table_type=kind,
        options=TIMES,
    )  # fmt: skip
    stored = table.config.properties
    assert {**stored, **TIMES} == dict(stored)
    assert stored[T + "output.timezone"] == "UTC"
    name = stored.get("hoodie.table.keygenerator.type") or stored["hoodie.table.keygenerator.class"]
    assert name in ("TIMESTAMP", "org.apache.hudi.keygen.TimestampBasedKeyGenerator")
    table.upsert(rows(range(3)))
    again = hoodoo.open(table.path, options={T + "timestamp.type": "UNIX_TIMESTAMP"})
    again.upsert(rows([1, 3], n=1))
    again.delete(rows([0]))
    assert where(again) == {"1": "1970/01/02", "2": "1970/01/03", "3": "1970/01/04"}
    late = again.read(columns=["id", "n"], where=pc.field("ts") > 86_400).to_arrow()
    assert sorted(late.column("id").to_pylist()) == [2, 3]
    with pytest.raises(OptionConflictError, match="EPOCHMILLISECONDS"):
        hoodoo.open(table.path, options={T + "timestamp.type": "EPOCHMILLISECONDS"})
    with pytest.raises(OptionConflictError, match="output.timezone"):
        hoodoo.open(table.path, options={T + "output.timezone": "Asia/Tokyo"})


def test_what_is_wrong_with_times_is_told_before_a_table_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="output.dateformat"):
        create(tmp_path, "ts", key_generator="TIMESTAMP", options={T + "timestamp.type": "MIXED"})
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("version", [6, 9])
def test_custom(tmp_path: Path, version: int) -> None:
    spec = ["city:SIMPLE", "ts:TIMESTAMP", "at.day:SIMPLE"]
    table = create(tmp_path, spec, table_version=version, options=TIMES)  # CUSTOM is inferred
    names, types = "city,ts,at.day", ",".join(spec)
    assert table.config.get("hoodie.table.partition.fields") == (names if version == 6 else types)
    assert table.config.get("hoodoo.partition.types") == (types if version == 6 else None)
    assert table.config.partition_fields == ("city", "ts", "at.day")
    table.upsert(rows(range(2)))
    again = hoodoo.open(table.path)
    again.upsert(rows([5], city="b"))
    again.upsert(rows([1], n=7))
    assert where(again) == {"0": "a/1970/01/01/0", "1": "a/1970/01/02/1", "5": "b/1970/01/06/1"}
    scan = again.read(columns=["id"], where=pc.field("city") == "b")
    assert scan.plan.pruned_by_partition == 2 and scan.to_arrow().column("id").to_pylist() == [5]
    with pytest.raises(ConfigError, match="have types, which COMPLEX has no use for"):
        create(tmp_path / "x", spec, key_generator="COMPLEX", options=TIMES)
    with pytest.raises(ConfigError, match="have no types"):
        create(tmp_path / "y", ["city", "ts"], key_generator="CUSTOM", options=TIMES)


@pytest.mark.parametrize("version", [6, 9])
def test_services_make_no_paths(tmp_path: Path, version: int) -> None:
    """Spark Hudi notes no settings of the times of CUSTOM, and in version 6 no types: only what
    makes paths asks for them."""
    table = create(
        tmp_path, ["city:SIMPLE", "ts:TIMESTAMP"], options=TIMES, table_type="MERGE_ON_READ",
        table_version=version,
    )  # fmt: skip
    table.upsert(rows(range(4)))
    table.upsert(rows([1], n=7))
    settings = [key for key in table.config.properties if "timebased" in key or "types" in key]
    properties.update(LocalStorage(table.path), table.config, dict.fromkeys(settings))
    untold = hoodoo.open(table.path)
    before = untold.to_arrow().sort_by("id")
    for write in (untold.upsert, untold.delete, untold.insert_overwrite):
        with pytest.raises(ConfigError, match="have no types" if version == 6 else "does not say"):
            write(rows([1]))
    assert not untold.timeline().pending()
    assert untold.compact().files
    assert untold.cluster("single_file", columns="n").files
    assert untold.verify().ok and untold.to_arrow().sort_by("id") == before
    types = {"hoodie.datasource.write.partitionpath.field": "city:SIMPLE,ts:TIMESTAMP"}
    assert hoodoo.open(table.path, {**TIMES, **types}).upsert(rows([1], n=8)).updated == 1


def test_dates_as_three_directories(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    key = "hoodie.datasource.write.slash.separated.date.partitioning"
    table = hoodoo.create(
        str(tmp_path), schema, record_key="id", partition_by="day", options={key: "true"}
    )
    days = pa.table({"id": [1, 2], "day": pa.array([19_000, None], pa.date32())}, schema)
    table.upsert(days)
    again = hoodoo.open(str(tmp_path))
    again.upsert(days)
    assert where(again) == {"1": "2022/01/08", "2": "__HIVE_DEFAULT_PARTITION__"}
    scan = again.read(where=pc.field("day") == pa.scalar(19_000, pa.date32()))
    assert scan.count() == 1
    other = again.read(where=pc.field("day") == pa.scalar(1, pa.date32()))
    assert other.plan.pruned_by_partition == 2  # the value names its path: null is in another one


# --- generated keys -----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_generated_keys(tmp_path: Path, kind: str) -> None:
    table = create(tmp_path, "city", record_key=None, table_type=kind)
    assert table.config.record_key_fields == ()
    assert table.config.key_generator == "SIMPLE"
    same = rows([1, 1, 1])
    commits = [table.insert(same), table.append(same), table.bulk_insert(same)]
    keys = where(table)
    assert len(keys) == 9
    made = Counter(key.split("_")[0] for key in keys)
    assert made == {commit.instant: 3 for commit in commits}
    for write in (table.upsert, table.delete):
        with pytest.raises(ConfigError, match="looks for rows by key"):
            write(same)
    table.insert_overwrite(rows([2]))
    assert len(where(table)) == 1


def test_no_generated_keys_beside_others(tmp_path: Path) -> None:
    table = create(tmp_path, "city")
    table.upsert(rows([1]))
    properties.update(
        LocalStorage(table.path), table.config, {"hoodie.table.recordkey.fields": None}
    )
    with pytest.raises(ConfigError, match="'1', which was made of columns"):
        hoodoo.open(table.path).insert(rows([2]))


# --- COMPLEX keys of one column ---------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bare", ["true", "false"])
def test_a_table_that_does_not_say_the_form_of_its_keys(
    tmp_path: Path, kind: str, bare: str
) -> None:
    """Upserting the same keys never changes the row count."""
    table = create(
        tmp_path, "city", key_generator="COMPLEX", table_version=6, table_type=kind,
        options={ENCODING: bare},
    )  # fmt: skip
    assert table.config.get(ENCODING) == bare
    properties.update(LocalStorage(table.path), table.config, {ENCODING: None})
    with pytest.raises(ConfigError, match="id:value, true for the bare value"):
        hoodoo.open(table.path).upsert(rows(range(3)))
    assert hoodoo.open(table.path).read().count() == 0
    hoodoo.open(table.path, options={ENCODING: bare}).upsert(rows(range(3)))
    wanted = {("" if bare == "true" else "id:") + str(i) for i in range(3)}
    assert set(where(table)) == wanted
    hoodoo.open(table.path).upsert(rows(range(3), n=1))
    assert set(where(table)) == wanted
    hoodoo.open(table.path).delete([1])
    assert len(where(table)) == 2
    other = {"true": "false", "false": "true"}[bare]
    with pytest.raises(OptionConflictError, match="contradicts the table, which has the key"):
        hoodoo.open(table.path, options={ENCODING: other}).upsert(rows(range(3)))


def test_the_form_is_a_property_where_the_version_does_not_tell(tmp_path: Path) -> None:
    old = create(tmp_path / "6", "city", key_generator="COMPLEX", table_version=6)
    assert old.config.get(ENCODING) == "false"
    with pytest.raises(OptionConflictError, match=ENCODING):
        hoodoo.open(old.path, options={ENCODING: "true"})
    new = create(tmp_path / "9", "city", key_generator="COMPLEX")
    assert new.config.get(ENCODING) is None
    new.upsert(rows([7]))
    assert set(where(new)) == {"id:7"}


# --- GLOBAL_DELETE --------------------------------------------------------------------------------
def test_global_delete(tmp_path: Path) -> None:
    table = create(tmp_path, ["city", "n"])  # COMPLEX: its key of one column has the same form
    table.upsert(rows([1, 2]))
    table.upsert(rows([3], city="b"))
    with pytest.raises(
        ConfigError, match="the index simple looks for keys only in their partition path"
    ):
        hoodoo.open(table.path, key_generator="GLOBAL_DELETE").delete([1])
    deleting = hoodoo.open(table.path, key_generator="GLOBAL_DELETE", index="global_simple")
    deleting.delete([1, 3])
    assert set(where(table)) == {"id:2"}
    with pytest.raises(ConfigError, match="is for deletes"):
        deleting.upsert(rows([4]))
    with pytest.raises(ConfigError, match="no table can be filled with it"):
        create(tmp_path / "x", "city", key_generator="GLOBAL_DELETE")

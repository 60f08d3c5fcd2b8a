"""Feeding a table from a folder of files."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define
from folders import config, fed, ids, put, put_text, writes
from hoodoo.errors import ConfigError, DataError, PluginError, SchemaError, StorageError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_ingest.checkpoint import HUDI_KEYS, OWN_KEY
from hoodoo_ingest.config import read_config
from hoodoo_ingest.hookspecs.source import Around, Position
from hoodoo_ingest.run import Ingestion
from hoodoo_ingest.sources import files
from hoodoo_ingest.testing.source import SourceContract

NOW = time.time() - 10_000
SCHEMA = """{"type": "record", "name": "ride", "fields": [
  {"name": "id", "type": "long"},
  {"name": "city", "type": ["null", "string"]},
  {"name": "fare", "type": ["null", "double"]},
  {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}]}"""


class TestFiles(SourceContract):
    @pytest.fixture
    def source(self) -> str:
        return "files"

    def given(self, folder: Path) -> Mapping[str, Any]:
        (folder / "in").mkdir()
        return {"path": str(folder / "in")}

    def add(self, folder: Path, ids: Sequence[int]) -> None:
        put(folder, f"{ids[0]}.jsonl", [{"id": one} for one in ids])


def test_rounds_and_no_news(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    (first,) = fed(config(tmp_path))
    assert (first.number, first.count, first.commit.inserted) == (1, 1, 2)
    assert fed(config(tmp_path)) == [] and writes(tmp_path) == 1
    put(tmp_path, "sub/2.json", [{"id": 1, "v": "c"}])
    put(tmp_path, "_hidden.jsonl", [{"id": 3}])
    put(tmp_path, ".part/3.jsonl", [{"id": 3}])
    (second,) = fed(config(tmp_path))
    assert (second.number, second.commit.updated) == (2, 1)
    assert ids(tmp_path) == [1, 2]


def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOODOO_HERE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"path \$\{HOODOO_HERE\}/in .* is no folder"):
        fed(config(tmp_path, source={"path": "${HOODOO_HERE}/in"}))
    (tmp_path / "in").write_text("x")
    with pytest.raises(ConfigError, match="is no folder"):
        fed(config(tmp_path))
    (tmp_path / "in").unlink()
    (tmp_path / "in").mkdir()
    assert fed(config(tmp_path)) == []
    assert not (tmp_path / "t").exists()


def test_what_is_written_is_not_read(tmp_path: Path) -> None:
    put(tmp_path, "new/1.jsonl", [{"id": 1}])
    below = str(tmp_path / "in/t")
    for path in (below, str(tmp_path / "in"), f"file://{below}/"):
        with pytest.raises(ConfigError, match="is in the folder of the source"):
            fed(config(tmp_path, table={"path": path}))
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "in/bad")}
    for pattern in ("*", "*.jsonl", "bad/*", "b*"):
        with pytest.raises(ConfigError, match="is in the folder of the source"):
            fed(config(tmp_path, source={"pattern": pattern}, errors=errors))
    for known in (errors, {**errors, "folder": str(tmp_path / "in/_bad")}):
        source = {"pattern": "new/*" if known is errors else "*"}
        fed(config(tmp_path, source=source, errors=known))
    assert ids(tmp_path) == [1]


def test_rows_without_a_key_go_aside(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": None, "k": "a"}, {"id": 1, "k": "b"}, {"id": 2, "k": ""}])
    pq.write_table(pa.table({"id": [3, None], "k": ["c", None]}), tmp_path / "in/2.parquet")
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    table: dict[str, Any] = {"record_key": "k"}
    (done,) = fed(config(tmp_path, errors=errors, table=table))
    assert done.bad_rows == 2
    table = {"record_key": ["id", "k"], "path": str(tmp_path / "u")}
    (done,) = fed(config(tmp_path, errors=errors, table=table))
    assert done.bad_rows == 1 and done.commit.inserted == 4  # one part of the key may be null
    put(tmp_path, "3.jsonl", [{"id": None, "k": ""}, {"id": 9, "k": "z"}])
    (done,) = fed(config(tmp_path, errors=errors, table=table))
    (bad,) = Path(done.bad_file).read_text().splitlines()
    assert "3.jsonl" in json.loads(bad)["place"] and "record key" in json.loads(bad)["error"]


@pytest.mark.parametrize(("name", "text"), [("1.jsonl", ""), ("1.csv", "id,v\n"), ("1.csv", "\n")])
def test_an_empty_first_file(tmp_path: Path, name: str, text: str) -> None:
    put_text(tmp_path, name, text, at=NOW)
    assert fed(config(tmp_path)) == [] and not (tmp_path / "t").exists()
    put(tmp_path, "2.jsonl", [{"id": 1, "v": 2}], at=NOW + 1)
    (done,) = fed(config(tmp_path, source={"max_files": 1}))
    assert done.number == 1 and ids(tmp_path) == [1]
    assert str(hoodoo.open(str(tmp_path / "t")).schema.field("v").type) == "int64"
    assert fed(config(tmp_path)) == []


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_checkpoint_is_hudis(tmp_path: Path, version: int) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}], at=NOW)
    fed(config(tmp_path, table={"version": version}))
    table = hoodoo.open(str(tmp_path / "t"))
    (instant,) = table.timeline().writes()
    extra = table.timeline().metadata(table.handle.storage, instant).extra
    key = HUDI_KEYS[0 if version >= 8 else 1]
    assert extra[key] == str(int(NOW * 1000) - 1) and OWN_KEY in extra
    assert [k for k in HUDI_KEYS if k in extra] == [key]
    assert fed(config(tmp_path)) == []


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(12))
def test_every_file_takes_effect_once(tmp_path: Path, seed: int) -> None:
    """Against a model: files appear in any order of their times, in bounded rounds, beside other
    writers and services; each process may end between two rounds."""
    chance = random.Random(seed)
    late, clock, expected = 50.0, NOW, []
    (tmp_path / "in").mkdir()
    put(tmp_path, "first.jsonl", [{"id": 0, "w": "in"}], at=clock)
    expected.append(0)
    for step in range(1, 9):
        for _ in range(chance.randrange(4)):
            clock += chance.choice([0, 0, 1, 40])
            at = clock - chance.choice([0, 0, 0, chance.uniform(0, late - 1)])
            number = len(expected)
            put(
                tmp_path,
                f"{chance.randrange(100)}-{number}.jsonl",
                [{"id": number, "w": "in"}],
                at=at,
            )
            expected.append(number)
        limits = {"max_files": chance.randint(1, 3), "late": chance.choice([late, late + 30])}
        run = {"operation": chance.choice(["insert", "upsert"])}
        known = config(tmp_path, source=limits, run=run)
        fed(known, once=chance.random() < 0.5)
        table = hoodoo.open(str(tmp_path / "t"))
        if chance.random() < 0.5:
            table.insert([{"id": -step, "w": "other"}])
            expected_other = [row for row in ids(tmp_path) if row < 0]
            assert -step in expected_other
        if chance.random() < 0.3:
            table.clean()
    fed(config(tmp_path, source={"late": late}))
    assert [one for one in ids(tmp_path) if one >= 0] == sorted(expected)


def test_a_clock_that_is_wrong(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}], at=time.time() + 10**6)
    fed(config(tmp_path))
    put(tmp_path, "2.jsonl", [{"id": 2}])
    put(tmp_path, "3.jsonl", [{"id": 3}], at=time.time() - 100)
    fed(config(tmp_path, run={"operation": "insert"}))
    assert ids(tmp_path) == [1, 2, 3]


def test_bounded_rounds(tmp_path: Path) -> None:
    for n in range(5):
        put(tmp_path, f"{n}.jsonl", [{"id": n}], at=NOW)  # all at one moment
    done = fed(config(tmp_path, source={"max_files": 2, "late": 0}))
    assert [one.count for one in done] == [2, 2, 1] and ids(tmp_path) == [0, 1, 2, 3, 4]
    for n in range(5, 8):
        put(tmp_path, f"{n}.jsonl", [{"id": n}], at=NOW + n)
    done = fed(config(tmp_path, source={"max_bytes": 1}, run={"rounds": 2}))
    assert [one.count for one in done] == [1, 1]
    assert len(fed(config(tmp_path))) == 1 and ids(tmp_path) == list(range(8))


def test_many_files_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "REMEMBERED", 3)
    for n in range(8):
        put(tmp_path, f"{n}.jsonl", [{"id": n}], at=NOW + n // 5)
    known = config(tmp_path, source={"max_files": 2}, run={"operation": "insert"})
    assert len(fed(known)) == 4 and ids(tmp_path) == list(range(8))
    put(tmp_path, "8.jsonl", [{"id": 8}], at=NOW + 1)  # as new as the newest
    put(tmp_path, "9.jsonl", [{"id": 9}], at=NOW + 9)
    fed(known)
    assert ids(tmp_path) == list(range(10))


def test_a_new_schema_in_a_running_process(tmp_path: Path) -> None:
    schema = tmp_path / "s.avsc"
    fields = [{"name": "id", "type": "long"}]
    schema.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    how = {
        "schema": {"file": str(schema)},
        "run": {"continuous": True, "every": 0, "add_columns": True},
    }
    rounds = hoodoo.ingest(config(tmp_path, **how))
    put(tmp_path, "1.jsonl", [{"id": 1, "v": "x"}])
    next(rounds)
    fields.append({"name": "v", "type": ["null", "string"]})  # type: ignore[dict-item]
    schema.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    put(tmp_path, "2.jsonl", [{"id": 2, "v": "x"}])
    next(rounds)
    rows = hoodoo.open(str(tmp_path / "t")).read(columns=["id", "v"]).to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(1, None), (2, "x")]


def test_young_files_wait(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    assert fed(config(tmp_path, source={"settle": 60})) == []
    put(tmp_path, "2.jsonl", [{"id": 2}], at=NOW)
    fed(config(tmp_path, source={"settle": 60}))
    assert ids(tmp_path) == [2]
    fed(config(tmp_path, source={"pattern": "1*"}))
    assert ids(tmp_path) == [1, 2]


def test_formats(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    row = {"id": 1, "city": "oslo", "fare": 1.5, "at": None}
    pq.write_table(pa.Table.from_pylist([row]), folder / "1.parquet")
    (folder / "2.csv").write_text('id,city,fare,more\n2,"os\nlo",2.5,x\n')
    (folder / "3.jsonl.gz").write_bytes(gzip.compress(b'{"id": 3, "city": "oslo", "other": 1}\n'))
    with (folder / "4.avro").open("wb") as out:
        fastavro.writer(
            out, fastavro.parse_schema(json.loads(SCHEMA)), [{**row, "id": 4}], codec="deflate"
        )
    (folder / "5.json").write_text('{"id": 5, "at": 1700000000000000}\n\n')
    (folder / "6.json").write_text('{"id": 6, "at": "2023-11-14T22:13:20Z"}')
    (folder / "7.json").write_bytes(b'\xef\xbb\xbf\r\n{"id": 7}\r\n')
    (folder / "8.json").write_text("\n")
    (tmp_path / "s.avsc").write_text(SCHEMA)
    fed(config(tmp_path, schema={"file": str(tmp_path / "s.avsc")}))
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.schema.names == ["id", "city", "fare", "at"]
    rows = sorted(table.read().to_pylist(), key=lambda found: found["id"])
    assert [found["id"] for found in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert rows[1]["city"] == "os\nlo" and rows[0]["fare"] == 1.5
    assert rows[4]["at"] == rows[5]["at"] is not None


def test_types_of_the_table(tmp_path: Path) -> None:
    """Without a schema: later files get the types of the table, not what they look like."""
    put(tmp_path, "1.jsonl", [{"id": 1, "fare": 1.5, "code": "x"}])
    fed(config(tmp_path))
    put(tmp_path, "2.jsonl", [{"id": 2, "fare": 2, "code": None}])
    put_text(tmp_path, "3.csv", "id,fare,code\n3,7,007\n")
    fed(config(tmp_path))
    rows = {row["id"]: row for row in hoodoo.open(str(tmp_path / "t")).read().to_pylist()}
    assert rows[2]["fare"] == 2.0 and rows[3]["code"] == "007"
    put(tmp_path, "4.jsonl", [{"id": 4, "fare": 2, "new": "n"}])
    with pytest.raises(SchemaError, match="new"):
        fed(config(tmp_path))
    fed(config(tmp_path, run={"add_columns": True}))
    assert "new" in hoodoo.open(str(tmp_path / "t")).schema.names and ids(tmp_path) == [1, 2, 3, 4]


def test_columns_without_a_value_in_one_file(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1, "v": None, "w": None, "x": None}])
    put_text(tmp_path, "2.csv", "id,v,w\n2,7,\n")
    put_text(tmp_path, "3.csv", "id,v,w\n3,,1.5\n")
    put_text(tmp_path, "4.jsonl", '{"id": 4, "v": null}\n{bad\n{"id": 5, "v": 8}\n')
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    (done,) = fed(config(tmp_path, errors=errors))
    assert done.bad_rows == 1
    table = hoodoo.open(str(tmp_path / "t"))
    assert [str(table.schema.field(name).type) for name in "vwx"] == ["int64", "double", "string"]
    rows = {row["id"]: (row["v"], row["w"]) for row in table.read().to_pylist()}
    assert rows == {
        1: (None, None), 2: (7, None), 3: (None, 1.5), 4: (None, None), 5: (8, None)
    }  # fmt: skip
    pq.write_table(pa.table({"id": [6], "v": pa.nulls(1)}), tmp_path / "in/6.parquet")
    fed(config(tmp_path))
    assert ids(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_dates_and_times_of_json(tmp_path: Path) -> None:
    day = {"type": "int", "logicalType": "date"}
    time_of_day = {"type": "long", "logicalType": "time-micros"}
    fields = [{"name": "id", "type": "long"}, {"name": "day", "type": ["null", day]},
              {"name": "t", "type": ["null", time_of_day]}]  # fmt: skip
    (tmp_path / "s.avsc").write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    put(tmp_path, "1.jsonl", [{"id": 1, "day": 19675, "t": 10**6}])
    put(tmp_path, "2.jsonl", [{"id": 2, "day": "2023-11-14", "t": "00:00:01"}, {"id": 3}])
    fed(config(tmp_path, schema={"file": str(tmp_path / "s.avsc")}))
    rows = {row["id"]: row for row in hoodoo.open(str(tmp_path / "t")).read().to_pylist()}
    assert str(rows[1]["day"]) == "2023-11-14" and str(rows[1]["t"]) == "00:00:01"
    assert (rows[2]["day"], rows[2]["t"]) == (rows[1]["day"], rows[1]["t"])
    assert rows[3]["day"] is rows[3]["t"] is None


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_numbers_without_a_unit_are_no_moments(tmp_path: Path, kind: str) -> None:
    hoodoo.create(str(tmp_path / "t"), f"id bigint, at {kind}", record_key="id")
    put(tmp_path, "1.jsonl", [{"id": 1, "at": "2023-11-14"}, {"id": 2, "at": 19675}])
    with pytest.raises(DataError, match="1.jsonl:2.* can't be read"):
        fed(config(tmp_path))
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    (done,) = fed(config(tmp_path, errors=errors))
    assert done.bad_rows == 1 and ids(tmp_path) == [1]


def test_transform_and_deletes(tmp_path: Path) -> None:
    sql = "SELECT id, upper(city) AS city, op = 'd' AS _hoodie_is_deleted FROM source WHERE id > 0"
    put(tmp_path, "1.jsonl", [{"id": n, "city": "oslo", "op": "u"} for n in (0, 1, 2)])
    fed(config(tmp_path, transform={"sql": sql}))
    put(tmp_path, "2.jsonl", [{"id": 1, "city": "oslo", "op": "d"}])
    fed(config(tmp_path, transform={"sql": sql}))
    (row,) = hoodoo.open(str(tmp_path / "t")).read(columns=["id", "city"]).to_pylist()
    assert row == {"id": 2, "city": "OSLO"}
    put(tmp_path, "3.jsonl", [{"id": 0, "city": "oslo", "op": "u"}])
    (done,) = fed(config(tmp_path, transform={"sql": sql}))  # no row comes through
    assert done.commit.instant and done.commit.inserted == 0
    assert fed(config(tmp_path, transform={"sql": sql})) == []
    put(tmp_path, "4.jsonl", [{"id": 2}])
    fed(config(tmp_path, run={"operation": "delete"}))
    assert ids(tmp_path) == []


def test_wrong_transforms(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    for sql, said in (("SELECT nothing FROM source", "nothing"), ("SELECT * FROM t", "table t")):
        with pytest.raises((ConfigError, SchemaError), match=said):
            fed(config(tmp_path, transform={"sql": sql}))
    assert not (tmp_path / "t").exists()


def test_transforms_need_their_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    monkeypatch.setattr(hoodoo, "sql", None, raising=False)
    with pytest.raises(PluginError, match="needs hoodoo-statements"):
        fed(config(tmp_path, transform={"sql": "SELECT * FROM source"}))


def test_bad_rows(tmp_path: Path) -> None:
    put_text(tmp_path, "1.jsonl", '{"id": 1}\n{"id": 2\n{"id": 3}\n\n[]\n{"id": "x"}\n{"id": 4}')
    (tmp_path / "s.avsc").write_text(
        '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'
    )
    schema = {"file": str(tmp_path / "s.avsc")}
    with pytest.raises(DataError, match=r"1.jsonl:2: can't be read"):
        fed(config(tmp_path, schema=schema))
    assert not (tmp_path / "t").exists()
    put_text(tmp_path, "2.csv", 'id\n5\n"x\ny"\n6\n')
    put_text(tmp_path, "3.parquet", "no Parquet")
    put(tmp_path, "4.jsonl", [{"id": None}, {"id": 7}])
    pq.write_table(pa.table({"id": [8, None]}), tmp_path / "in/5.parquet")
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    with pytest.raises(DataError, match="more than 2 rows"):
        fed(config(tmp_path, schema=schema, errors={**errors, "limit": 2}))
    (done,) = fed(config(tmp_path, schema=schema, errors=errors))
    assert ids(tmp_path) == [1, 3, 4, 5, 6, 7, 8]
    (file,) = (tmp_path / "bad").iterdir()
    assert done.bad_file.endswith(file.name) and done.bad_rows == 7
    bad = [json.loads(line) for line in file.read_text().splitlines()]
    places = [row["place"].rpartition("/")[2] for row in bad]
    assert places[:4] == ["1.jsonl:2", "1.jsonl:5", "1.jsonl:6", "2.csv:3"]
    assert places[4:] == ["3.parquet", "4.jsonl:1", "5.parquet"]
    assert [row["row"] for row in bad[:4]] == ['{"id": 2', "[]", '{"id": "x"}', '"x\ny"']
    assert bad[4]["row"] is None and all(row["error"] for row in bad)


def test_only_bad_rows(tmp_path: Path) -> None:
    put_text(tmp_path, "1.jsonl", "x\n")
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    with pytest.raises(DataError, match="no row that can be read"):
        fed(config(tmp_path, errors=errors))
    hoodoo.create(str(tmp_path / "t"), "id bigint", record_key="id")
    (done,) = fed(config(tmp_path, errors=errors))
    assert done.bad_rows == 1 and ids(tmp_path) == [] and fed(config(tmp_path, errors=errors)) == []


def test_types_that_do_not_go_together(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1, "v": 1}])
    put(tmp_path, "2.jsonl", [{"id": 2, "v": "x"}])
    with pytest.raises(DataError, match="Give the schema"):
        fed(config(tmp_path))


def test_names_without_a_format(tmp_path: Path) -> None:
    put(tmp_path, "1.log", [{"id": 1}])
    with pytest.raises(ConfigError, match="does not show its format"):
        fed(config(tmp_path))
    with pytest.raises(ConfigError, match="is no delimiter"):
        fed(config(tmp_path, source={"delimiter": "::"}))
    fed(config(tmp_path, source={"format": "jsonl"}))
    assert ids(tmp_path) == [1]


def test_files_that_go(tmp_path: Path) -> None:
    path = put(tmp_path, "1.jsonl", [{"id": 1}])
    ingestion = Ingestion(read_config(config(tmp_path)))
    _table, _checkpoint, portion = ingestion.next()
    assert portion is not None
    path.unlink()
    with pytest.raises(DataError, match="was deleted before it was read"):
        portion.read()


def test_what_the_configuration_says_of_a_table(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1, "city": "oslo"}])
    with pytest.raises(ConfigError, match="Give record_key"):
        fed({**config(tmp_path), "table": {"path": str(tmp_path / "t")}})
    fed(config(tmp_path, table={"partition_by": "city"}))
    with pytest.raises(ConfigError, match="partition_by = .* is not so"):
        fed(config(tmp_path, table={"partition_by": "town"}))
    with pytest.raises(ConfigError, match="has the source files, and not kafka"):
        known = config(tmp_path)
        (tmp_path / "s.avsc").write_text(SCHEMA)
        known["source"] = {"kind": "kafka", "servers": "b:1", "topic": "t"}
        fed({**known, "schema": {"file": str(tmp_path / "s.avsc")}})
    with pytest.raises(ConfigError, match="no-such.avsc: does not exist"):
        fed(config(tmp_path, schema={"file": str(tmp_path / "no-such.avsc")}))


@pytest.mark.parametrize(
    "more",
    [
        {"partition_by": "c:SIMPLE,d:SIMPLE"},
        {
            "ordering": "_event_seq",
            "options": {
                "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.debezium."
                "MySqlDebeziumAvroPayload"
            },
        },
    ],
)
def test_what_a_table_was_created_with_is_so(tmp_path: Path, more: Any) -> None:
    row = {"c": "x", "d": "y", "_event_bin_file": "a.1", "_event_pos": 1, "_event_seq": "1.1"}
    row["_change_operation_type"] = "c"
    put(tmp_path, "1.jsonl", [{"id": 1, **row}])
    fed(config(tmp_path, table=more))
    put(tmp_path, "2.jsonl", [{"id": 2, **row}])
    fed(config(tmp_path, table=more))
    assert ids(tmp_path) == [1, 2]
    with pytest.raises(ConfigError, match="is not so"):
        fed(config(tmp_path, table={**more, next(iter(more)): "d"}))


def test_positions_of_others(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}], at=NOW)
    plugin = read_config(config(tmp_path)).plugin
    given = {key: what.default for key, what in plugin.keys.items()}
    reading = plugin.open({**given, "path": str(tmp_path / "in")}, Around())
    put(tmp_path, "2.jsonl", [{"id": 2}], at=NOW + 1)
    found = reading.next(Position(None, str(int(NOW * 1000))))  # HoodieStreamer's
    assert found is not None and found.names == ("2.jsonl",)
    assert reading.next(found.upto) is None
    assert "root" in found.upto.own  # positions of before do not say the folder
    old = {key: one for key, one in found.upto.own.items() if key != "root"}
    assert reading.next(Position(old, found.upto.hudi)) is None
    with pytest.raises(ConfigError, match="is none of a folder"):
        reading.next(Position(None, "rides,0:1"))


@define
class Failing:
    """A store that shows its files, and does not give them."""

    inner: Any
    error: Exception

    def get(self, path: str) -> bytes:
        raise self.error

    def open(self, path: str) -> Any:
        raise self.error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("name", ["1.jsonl", "1.parquet", "1.avro"])
@pytest.mark.parametrize(
    "error", [StorageError("store", "answers 503.", "Wait."), PermissionError("denied")]
)
def test_errors_of_the_store_are_no_bad_rows(tmp_path: Path, name: str, error: Exception) -> None:
    put(tmp_path, name, [{"id": 1}])
    given = read_config(config(tmp_path)).source
    store: Any = Failing(DirectoryStorage(str(tmp_path / "in")), error)
    portion = files.Folder(store, given, Around(bad_rows=100)).next(None)
    assert portion is not None
    with pytest.raises(type(error)):
        portion.read()


@pytest.mark.parametrize("delimiter", ["::", '"', "\n", "ø"])
def test_wrong_delimiters(tmp_path: Path, delimiter: str) -> None:
    put_text(tmp_path, "1.csv", "id\n1\n")
    errors = {"bad_rows": "aside", "folder": str(tmp_path / "bad")}
    with pytest.raises(ConfigError, match="is no delimiter"):
        fed(config(tmp_path, source={"delimiter": delimiter}, errors=errors))
    fed(config(tmp_path, source={"delimiter": "\t"}))
    assert ids(tmp_path) == [1]

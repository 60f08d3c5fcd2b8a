"""What a few bytes of others can become: an error that names the file, within the memory that they can mean."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline import codec, plans, replaced_note
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.codec.bounded import check_bounded, inflate

LONG = fastavro.parse_schema("long")
SYNC = b"s" * 16


def number(n: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, LONG, n)
    return out.getvalue()


def container(schema: Any, datum: bytes, codec_: bytes = b"null", count: int = 1) -> bytes:
    meta: Any = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec_}
    out = io.BytesIO(b"Obj\x01")
    out.seek(4)
    fastavro.schemaless_writer(out, fastavro.parse_schema({"type": "map", "values": "bytes"}), meta)
    return out.getvalue() + SYNC + number(count) + number(len(datum)) + datum + SYNC


def record(*fields: Any, name: str = "HoodieCommitMetadata") -> Any:
    named = [{"name": f"f{i}", "type": kind} for i, kind in enumerate(fields)]
    return {"type": "record", "name": name, "fields": named}


def around(kind: Any, times: int) -> Any:
    for n in range(times):
        kind = record(kind, name=f"R{n}")
    return record(kind)


def doubling(times: int) -> Any:
    """2 ** ``times`` nulls in no bytes at all."""
    kinds: list[Any] = [record("null", name="D0")]
    for n in range(1, times):
        kinds.append(record(kinds[-1], f"D{n - 1}", name=f"D{n}"))
    return record(kinds[-1])


UNBOUNDED = [
    ("contains itself", record(["null", "HoodieCommitMetadata"]), b"\x02" * 100_000 + b"\0"),
    ("too few bytes", record("HoodieCommitMetadata"), b"\0\0"),
    ("contains itself", {**record(["null", "a.b.HoodieCommitMetadata"]), "namespace": "a.b"}, b"\0"),
    ("contains itself", record({"type": "array", "items": record({"type": "map", "values": "R"}, name="R")}), b"\0"),
    ("too few bytes", record({"type": "array", "items": "null"}), number(10**8) + b"\0"),
    ("too few bytes", record({"type": "array", "items": record(name="E")}), number(10**8) + b"\0"),
    ("too few bytes", record({"type": "array", "items": {"type": "fixed", "name": "Z", "size": 0}}), number(10**8) + b"\0"),
    ("too few bytes", record({"type": "array", "items": doubling(40)}), number(10**8) + b"\0"),
    ("too few bytes", around("int", 20), b"\0"),
]  # fmt: skip


def deep_unions(times: int) -> Any:
    kind: Any = "int"
    for n in range(times):
        kind = ["null", record(kind, "int", name=f"R{n}")]
    return record(kind)


@pytest.mark.parametrize(("why", "schema", "datum"), UNBOUNDED)
def test_a_schema_whose_values_have_no_bound_is_refused(
    why: str, schema: Any, datum: bytes
) -> None:
    with pytest.raises(ValueError, match=why):
        check_bounded(schema)
    with pytest.raises(CorruptTableError, match=rf"the/file: .*{why}"):
        codec.decode(container(schema, datum), "the/file")


def test_a_schema_that_is_too_deep_is_refused() -> None:
    check_bounded(deep_unions(20))
    with pytest.raises(ValueError, match="too deep"):
        check_bounded(deep_unions(40))
    text = "[" * 20_000 + "]" * 20_000
    with pytest.raises(SchemaError, match="the column's schema"):
        arrow_schema(text, "the column's schema")
    deep = '{"type":"record","name":"a","fields":[{"name":"x","type":' * 450 + '"int"' + "}]}" * 450
    with pytest.raises(SchemaError, match="the column's schema"):
        arrow_schema(deep, "the column's schema")


@pytest.mark.parametrize("path", sorted(Path(codec_avro.__file__).parents[1].glob("schemas/*.avsc")), ids=lambda p: p.stem)  # fmt: skip
def test_every_schema_of_the_timeline_is_bounded(path: Path) -> None:
    check_bounded(json.loads(path.read_text("utf-8")))


def test_only_records_of_the_timeline_are_decoded() -> None:
    named = record("int", name="org.apache.hudi.avro.model.HoodieSavepointMetadata")
    assert codec.decode(container(named, b"\x02"), "f") == {"f0": 1}
    with pytest.raises(CorruptTableError, match=r"the/file: .*Other.*none of Hudi's timeline"):
        codec.decode(container(record("int", name="Other"), b"\x02"), "the/file")


@pytest.mark.parametrize("count", [0, 2, 10**12])
def test_a_timeline_file_has_one_record(count: int) -> None:
    with pytest.raises(CorruptTableError, match="one record"):
        codec.decode(container(record("int"), b"\x02", count=count), "f")


def test_bytes_after_the_record_are_damage() -> None:
    with pytest.raises(CorruptTableError, match="as long as"):
        codec.decode(container(record("int"), b"\x02\x02"), "f")


def deflated(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(data) + packing.flush()


def test_a_deflated_commit_is_read_and_a_bomb_is_not() -> None:
    """Java's reader and Rust's take the codec ``deflate``, which no writer of Hudi's chooses."""
    extra = {"k": "v" * 1000}
    head = json.loads(codec_avro.schema_text("HoodieCommitMetadata"))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, codec_avro.schema("HoodieCommitMetadata"), {"extraMetadata": extra})  # fmt: skip
    found = codec.decode(container(head, deflated(out.getvalue()), b"deflate"), "f")
    assert found["extraMetadata"] == extra
    bomb = deflated(number(10**8) + bytes(10**8))
    with pytest.raises(CorruptTableError, match="holds more than"):
        codec.decode(container(record("string"), bomb, b"deflate"), "f")
    with pytest.raises(CorruptTableError, match="codec is snappy"):
        codec.decode(container(record("string"), b"", b"snappy"), "f")


def test_a_note_that_inflates_without_end_is_no_note(tmp_path: Path) -> None:
    storage = DirectoryStorage(str(tmp_path))
    said = {"version": 1, "replaced": {"n": ["", {"p": ["id"]}]}}
    storage.put(replaced_note.PATH, gzip.compress(json.dumps(said).encode()))
    assert replaced_note.load(storage) == said["replaced"]
    blanks = json.dumps(said).encode() + b" " * (64 << 20)
    storage.put(replaced_note.PATH, gzip.compress(blanks))
    assert replaced_note.load(storage) == {}
    storage.put(replaced_note.PATH, gzip.compress(b'{"version":1,"replaced":' + b"[" * 50_000))
    assert replaced_note.load(storage) == {}
    with pytest.raises(ValueError, match="holds more than"):
        inflate(gzip.compress(blanks), 31)


STAT = {"fileId": "f", "path": "p/f_0-0-0_20240101000000000.parquet", "prevCommit": "null"}


@pytest.mark.parametrize(
    "record",
    [
        *({"partitionToWriteStats": {"p": [{**STAT, key: 5}]}} for key in STAT),
        {"partitionToWriteStats": {"p": [{**STAT, "prevBaseFile": ["x"]}]}},
        {"partitionToWriteStats": {"p": [{**STAT, "logVersion": "x"}]}},
        {"partitionToWriteStats": {"p": [{**STAT, "logVersion": 1, "logFiles": [1]}]}},
        {"partitionToWriteStats": {"p": [{**STAT, "logVersion": 1, "baseFile": 1}]}},
        {"partitionToReplaceFileIds": {"p": [1]}},
        {"extraMetadata": {"schema": 5}},
        {"extraMetadata": {"schema": {"a": 1}}},
    ],
    ids=json.dumps,
)
def test_json_of_a_commit_with_a_number_for_a_text_names_the_file(record: Any) -> None:
    with pytest.raises(CorruptTableError, match="the/file: not commit metadata"):
        codec.decode_commit(json.dumps(record).encode(), "the/file")
    external = {**STAT, "path": "p/x.parquet_20240101000000000_hudiext"}
    found = codec.decode_commit(
        json.dumps({"partitionToWriteStats": {"p": [external]}}).encode(), "f"
    )
    assert [stat.path for stat in found.stats] == [external["path"]]


DEEP = "[" * 50_000


def test_texts_in_commits_that_are_too_deep_name_what_they_are_of() -> None:
    with pytest.raises(CorruptTableError, match="f: not readable JSON"):
        codec.decode(DEEP.encode(), "f")


@pytest.mark.parametrize("raw", [5, "text", {"deltaFilePaths": 5}, {"dataFilePath": [1]}])
def test_a_plan_of_another_shape_names_its_file(raw: Any) -> None:
    with pytest.raises(CorruptTableError, match="the/plan: "):
        plans.planned_slices([raw], "the/plan", "compaction")

"""Partition `record_index`: values as Hudi writes them, of every shape, and instants as milliseconds."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo_metadata.partitions.record_index.locations import (
    LOCATIONS,
    decode_locations,
    encode_locations,
    instants_of,
    millis_of,
)
from hoodoo_metadata.table.schema import KEY_LOCATION, decode_row, encode_row, record_schema
from hypothesis import given, settings
from hypothesis import strategies as st

ID = "b7654f47-a5e9-45f5-b501-5346ab1e4d84-0"
# Of a table that Spark Hudi wrote: key 2, no partitions, instant 20260503194246834.
STORED = bytes.fromhex(
    "0000000000000a00000002020002ebcbe5f4c4bbabe53702f7cbf3c2cbaa9f9c9501020002000"
    "2e4f8eaf5bd67000000"
)


def one(path: str | None, file_id: str, millis: int = 0) -> bytes:
    value: bytes = encode_locations(
        pa.array([path], pa.string()), pa.array([file_id], pa.string()), millis
    )[0].as_py()
    return value


def test_as_hudi_writes_it() -> None:
    paths, ids, millis = decode_locations(pa.array([STORED]))
    assert (paths.type, ids.type, millis.type) == tuple(f.type for f in list(LOCATIONS)[1:])
    assert paths.to_pylist() == [""]
    assert instants_of(millis).to_pylist() == ["20260503194246834"]
    assert encode_locations(paths, ids, millis).to_pylist() == [STORED]


UUIDS = st.uuids().map(str)
IDS = st.one_of(
    UUIDS,
    st.tuples(UUIDS, st.integers(0, 2**31 - 1)).map(lambda parts: f"{parts[0]}-{parts[1]}"),
    st.text(max_size=50),
    st.sampled_from(
        [f"{ID}0", f"{ID[:-1]}00", f"{ID[:-1]}2147483648", ID.upper(), f"{ID}-1", "-1"]
    ),
)
PLACES = st.tuples(
    st.one_of(st.none(), st.text(max_size=70)), IDS, st.integers(-(2**62), 2**62)
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PLACES, max_size=20))
def test_what_goes_in_comes_out(places: list[tuple[str | None, str, int]]) -> None:
    paths, ids, millis = (
        pa.array([place[n] for place in places], kind)
        for n, kind in enumerate((pa.string(), pa.string(), pa.int64()))
    )
    values = encode_locations(paths, ids, millis)
    found = decode_locations(values)
    assert [column.to_pylist() for column in found] == [c.to_pylist() for c in (paths, ids, millis)]
    assert encode_locations(paths.dictionary_encode(), ids.dictionary_encode(), millis) == values
    for value, (path, file_id, moment) in zip(values.to_pylist(), places, strict=True):
        assert value == encode_row(
            {"type": KEY_LOCATION, "recordIndexMetadata": as_java(path, file_id, moment)}
        )


def as_java(path: str | None, file_id: str, millis: int) -> dict[str, Any]:
    """What HoodieMetadataPayload.createRecordIndexUpdate makes, where it can."""
    place: dict[str, Any] = {"partitionName": path, "instantTime": millis, "position": None}
    head, tail = (file_id, "-1") if len(file_id) == 36 else (file_id[:36], file_id[37:])
    try:
        parsed, index = uuid.UUID(head), int(tail)
    except ValueError:
        parsed, index = uuid.UUID(int=0), -2
    if str(parsed) + ("" if index == -1 else f"-{index}") != file_id or index >= 2**31:
        raw = {"fileIdHighBits": -1, "fileIdLowBits": -1, "fileIndex": -1}
        return {**place, **raw, "fileId": file_id, "fileIdEncoding": 1}
    high, low = divmod(parsed.int, 1 << 64)
    signed = [n - (1 << 64) if n >> 63 else n for n in (high, low)]
    halves = {"fileIdHighBits": signed[0], "fileIdLowBits": signed[1], "fileIndex": index}
    return {**place, **halves, "fileId": "", "fileIdEncoding": 0}


def test_many_rows_few_places() -> None:
    count = 50_000
    paths = pa.array([f"p{n % 7}" for n in range(count)])
    ids = pa.array([f"{uuid.UUID(int=n % 300)}-{n % 3}" for n in range(count)])
    millis = pa.array([1_700_000_000_000 + n % 5 for n in range(count)])
    chunked = pa.chunked_array([paths[:100].dictionary_encode(), paths[100:].dictionary_encode()])
    values = encode_locations(chunked, pa.chunked_array([ids]), millis)
    found = decode_locations(values)
    assert all(c.equals(e) for c, e in zip(found, (paths, ids, millis), strict=True))
    assert decode_locations(values.slice(7))[1].equals(ids.slice(7))
    once = encode_locations(paths, ids, 5)
    assert set(decode_locations(once)[2].to_pylist()) == {5}


def test_no_rows_and_nulls() -> None:
    empty = pa.array([], pa.string())
    values = encode_locations(empty, empty, 0)
    assert (values.type, len(values)) == (pa.binary(), 0)
    assert [len(column) for column in decode_locations(values)] == [0, 0, 0]
    some = decode_locations(pa.array([None, STORED, None], pa.binary()))
    assert [column.null_count for column in some] == [2, 2, 2]
    with pytest.raises(CorruptTableError, match="file id"):
        encode_locations(pa.array(["p"]), pa.array([None], pa.string()), 0)
    with pytest.raises(CorruptTableError, match="instant"):
        encode_locations(pa.array(["p"]), pa.array([ID]), pa.array([None], pa.int64()))


# --- as others write them ---------------------------------------------------------------------
def rewritten(value: bytes, schema: Any, **changes: Any) -> bytes:
    """``value`` in another schema."""
    out = io.BytesIO()
    row = {**decode_row(value), **changes}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def schema_with(change: Any) -> Any:
    schema = json.loads(record_schema(9))
    change(schema["fields"])
    return schema


def without_position(fields: list[Any]) -> None:
    inner = fields[10]["type"][1]["fields"]
    assert inner.pop()["name"] == "position"


def null_last(fields: list[Any]) -> None:
    for field in fields[10]["type"][1]["fields"]:
        if isinstance(field["type"], list):
            field["type"].reverse()
            del field["default"]


def nothing_but_locations(fields: list[Any]) -> None:
    del fields[11], fields[7:10], fields[:5]


def never_null(fields: list[Any]) -> None:
    fields[10]["type"] = fields[10]["type"][1]
    del fields[10]["default"]


def without_encoding(fields: list[Any]) -> None:
    inner = fields[10]["type"][1]["fields"]
    assert inner.pop(6)["name"] == "fileIdEncoding"


@pytest.mark.parametrize(
    "change",
    [without_position, null_last, nothing_but_locations, never_null, without_encoding],
)
def test_other_schemas(change: Any) -> None:
    schema = schema_with(change)
    value = rewritten(STORED, schema)
    found = decode_locations(pa.array([value, value]), json.dumps(schema))
    assert [c.to_pylist() for c in found] == [
        2 * c.to_pylist() for c in decode_locations(pa.array([STORED]))
    ]


def test_values_of_other_shapes() -> None:
    schema = json.loads(record_schema(9))
    named = rewritten(STORED, schema, _hoodie_file_name="some.hfile", key="a key")
    files = rewritten(STORED, schema, filesystemMetadata={"f": {"size": 1, "isDeleted": False}})
    raw = one(None, "no uuid", 7)
    paths, ids, millis = decode_locations(pa.array([STORED, named, raw]))
    assert paths.to_pylist() == ["", "", None]
    assert ids.to_pylist()[1:] == [ids[0].as_py(), "no uuid"]
    assert millis.to_pylist()[2] == 7
    # A row that says something else besides is read, slowly.
    assert decode_locations(pa.array([files, raw]))[1].to_pylist() == [ids[0].as_py(), "no uuid"]


@pytest.mark.parametrize(
    "value",
    [b"", STORED[:-1], STORED[:-10], STORED + b"\0", b"\xff" * 40, encode_row({"type": 5})],
    ids=["empty", "short", "shorter", "long", "nonsense", "no location"],
)
def test_bytes_that_are_none(value: bytes) -> None:
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        decode_locations(pa.array([STORED, value], pa.binary()))


def test_a_row_of_another_kind() -> None:
    with pytest.raises(CorruptTableError, match="type"):
        decode_locations(pa.array([rewritten(STORED, json.loads(record_schema(9)), type=3)]))


# --- instants ---------------------------------------------------------------------------------
@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CST6CDT,M3.2.0,M11.1.0")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_zone")
def test_instants() -> None:
    assert (
        millis_of("20260307222524292") == millis_of("20260307162524292", "LOCAL") == 1772922324292
    )
    assert millis_of("20260307222524") == millis_of("20260307222524999")
    millis = pa.array([1772922324292, None, 0], pa.int64())
    assert instants_of(millis).to_pylist() == ["20260307222524292", None, "19700101000000000"]
    assert instants_of(millis, "LOCAL").to_pylist()[0] == "20260307162524292"
    with pytest.raises(ConfigError):
        millis_of("20261399222524292")

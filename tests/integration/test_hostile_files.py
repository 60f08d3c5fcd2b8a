"""Tables of strangers: files that were made to hurt whoever opens them. An error that names the file, within a bound of
memory, and a process that lives on."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro
import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError

SYNC = b"s" * 16
# What the process may take beside what it has with its packages loaded.
MEGABYTES = 150
READ = """
import resource, sys
import hoodoo
path, megabytes = sys.argv[1], int(sys.argv[2])
hoodoo.open(sys.argv[3]).read().to_arrow()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
try:
    hoodoo.open(path).read().to_arrow()
except hoodoo.errors.HoodooError as error:
    print(type(error).__name__, error)
took = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10) - before
assert took < megabytes, took
"""


def number(n: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema("long"), n)
    return out.getvalue()


def commit(kind: Any, datum: bytes) -> bytes:
    schema = {"type": "record", "name": "HoodieCommitMetadata", "fields": [{"name": "f", "type": kind}]}  # fmt: skip
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema({"type": "map", "values": "bytes"}), meta)
    return b"Obj\x01" + out.getvalue() + SYNC + number(1) + number(len(datum)) + datum + SYNC


HOSTILE = {
    "a record within itself, 100,000 deep": (["null", "HoodieCommitMetadata"], b"\x02" * 100_000 + b"\0"),
    "a record within itself, without end": ("HoodieCommitMetadata", b"\0\0"),
    "an array of 100 million nulls": ({"type": "array", "items": "null"}, number(10**8) + b"\0"),
}  # fmt: skip


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("what", HOSTILE)
def test_an_avro_file_of_the_timeline_that_was_made_to_hurt(tmp_path: Path, what: str) -> None:
    good, path = tmp_path / "good", tmp_path / "t"
    for place in (good, path):
        table = hoodoo.create(str(place), pa.schema([("id", pa.int64())]), record_key="id")
        table.upsert([{"id": 1}])
    (last,) = (path / ".hoodie/timeline").glob("*.commit")
    last.write_bytes(commit(*HOSTILE[what]))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), str(MEGABYTES), str(good)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CorruptTableError ")
    assert last.name in done.stdout and "Fix: " in done.stdout


def test_a_number_for_a_path_in_a_json_commit(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(
        path, pa.schema([("id", pa.int64())]), record_key="id", table_version=6, partition_by=None
    )
    table.upsert([{"id": 1}])
    (last,) = (tmp_path / "t/.hoodie").glob("*.commit")
    said = json.loads(last.read_bytes())
    for stats in said["partitionToWriteStats"].values():
        stats[0]["path"] = 5
    last.write_text(json.dumps(said))
    with pytest.raises(CorruptTableError, match=last.name):
        hoodoo.open(path).upsert([{"id": 2}])


def test_a_schema_text_in_a_commit_that_is_too_deep(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(path, pa.schema([("id", pa.int64())]), record_key="id", table_version=6)
    table.upsert([{"id": 1}])
    (last,) = (tmp_path / "t/.hoodie").glob("*.commit")
    said = json.loads(last.read_bytes())
    said["extraMetadata"]["schema"] = "[" * 20_000 + "]" * 20_000
    last.write_text(json.dumps(said))
    for act in (lambda t: t.read().to_arrow(), lambda t: t.upsert([{"id": 2}])):
        with pytest.raises(hoodoo.errors.SchemaError, match="not JSON"):
            act(hoodoo.open(path))

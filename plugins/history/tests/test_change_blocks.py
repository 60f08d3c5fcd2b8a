"""Change data blocks: the schemas as Spark Hudi writes them, and bytes that fastavro reads."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind
from hoodoo_formats.log.changes import encode_changes
from hoodoo_history.change_logs.schema import arrow_columns, change_schema
from hoodoo_standard.storage.local import LocalStorage

IMAGES = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("v", pa.string())])
INSTANT = "20260101000000001"
OLD, NEW = {"k": "x", "ts": 1, "v": None}, {"k": "x", "ts": 2, "v": "é"}
ROWS = [("i", None, NEW), ("u", OLD, NEW), ("d", OLD, None)]
MODES = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
# Of blocks that Spark Hudi 1.2 wrote.
THEIRS = {
    MODES[0]: '{"type":"record","name":"Record","fields":[{"name":"op","type":["string","null"]},'
    '{"name":"record_key","type":["string","null"]}]}',
    MODES[2]: '{"type":"record","name":"CDC","namespace":"hoodie.t","doc":"","fields":['
    '{"name":"op","type":["null","string"],"doc":"","default":null},'
    '{"name":"ts_ms","type":["null","string"],"doc":"","default":null},'
    '{"name":"before","type":["null",{"type":"record","name":"t_record","fields":['
    '{"name":"k","type":["null","string"],"default":null},'
    '{"name":"ts","type":["null","long"],"default":null},'
    '{"name":"v","type":["null","string"],"default":null}]}],"doc":"","default":null},'
    '{"name":"after","type":["null","t_record"],"doc":"","default":null}]}',
}


def batch(mode: str, images: pa.Schema = IMAGES) -> pa.RecordBatch:
    schema = arrow_columns(mode, images)
    every = [
        {"op": op, "ts_ms": INSTANT, "record_key": "x", "before": before, "after": after}
        for op, before, after in ROWS
    ]
    rows = [{name: row[name] for name in schema.names} for row in every]
    return pa.RecordBatch.from_pylist(rows, schema)


@pytest.mark.parametrize("mode", THEIRS)
def test_the_schema_is_that_of_spark(mode: str) -> None:
    assert change_schema(mode, IMAGES, "t") == THEIRS[mode]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested", [False, True])
def test_an_independent_reader_reads_the_rows(mode: str, nested: bool) -> None:
    images = IMAGES.append(pa.field("l", pa.list_(pa.int64()))) if nested else IMAGES
    text = change_schema(mode, images, "t")
    rows = batch(mode, images)
    data = b"".join(bytes(piece) for piece in encode_changes([rows, rows.slice(1)], text))
    assert struct.unpack_from(">ii", data) == (3, 5)
    schema, place, found = fastavro.parse_schema(json.loads(text)), 8, []
    while place < len(data):
        (length,) = struct.unpack_from(">i", data, place)
        datum = io.BytesIO(data[place + 4 : place + 4 + length])
        row: Any = fastavro.schemaless_reader(datum, schema, None)
        assert datum.tell() == length
        found.append(row)
        place += 4 + length
    assert found == rows.to_pylist() + rows.to_pylist()[1:]


@pytest.mark.parametrize("mode", MODES)
def test_a_log_of_changes(tmp_path: Path, mode: str) -> None:
    with log_files().writer(str(tmp_path / "log.cdc")) as writer:
        text = change_schema(mode, IMAGES, "t")
        writer.change_block([batch(mode)], INSTANT, text)
        writer.close()
    with log_files().reader(LocalStorage(str(tmp_path)), "log.cdc") as reader:
        (block,) = reader.blocks
        assert block.kind is BlockKind.CDC and block.instant == INSTANT
        assert block.schema_text == text and not reader.damages
        assert reader.rows(block).to_pylist() == batch(mode).to_pylist()

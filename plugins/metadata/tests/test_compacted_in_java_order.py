"""A metadata table whose base files Spark Hudi compacted, keys in the order of Java's strings: keys are found, entries are
merged and compacted again, and nothing is there twice."""

from __future__ import annotations

import io
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_metadata.hfile import ENTRIES, FileWindow, HFile, pack, write_hfile
from hoodoo_rows.testing.tables import values

WIDE, SMILE = "\uff21", "\U0001f600"  # Java has the emoji first, bytes have it last
KEYS = [
    f"{a}{b}{n}" for a in ("", "a", "é") for b in (SMILE, WIDE, "\ue000", "m") for n in range(6)
]
SCHEMA = pa.schema([("id", pa.string()), ("v", pa.int64())])
OPTIONS = {"hoodie.metadata.compact.max.delta.commits": "4"}


def in_order_of_java(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Each base file of the record index, its keys as Java sorts them; how many files had them otherwise."""
    changed = 0
    files = (path / ".hoodie/metadata/record_index").glob("*.hfile")
    for file in [f for f in files if not f.name.startswith(".")]:
        data = file.read_bytes()
        opened = HFile.open(FileWindow.on(data, file.name))
        table = pa.Table.from_batches(opened.scan(), ENTRIES)
        keys = [key.decode() for key in table.column("key").to_pylist()]
        places = sorted(range(len(keys)), key=lambda at: keys[at].encode("utf-16-be"))
        changed += places != list(range(len(keys)))
        sink = io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(pack, "_check_order", lambda keys, before: None)
            batch = table.take(places).combine_chunks().to_batches()
            write_hfile(sink, batch, schema_text=opened.info["schema"].decode(), block_bytes=300)
        file.write_bytes(sink.getvalue())
    return changed


rows = partial(values, key="id", value="v")


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.sampled(2)
def test_found_merged_and_compacted(
    tmp_path: Path, table_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t")
    made: Any = dict(record_key="id", index="record_index", table_type=table_type, options=OPTIONS)
    table = hoodoo.create(path, SCHEMA, **made)
    model = {key: n for n, key in enumerate(KEYS)}
    table.upsert([{"id": k, "v": v} for k, v in model.items()])
    table.rebuild_index("record_index")
    assert in_order_of_java(tmp_path / "t", monkeypatch)
    for turn in range(8):  # some compactions of the metadata table
        table = hoodoo.open(path, OPTIONS)
        new = {key: 1000 * turn + n for n, key in enumerate(KEYS[turn::5])}
        new[f"{SMILE}new{turn}"] = turn
        new[f"{WIDE}new{turn}"] = turn
        table.upsert([{"id": k, "v": v} for k, v in new.items()])
        model |= new
        gone = [KEYS[turn], f"{WIDE}new{turn}"]
        table.delete(pa.table({"id": gone}))
        for key in gone:
            del model[key]
        assert rows(table) == model
        if turn == 4:  # Spark compacts again
            in_order_of_java(tmp_path / "t", monkeypatch)
        model |= {KEYS[turn]: -1}
        hoodoo.open(path, OPTIONS).upsert([{"id": KEYS[turn], "v": -1}])
    table = hoodoo.open(path)
    assert rows(table) == model
    for key in (f"{SMILE}new3", KEYS[0], KEYS[20], f"a{WIDE}2"):
        assert table.read(where=pa.compute.field("id") == key).count() == (key in model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.verify().findings == ()

"""Rows and files for contract suites of base files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.meta import with_meta
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage

FLAT = pa.schema(
    [
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("clock", pa.time64("us")),
        ("moment", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(15, 2)),
    ]
)


NESTED = pa.schema(
    [
        ("list", pa.list_(pa.field("element", pa.struct([("x", pa.int32()), ("y", pa.string())])))),
        ("map", pa.map_(pa.string(), pa.struct([("z", pa.float64())]))),
        ("struct", pa.struct([("inner", pa.struct([("deep", pa.list_(pa.int64()))]))])),
    ]
)


def rows(schema: pa.Schema, count: int, start: int = 0) -> pa.Table:
    """``count`` rows of ``schema``; each third value of a column without a meaning of its own is
    null."""
    numbers = range(start, start + count)
    made: dict[str, object] = {
        "flag": [None if i % 3 == 2 else i % 2 == 0 for i in numbers],
        "text": [None if i % 3 == 2 else f"tëxt-{i}" for i in numbers],
        "raw": [None if i % 3 == 2 else i.to_bytes(4, "big") for i in numbers],
        "list": [None if i % 3 == 2 else [{"x": i, "y": "a"}, None] * (i % 3) for i in numbers],
        "map": [None if i % 3 == 2 else [(f"k{i}", {"z": i / 2}), ("n", None)] for i in numbers],
        "struct": [
            None if i % 3 == 2 else {"inner": {"deep": [i, None] if i % 2 else []}} for i in numbers
        ],
        "_hoodie_record_key": [f"key-{i:08d}" for i in numbers],
        "_hoodie_commit_seqno": [f"20250101000000000_0_{i}" for i in numbers],
        "_hoodie_commit_time": ["20250101000000000"] * count,
        "_hoodie_partition_path": ["region=eu"] * count,
        "_hoodie_file_name": ["f-0_0-0-0_20250101000000000"] * count,
    }
    columns = []
    for field in schema:
        if field.name in made:
            columns.append(pa.array(made[field.name], field.type))
            continue
        plain = pa.array([None if i % 3 == 2 else i for i in numbers], pa.int64())
        between = pa.int32() if field.type in (pa.date32(),) else pa.int64()
        if pa.types.is_decimal(field.type):
            columns.append(plain.cast(pa.decimal128(19, 0)).cast(field.type))
        else:
            columns.append(plain.cast(between).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


class WritesFiles:
    """Fixtures, and files that are written."""

    nested: ClassVar[bool] = True

    @pytest.fixture
    def file_format(self) -> BaseFileFormat:
        raise NotImplementedError("override the fixture `file_format`")

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return DirectoryStorage(str(tmp_path / "store"))

    def _schema(self) -> pa.Schema:
        return with_meta(pa.schema([*FLAT, *(NESTED if self.nested else ())]))

    def _write(
        self, file_format: BaseFileFormat, storage: Storage, schema: pa.Schema, *parts: pa.Table
    ) -> str:
        name = f"f-0_0-0-0_20250101000000000{file_format.extension}"
        local = os.path.join(storage.scratch(), "under-construction")
        writer = file_format.writer(local, schema)
        for part in parts:
            writer.write(part)
        size = writer.close()
        assert size == os.path.getsize(local)
        assert storage.put_file_if_absent(name, local)
        return name

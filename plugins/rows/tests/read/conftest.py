"""Tables written by hand, of table version 6: a properties file, JSON commits and Parquet files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import field, frozen
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties, timeline
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_rows.api import Scan
from hoodoo_rows.placement import FOLLOWS
from hoodoo_standard.storage.local import LocalStorage

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("n", pa.int32()),
        ("s", pa.struct([("a", pa.int32())])),
        ("l", pa.list_(pa.struct([("x", pa.int32())]))),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)


@frozen
class PathIsCity:
    """The key generator of these tables, in so far as a reader needs one."""

    record_key_fields: tuple[str, ...] = ("id",)
    partition_fields: tuple[str, ...] = ("city",)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column("id")

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column("city")

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return {"city": None if path == "__HIVE_DEFAULT_PARTITION__" else path}


@frozen
class HandTable:
    """``storage`` counts what is asked of it, if the test wraps one that does."""

    path: Path
    storage: Storage
    more: Mapping[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        lines = {
            "hoodie.table.name": "hand",
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.version": "6",
            "hoodie.timeline.layout.version": "1",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.partition.fields": "city",
            FOLLOWS: "true",
            "hoodie.table.checksum": str(zlib.crc32(b".hand")),
            **self.more,
        }
        home = self.path / ".hoodie"
        home.mkdir(parents=True)
        text = "".join(f"{k}={v}\n" for k, v in lines.items())
        (home / "hoodie.properties").write_text(text)

    def file(self, rows: pa.Table, city: str, file_id: str, instant: str, **options: Any) -> str:
        """A base file with these rows; its meta columns say where a row is from."""
        name = f"{file_id}_0-0-0_{instant}.parquet"
        count = rows.num_rows
        meta = {
            "_hoodie_commit_time": [instant] * count,
            "_hoodie_commit_seqno": [f"{instant}_0_{i}" for i in range(count)],
            "_hoodie_record_key": rows.column("id"),
            "_hoodie_partition_path": [city] * count,
            "_hoodie_file_name": [name] * count,
        }
        columns = {**meta, **{n: rows.column(n) for n in rows.column_names}}
        (self.path / city).mkdir(exist_ok=True)
        schema = with_meta(rows.schema)
        pq.write_table(pa.table(columns, schema=schema), self.path / city / name, **options)
        return f"{city}/{name}"

    def commit(
        self,
        instant: str,
        schema: pa.Schema | None = SCHEMA,
        replaced: Mapping[str, list[str]] | None = None,
        operation: str = "UPSERT",
    ) -> None:
        """Completes ``instant``; its files have been written before."""
        action = "commit" if replaced is None else "replacecommit"
        content = {
            "partitionToWriteStats": {},
            "compacted": False,
            "operationType": operation,
            "extraMetadata": {
                FOLLOWS: json.dumps({"upto": instant, "pending": []}),
                **({"schema": avro_text(schema, "hand")} if schema is not None else {}),
            },
        }
        if replaced is not None:
            content["partitionToReplaceFileIds"] = replaced
        (self.path / ".hoodie" / f"{instant}.{action}").write_text(json.dumps(content))

    @property
    def source(self) -> ReadSource:
        config = properties.load(self.storage)
        loaded = timeline.load(self.storage, config)
        return ReadSource(self.storage, config, loaded, ParquetFormat(), PathIsCity())

    def read(self, meta: bool = False, **wanted: Any) -> Scan:
        return Scan.of(self.source, meta=meta, **wanted)


@pytest.fixture
def hand(tmp_path: Path) -> Callable[..., HandTable]:
    """``hand(storage=None, **properties)`` with ``.`` of a key written ``__``."""

    def make(wrap: Callable[[Storage], Storage] = lambda s: s, **more: str) -> HandTable:
        path = tmp_path / "table"
        properties_ = {key.replace("__", "."): value for key, value in more.items()}
        return HandTable(path, wrap(LocalStorage(str(path))), properties_)

    return make


@pytest.fixture
def rows() -> Callable[..., pa.Table]:
    """``rows(city, ids, schema)``: rows whose other values follow from the id."""

    def make(city: str | None, ids: list[int], schema: pa.Schema = SCHEMA) -> pa.Table:
        made = [
            {
                "id": f"k{i}",
                "city": city,
                "n": i,
                "s": {"a": i},
                "l": [{"x": i}],
                "m": [("k", i)],
            }
            for i in ids
        ]
        return pa.Table.from_pylist(made, schema)

    return make

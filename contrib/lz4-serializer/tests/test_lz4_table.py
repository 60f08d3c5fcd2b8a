"""Tables that are written with it, from end to end, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine

NAME = {"hoodoo.serializer": "arrow_lz4"}
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("tags", pa.list_(pa.string()))])

rows = Maker(SCHEMA, "city", tags=["a", None])


def life(path: Path, kind: str, index: str, **more: Any) -> pa.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", table_type=kind, index=index, **more)
    table.upsert(rows(range(0, 300), "oslo"))
    table.upsert(pa.concat_tables([rows(range(200, 400), "rome"), rows(range(350, 360), "riga")]))
    table.delete(list(range(0, 400, 7)))
    return table.read(columns=SCHEMA.names).to_arrow().sort_by("id")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", ["simple", "global_simple"])
def test_the_same_table_as_by_default(tmp_path: Path, kind: str, index: str) -> None:
    wanted = life(tmp_path / "arrow", kind, index)
    assert life(tmp_path / "lz4", kind, index, options=NAME).equals(wanted)


def test_fewer_bytes_cross_on_the_local_engine(tmp_path: Path) -> None:
    crossed = {}
    for name in ("arrow", "arrow_lz4"):
        options = {"hoodoo.serializer": name}
        table = hoodoo.create(str(tmp_path / name), SCHEMA, record_key="id", options=options)
        engine = MeteredEngine(LocalEngine(2))
        table.upsert(rows(range(0, 20_000), "oslo"), engine=engine)
        crossed[name] = engine.total().bytes
    assert crossed["arrow_lz4"] < crossed["arrow"] * 2 / 3


@pytest.mark.spark
@pytest.mark.parametrize("kind", TYPES)
def test_on_spark(tmp_path: Path, spark: Any, kind: str) -> None:
    wanted = life(tmp_path / "local", kind, "simple")
    assert life(tmp_path / "spark", kind, "simple", engine="spark", options=NAME).equals(wanted)

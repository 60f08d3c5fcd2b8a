"""Small tables on a store, opened as a new process opens them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo.table.table import Table
from hoodoo.testing.crashes import one_thread
from hoodoo.timeline import properties
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.int64()), ("region", pa.string()), ("text", pa.string()), ("ts", pa.int64())]
)

rows = Maker(SCHEMA, "ts", mapped="text", region=lambda key: f"r{key % 2}")


def created(
    uri: str, options: Mapping[str, str], kind: str = "COPY_ON_WRITE", index: str | None = None
) -> Any:
    return hoodoo.create(
        uri, SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type=kind, index=index, options=options,
    )  # fmt: skip


def texts(table: Any, **how: Any) -> dict[int, str]:
    found = table.read(columns=["id", "text"], **how).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found), "a key is there twice"
    return {row["id"]: row["text"] for row in found}


def opened(
    uri: str, options: Mapping[str, str], wrap: Callable[[Storage], Storage] | None = None
) -> Table:
    """One thread, so that the n-th operation is the same in each trial."""
    store = open_storage(uri, options)
    return Table(wrap(store) if wrap else store, properties.load(store), options, one_thread())

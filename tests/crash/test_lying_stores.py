"""A store that says of a file that it exists, and it does not: no commit names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from crash_trials import opened
from hoodoo.errors import StorageError
from hoodoo.testing.stores import Delegating
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])
ACTIONS: dict[str, Callable[[Any], object]] = {
    "upsert": lambda t: t.upsert(rows({1: "new", 9: "new"}, 3)),
    "bulk_insert": lambda t: t.bulk_insert(rows({8: "new"}, 3)),
    "compact": lambda t: t.compact(),
    "cluster": lambda t: t.cluster(order="linear", columns="id"),
}

rows = Maker(SCHEMA, "ts", mapped="v")


class SaysExists(Delegating):
    """Of each file of data, which it does not take."""

    asked = 0

    def put_file_if_absent(self, path: str, local: str) -> bool:
        self.asked += 1
        return False


@pytest.mark.sampled(1)
@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (a, k)
        for a in ACTIONS
        for k in ("COPY_ON_WRITE", "MERGE_ON_READ")
        if k[0] == "M" or a != "compact"
    ],
)
def test_a_file_that_nobody_has_seen_is_not_committed(
    tmp_path: Path, action: str, kind: str, metadata: str
) -> None:
    path = tmp_path / "t"
    table: Any = hoodoo.create(
        str(path), SCHEMA, record_key="id", ordering="ts", table_type=kind,
        options={"hoodie.metadata.enable": metadata},
    )  # fmt: skip
    table.upsert(rows({1: "a", 2: "a"}, 1))
    table.upsert(rows({1: "b"}, 2))
    if (action, kind) == ("cluster", "MERGE_ON_READ"):
        table.compact()  # a slice with log files is left alone
    stores: list[SaysExists] = []

    def lying(inner: Any) -> SaysExists:
        stores.append(SaysExists(inner))
        return stores[0]

    with pytest.raises(StorageError, match="says that it exists, and it does not"):
        ACTIONS[action](opened(path, lying))
    assert stores[0].asked
    again: Any = hoodoo.open(str(path))
    again.upsert(rows({3: "c"}, 4))
    found = again.read(columns=["id", "v"]).to_arrow().to_pylist()
    assert {row["id"]: row["v"] for row in found} == {1: "b", 2: "a", 3: "c"}
    assert not again.verify().findings

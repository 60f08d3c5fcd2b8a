"""Hundreds of tables below a prefix of an object store are listed in seconds."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import hoodoo
import pytest
from hoodoo.errors import HoodooError
from hoodoo.table.settings import open_storage
from hoodoo_cli.tables_below import tables_below

MANY = 500


@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
@pytest.mark.sampled(2, among="long")
def test_many_tables(place: tuple[str, dict[str, str]]) -> None:
    uri, options = place
    made = hoodoo.create(f"{uri}/first", "id bigint", record_key="id", options=options)
    made.insert([{"id": 1}])
    storage = open_storage(uri, options)
    text = storage.get("first/.hoodie/hoodie.properties")
    files = {"hoodie.properties": text, "timeline/20240101000000000_20240101000001000.commit": b""}
    puts = [
        partial(storage.put, f"team{number % 10}/t{number:03}/.hoodie/{name}", data)
        for number in range(1, MANY)
        for name, data in files.items()
    ]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda put: put(), puts))
    begun = time.monotonic()
    first, *others = tables_below(uri, options)
    took = time.monotonic() - begun
    assert first.name == "first" and first.last == made.timeline().writes()[-1]
    assert first.path == made.path
    assert len(others) == MANY - 1 and {table.state for table in others} == {"ok"}
    assert {table.last and table.last.requested for table in others} == {"20240101000000000"}
    assert took < 10, f"{took:.1f} s"


@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
def test_nothing_there(place: tuple[str, dict[str, str]]) -> None:
    uri, options = place
    with pytest.raises(HoodooError, match="has nothing below it"):
        tables_below(uri, options)


def test_no_bucket_and_no_permission(s3_server: object) -> None:
    options: dict[str, str] = s3_server.options  # type: ignore[attr-defined]
    with pytest.raises(HoodooError, match="bucket"):
        list(tables_below("s3://there-is-no-such-bucket/lake", options))

"""Columns of Hudi 1.2's types in tables on object stores: bytes of blobs are read by their place, vectors are found."""

from __future__ import annotations

from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, StorageError

SCHEMA = "id bigint, wall timestamp_ntz, emb VECTOR(2), event VARIANT, photo BLOB"


def row(number: int, photo: Any) -> dict[str, Any]:
    return {"id": number, "emb": [number, 1.0], "event": {"n": number}, "photo": photo}


def outside(path: str, **more: int) -> dict[str, Any]:
    return {"type": "OUT_OF_LINE", "reference": {"external_path": path, **more}}


@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_types_of_hudi_1_2(place: tuple[str, dict[str, str]], kind: str) -> None:
    path, options = place
    table = hoodoo.create(path, SCHEMA, record_key="id", table_type=kind, options=options)
    table.handle.storage.put("files/cat.jpg", b"....the cat....")
    blobs = [b"bytes", outside("files/cat.jpg", offset=4, length=7), outside("files/gone.jpg")]
    blobs.append(outside("../other/cat.jpg"))
    table.upsert([row(n, blob) for n, blob in enumerate(blobs)])
    table.upsert([row(2, outside("files/gone.jpg"))])
    found = table.read_blob("photo", where="id < 2").sort_by("id")
    assert found["photo"].to_pylist() == [b"bytes", b"the cat"]
    with pytest.raises(StorageError, match="gone"):
        table.read_blob("photo", where="id = 2")
    with pytest.raises(ConfigError, match="other/cat"):
        table.read_blob("photo", where="id = 3")
    nearest = table.search("emb", [2.2, 1.0], k=2, columns=["id"], where="event:n > 0")
    assert nearest["id"].to_pylist() == [2, 3]
    table.alter(rename={"emb": "vector"})
    again = hoodoo.open(path, options).search("vector", [2.2, 1.0], k=2, columns=["id"])
    assert again["id"].to_pylist() == [2, 3]

"""Many rows that wait for stored ones: what is done otherwise for many keys answers as it does for few."""

from __future__ import annotations

import random
from pathlib import Path

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo_formats.parquet import in_place
from hoodoo_rows.merge import meet, pairs
from hoodoo_rows.model import key_hash as hashing
from hoodoo_rows.write import merge_file
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.index import lookup

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])


def _rows(ids: list[int], ts: int) -> pa.Table:
    columns = [[f"k{i}" for i in ids], [("ab"[i % 2]) for i in ids], [ts] * len(ids)]
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(params=["written anew", "copied"])
def many(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Two keys are many; of small files, too, what does not change is copied."""
    if request.param == "copied":
        monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    for module, names in (
        (merge_file, ["_MANY"]), (meet, ["_AHEAD"]), (pairs, ["MANY"]), (lookup, ["MANY", "_WINDOW_BYTES"]),
    ):  # fmt: skip
        for name in names:
            monkeypatch.setattr(module, name, 2)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", ["simple", "bloom", "record_index", "bucket"])
@pytest.mark.sampled(2)
def test_many_are_as_few(tmp_path: Path, index: str, kind: str) -> None:
    draw = random.Random(f"{index} {kind}")
    more = {"hoodie.bucket.index.num.buckets": "1"} if index == "bucket" else {}
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="id", partition_by="city", ordering="ts", index=index,
        table_type=kind, options={"hoodie.parquet.max.file.size": "1000000", **more}, engine=LocalEngine(1),
    )  # fmt: skip
    model: dict[int, int] = {}
    for ts in range(1, 9):
        ids = draw.sample(range(60), 25)
        ids += draw.sample(ids, 5) if index != "record_index" else []
        if ts % 4 == 3:
            table.delete(_rows(ids, ts).select(["id", "city"]))
            model = {i: v for i, v in model.items() if i not in ids}
        else:
            table.upsert(_rows(ids, ts))
            model.update(dict.fromkeys(ids, ts))
        found = table.read(columns=["id", "ts"]).to_arrow().to_pydict()
        assert sorted(zip(found["id"], found["ts"], strict=True)) == sorted(
            (f"k{i}", v) for i, v in model.items()
        )


def test_the_places_of_stored_keys_are_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows go, and those behind them move."""
    table = hoodoo.create(tmp_path / "t", SCHEMA, record_key="id", index="simple", engine=LocalEngine(1))  # fmt: skip
    table.upsert(_rows([*range(5000)], 1))
    asked, places = list[int](), meet.KeyJoin.places

    def counted(waiting: meet.KeyJoin, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        asked.append(len(keys))
        return places(waiting, keys)

    monkeypatch.setattr(meet.KeyJoin, "places", counted)
    monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    table.delete(_rows([*range(50)], 2).select(["id"]))
    assert asked == [5000]
    assert table.read().to_arrow().num_rows == 4950


def test_hashes_are_the_same_however_long_keys_are() -> None:
    """What files and tasks go by: the sum over bytes, one string at a time."""
    draw = random.Random(1)
    letters = "abcé→𝄞0"
    for longest in (1, 7, 63, 64, 65, 300):
        keys = ["".join(draw.choices(letters, k=draw.randint(0, longest))) for _ in range(40)]
        keys += [letters[0] * longest]
        assert hashing.key_hash(pa.array(keys)).tolist() == [_slowly(key.encode()) for key in keys]
        assert hashing.key_hash(pa.array(keys).slice(3, 5)).tolist() == [
            _slowly(key.encode()) for key in keys[3:8]
        ]


def _slowly(key: bytes) -> int:
    weights = hashing._WEIGHTS.tolist()
    total = len(key) * weights[0]
    for place, byte in enumerate(key):
        total += (byte + 1) * weights[place % 256] + place // 256
    return int(hashing._mix(np.array([total % (1 << 64)], np.uint64))[0])


def test_whether_keys_differ() -> None:
    assert hashing.all_differ(pa.chunked_array([], pa.string()))
    assert hashing.all_differ(pa.chunked_array([["a", "b"], ["c"]]))
    assert not hashing.all_differ(pa.chunked_array([["a", "b"], ["a"]]))
    assert not hashing.all_differ(pa.chunked_array([["a", "b"]]).dictionary_encode())

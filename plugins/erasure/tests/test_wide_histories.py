"""After an erasure no byte of a key is in any file, on each type of table, index and store.

Each case tries one history, with ``HOODOO_TRIALS=more`` ten, with ``HOODOO_TRIALS=all`` a hundred;
on a local directory, on moto, and on versitygw where HOODOO_VERSITYGW names the program.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
from hoodoo.errors import ConfigError
from hoodoo_erasure.proof import is_genuine
from independent import files_with
from lived import PEOPLE
from wide import CASES, ROWS, Past

sys.path.append(str(Path(__file__).resolve().parents[2] / "cloud/tests"))

from servers import SERVERS

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
COUNT = {"more": 10, "all": 100}.get(os.environ.get("HOODOO_TRIALS") or "some", 1)
KEY = b"0123456789abcdef0123456789abcdef"
STORES = ["local", "moto"] + (["versitygw"] if os.environ.get("HOODOO_VERSITYGW") else [])


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    begun: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in begun:
            entered = SERVERS[name](tmp_path_factory.mktemp(name))
            begun[name] = entered, entered.__enter__()
        return begun[name][1]

    yield of
    for entered, _ in begun.values():
        entered.__exit__(None, None, None)


@pytest.fixture
def place(
    request: pytest.FixtureRequest, servers: Any, tmp_path: Path
) -> tuple[str, dict[str, str]]:
    if request.param == "local":
        return str(tmp_path), {}
    server = servers(request.param)
    return server.bucket(f"b-{uuid4().hex}"), server.options


def check(path: str, store: Mapping[str, str], past: Past) -> None:
    table, done = past.made(path, store)
    case = f"{past} {done}"
    chance = random.Random(past.seed)
    person = chance.choice(PEOPLE)
    storage = table.handle.storage
    numbers = [n for n in range(ROWS) if PEOPLE[n % len(PEOPLE)] == person]
    texts = [*map(past.sought, numbers), person]
    assert files_with(storage, texts), case
    before = state(table)
    how: dict[str, Any] = {"where": f"person = '{person}'"}
    if len(past.keys) == 1 and chance.random() < 0.5:
        how = {"keys": [past.key(number) for number in numbers]}
    points = [point.instant for point in table.savepoints()]
    if points:
        with pytest.raises(ConfigError) as caught:
            table.erase(**how)
        assert all(point in str(caught.value) for point in points), case
        assert all(name in str(caught.value) for name in table.tags()), case
    erased = table.erase(**how, look_for=[person], prove=KEY, drop_savepoints=bool(points))
    left = files_with(storage, texts)
    assert not left, (case, left)
    assert erased.proven, (case, erased.report["found"], erased.report["unread"])
    report = json.loads(json.dumps(erased.report))
    assert is_genuine(report, KEY) and not is_genuine(report, KEY[1:]), case
    assert not any(text in json.dumps(report) for text in texts), case
    again = hoodoo.open(path, dict(store))
    assert state(again) == {k: v for k, v in before.items() if v[0] != person}, case
    assert again.tags() == {}, case
    findings = again.verify()
    assert findings.ok, (case, findings.findings)
    with suppress(ConfigError):
        again.publish()
    again.upsert(past.rows([0, 1], 200))
    assert not files_with(storage, [t for t in texts if t not in {*map(past.sought, (0, 1))} | {
        PEOPLE[0], PEOPLE[1]}]), case  # fmt: skip


def state(table: hoodoo.Table) -> dict[Any, tuple[str, int]]:
    rows = table.read(["id", "person", "ts"]).to_arrow().to_pylist()
    return {row["id"]: (row["person"], row["ts"]) for row in rows}


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("place", ["local", "moto"], indirect=True)
def test_one_of_them(place: tuple[str, dict[str, str]]) -> None:
    root, store = place
    kind, index = random.Random(SEED).choice(CASES)
    check(f"{root}/t", store, Past.drawn(SEED, kind, index))


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "index"), CASES)
@pytest.mark.parametrize("place", STORES, indirect=True)
def test_no_byte_of_the_keys(place: tuple[str, dict[str, str]], kind: str, index: str) -> None:
    root, store = place
    for number in range(COUNT):
        check(f"{root}/t{number}", store, Past.drawn(SEED + number, kind, index))

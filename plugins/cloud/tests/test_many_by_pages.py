"""Tables below a prefix are found with few requests: many small ones by pages of all names, large ones one by one; and
they are those that a walk by folders finds."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import hoodoo
import pytest
from hoodoo.table.settings import open_storage, typed_options
from hoodoo.testing.stores import Delegating
from hoodoo_cli.by_pages import by_pages
from hoodoo_cli.tables_below import tables_below
from shaping import Request
from small_s3 import Kept, SmallS3, small_s3

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
TIMELINE = (
    "20240101000000000_20240101000001000.commit",
    "20240102000000000_20240102000001000.deltacommit",
    "20240103000000000.commit.requested",
)


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    place = tmp_path_factory.mktemp("first")
    hoodoo.create(place, "id bigint", record_key="id")
    return (Path(place) / ".hoodie/hoodie.properties").read_bytes()


@pytest.fixture
def store() -> Iterator[SmallS3]:
    with small_s3() as found:
        yield found


def put(store: SmallS3, key: str, data: bytes = b"") -> None:
    store.objects[key] = Kept(data, {}, 1700000000.0, '"x"')


def table(store: SmallS3, path: str, properties: bytes, files: int = 20) -> None:
    put(store, f"{path}/.hoodie/hoodie.properties", properties)
    for name in TIMELINE:
        put(store, f"{path}/.hoodie/timeline/{name}")
    put(store, f"{path}/.hoodie/metadata/.hoodie/hoodie.properties", properties)
    put(store, f"{path}/.hoodie/metadata/.hoodie/timeline/20240109000000000_2.deltacommit")
    for number in range(files):
        put(store, f"{path}/oslo/f{number:05}_0-1-0_20240101000000000.parquet")


def listed(store: SmallS3, place: str) -> tuple[Any, Counter[str]]:
    """The tables, and what was asked for."""
    asked: Counter[str] = Counter()

    def rule(request: Request) -> None:
        query = parse_qs(urlsplit(request.target).query)
        listing = "children" if "delimiter" in query else "page"
        asked[listing if "list-type" in query else request.method] += 1

    store.rule = rule
    found = list(tables_below(place, store.options))
    store.rule = None
    return found, asked


@pytest.mark.parametrize(("folders", "most"), [(10, 40), (1, 425)])
def test_a_request_for_each_of_many_small_tables(
    store: SmallS3, properties: bytes, folders: int, most: int
) -> None:
    for number in range(500):
        table(store, f"lake/team{number % folders}/t{number:03}", properties)
    found, asked = listed(store, "s3://b/lake")
    assert [one.name for one in found] == sorted(one.name for one in found)
    assert len(found) == 500 and {one.state for one in found} == {"ok"}
    assert {one.last and one.last.requested for one in found} == {"20240102000000000"}
    assert {one.pending for one in found} == {1}
    assert asked["GET"] <= 500 + 2 * folders, asked
    assert asked["children"] + asked["page"] <= most, asked


def test_folders_that_fill_pages_are_listed_side_by_side(store: SmallS3, properties: bytes) -> None:
    """Pages of what is above them would come one after another."""
    for number in range(180):
        table(store, f"lake/team{number % 3}/t{number:03}", properties)
    pages: Counter[str] = Counter()

    def rule(request: Request) -> None:
        query = parse_qs(urlsplit(request.target).query)
        pages.update(() if "delimiter" in query else query.get("prefix", ()))

    store.rule = rule
    assert len([*tables_below("s3://b/lake", store.options)]) == 180
    assert pages == {"lake/": 1, **{f"lake/team{number}/": 2 for number in range(3)}}


def test_large_tables_cost_no_more_than_two_requests(store: SmallS3, properties: bytes) -> None:
    for number in range(12):
        table(store, f"lake/t{number:02}", properties, files=1100)
    found, asked = listed(store, "s3://b/lake")
    assert len(found) == 12 and {one.pending for one in found} == {1}
    assert asked == {"GET": 12, "children": 13, "page": 1}


def test_pages_that_may_not_be_listed(store: SmallS3, properties: bytes) -> None:
    """As a policy may have it that allows listings with a delimiter alone."""
    table(store, "lake/a/t", properties)
    storage = open_storage("s3://b/lake", typed_options(store.options))

    class Refusing(Delegating):
        def pages(self, prefix: str = "") -> Iterator[Any]:
            raise hoodoo.errors.StorageError(prefix, "access is denied.", "Ask for it.")

    assert [one.name for one in tables_below(Refusing(storage))] == ["a/t"]


def test_a_listing_in_no_order_is_not_believed(store: SmallS3) -> None:
    """Directory buckets list names as they come."""
    for name in ("b/x", "a/x"):
        put(store, f"lake/{name}")
    storage = open_storage("s3://b/lake", typed_options(store.options))
    real = store._list
    ordered = store.objects

    def backwards(query: dict[str, str]) -> Any:
        status, headers, body = real(query)
        first, second = body.find(b"<Contents>"), body.rfind(b"<Contents>")
        end = body.rfind(b"</ListBucketResult>")
        return status, headers, body[:first] + body[second:end] + body[first:second] + body[end:]

    assert len(ordered) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SmallS3, "_list", lambda self, query: backwards(query))
        assert by_pages(storage, "", ["a", "b"]).left == ["a", "b"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(24))
def test_as_a_walk_by_folders_finds_them(store: SmallS3, properties: bytes, number: int) -> None:
    chance = random.Random(f"{SEED} {number}")
    names = ["a", "a-b", "a b", "ä", "b", "_old", ".trash", "!x", "z", "t"]
    for _ in range(chance.randrange(1, 40)):
        path = "/".join(
            ["lake", *(chance.choice(names) for _ in range(chance.choice([1, 2, 2, 3, 9, 13])))]
        )
        what = chance.random()
        if what < 0.65:
            table(store, path, properties, chance.choice([0, 3, 30, 400, 1200]))
        elif what < 0.75:
            put(store, f"{path}/_delta_log/00.json")
        elif what < 0.8:
            put(store, f"{path}/.hoodie/hoodie.properties", b"hoodie.table.checksum=1\n")
        elif what < 0.85:
            put(store, f"{path}/.hoodie")
        else:
            for file in range(chance.choice([1, 700, 2100])):
                put(store, f"{path}/raw{file:04}")
    storage = open_storage("s3://b/lake", typed_options(store.options))
    walked = list(tables_below(Delegating(storage)))
    found = list(tables_below(storage))
    assert {one.name: (one.state, one.mark, one.pending) for one in found} == {
        one.name: (one.state, one.mark, one.pending) for one in walked
    }
    assert len(found) == len(walked)

"""Whole tables on object stores: written, maintained and read."""

from __future__ import annotations

import pickle
from typing import Any

import hoodoo
import pytest
from hoodoo.table.settings import open_storage
from small_tables import created, opened, rows, texts

BOTH = pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)


@BOTH
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_life_of_a_table(place: tuple[str, dict[str, str]], kind: str) -> None:
    uri, options = place
    table = created(uri, options, kind)
    first = table.upsert(rows(dict.fromkeys(range(10), "a"), 1)).instant
    table.upsert(rows(dict.fromkeys(range(5), "b"), 2))
    table.delete(rows({9: "a"}, 3))
    right = {n: "b" if n < 5 else "a" for n in range(9)}
    assert texts(hoodoo.open(uri, options)) == right
    assert texts(hoodoo.open(uri, options), as_of=first) == dict.fromkeys(range(10), "a")
    if kind == "MERGE_ON_READ":
        assert table.compact() is not None
        assert texts(hoodoo.open(uri, options)) == right
    table.cluster(order="linear", columns="id")
    table.upsert(rows({20: "c"}, 4))
    table.clean(commits_retained=1)
    again = hoodoo.open(uri, options)
    assert texts(again) == right | {20: "c"}
    assert not again.verify().findings


@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_the_store_travels_without_variables(
    place: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, options = place
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["aws_secret_access_key"])
    monkeypatch.setenv("AWS_REGION", options["region"])
    created(uri, {}).upsert(rows({1: "a"}, 1))
    store: Any = open_storage(uri, {})
    assert "secret-secret" not in repr(store)
    packed = pickle.dumps(store)
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    assert pickle.loads(packed).get(".hoodie/hoodie.properties")
    assert texts(opened(uri, options)) == {1: "a"}

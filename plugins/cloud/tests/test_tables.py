"""Whole tables on object stores: written, maintained and read."""

from __future__ import annotations

import pickle
from typing import Any

import hoodoo
import pytest
from hoodoo.table.settings import open_storage
from small_tables import created, opened, rows, texts

pytestmark = pytest.mark.sampled(4)

BOTH = pytest.mark.parametrize("place", ["memory", "server"], indirect=True)


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


# Cleaning and archiving after each write, or in a thread beside it.
UPKEEP = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
}
BESIDE = {"hoodie.clean.async.enabled": "true", "hoodie.archive.async": "true"}


@BOTH
@pytest.mark.parametrize(
    ("kind", "index"), [("COPY_ON_WRITE", "simple"), ("MERGE_ON_READ", "record_index")]
)
@pytest.mark.parametrize("how", [{}, BESIDE], ids=["after the write", "beside it"])
def test_it_is_cleaned_and_archived(
    place: tuple[str, dict[str, str]], kind: str, index: str, how: dict[str, str]
) -> None:
    uri, options = place
    created(uri, options, kind, index)
    table: Any = hoodoo.open(uri, options | UPKEEP | how)
    right = {}
    for turn in range(10):
        right |= {1: f"{turn}", 10 + turn: "new"}
        table.upsert(rows({1: f"{turn}", 10 + turn: "new"}, turn))
        assert texts(table) == right
    table.run("services_beside")
    assert any(instant.action == "clean" for instant in table.timeline().instants)
    assert not table.timeline().pending()
    again: Any = hoodoo.open(uri, options)
    assert texts(again) == right
    assert not again.verify().findings


# What a table on each server needs, as the variables of its cloud.
VARIABLES = {
    "endpoint": "AWS_ENDPOINT_URL",
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "region": "AWS_REGION",
    "google_base_url": "GOOGLE_BASE_URL",
    "google_service_account_key": "GOOGLE_SERVICE_ACCOUNT_KEY",
    "account_name": "AZURE_STORAGE_ACCOUNT_NAME",
    "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
    "azure_endpoint": "AZURE_STORAGE_ENDPOINT",
}


@pytest.mark.parametrize("place", ["server"], indirect=True)
def test_variables_are_enough_and_the_store_travels_without_them(
    place: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, options = place
    said = {VARIABLES[key]: value for key, value in options.items() if key in VARIABLES}
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    created(uri, {}).upsert(rows({1: "a"}, 1))
    store: Any = open_storage(uri, {})
    secrets = {"AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "GOOGLE_SERVICE_ACCOUNT_KEY"}
    assert secrets & said.keys()
    assert not any(said[name] in repr(store) for name in secrets & said.keys())
    packed = pickle.dumps(store)
    for name in said:
        monkeypatch.delenv(name)
    assert pickle.loads(packed).get(".hoodie/hoodie.properties")
    assert texts(opened(uri, options)) == {1: "a"}

"""The contract of stores, on memory and on a server."""

from __future__ import annotations

import concurrent.futures as futures
import os
from typing import Any
from uuid import uuid4

import pytest
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo.testing.contracts.storage import StorageContract
from servers import Server

pytestmark = pytest.mark.sampled(4)

MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")


class TestMemory(StorageContract):
    picklable = False

    @pytest.fixture
    def storage(self) -> Storage:
        return open_storage(f"memory://{uuid4().hex}/a/table", {})


class TestServer(StorageContract):
    @pytest.fixture
    def storage(self, server: Server) -> Storage:
        return open_storage(f"{server.bucket(f'b-{uuid4().hex}')}/a table", server.options)


if MORE:

    class TestRootOfABucket(StorageContract):
        """The table is the bucket."""

        @pytest.fixture
        def storage(self, server: Server) -> Storage:
            return open_storage(f"{server.bucket(f'b-{uuid4().hex}')}/", server.options)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_each_scheme_of_s3(s3_server: Server, scheme: str) -> None:
    uri = s3_server.bucket(f"b-{uuid4().hex}").replace("s3:", f"{scheme}:") + "/t"
    storage: Any = open_storage(uri, s3_server.options)
    assert storage.root == uri
    assert storage.put_if_absent("x", b"1")
    assert storage.get("x") == b"1"


def test_many_are_listed_in_pages_and_deleted_together(server: Server) -> None:
    storage = open_storage(server.bucket(f"b-{uuid4().hex}") + "/t", server.options)
    wanted = sorted(f"d/{n % 7}/{n}" for n in range(1100 if MORE else 1010))
    with futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda path: storage.put_if_absent(path, b"1"), wanted))
    assert [entry.path for entry in storage.list("d", recursive=True)] == wanted
    assert storage.delete_prefix("d") == len(wanted)
    assert storage.list() == []

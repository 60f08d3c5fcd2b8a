"""Object stores for the tests: memory, and a server on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from counted import count
from servers import SERVERS, Server

CHOSEN = os.environ.get("HOODOO_STORE", "moto")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """HOODOO_STORE says which one; moto needs no tool chain."""
    folder = tmp_path_factory.mktemp("server")
    with SERVERS[CHOSEN](folder) as started:
        yield started


@pytest.fixture
def s3_server(server: Server) -> Server:
    """One that speaks S3."""
    if server.scheme != "s3":
        pytest.skip(f"{server.name} does not speak S3")
    return server


@pytest.fixture
def place(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """``(URI of an empty place, options)``; parametrize it indirectly with ``memory`` or ``server``."""
    name = f"b-{uuid4().hex}"
    if request.param == "memory":
        return f"memory://{name}/a table", {}
    started: Server = request.getfixturevalue("server")
    return f"{started.bucket(name)}/some/table", started.options


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Once for each test, where pytest has processes that work for it, too."""
    told = "PYTEST_XDIST_WORKER" not in os.environ and report.when == "call" and report.passed
    if told and "test_contract.py::TestServer" in report.nodeid:
        count("test of the contract")

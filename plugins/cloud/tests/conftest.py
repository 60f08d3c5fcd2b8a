"""Object stores for the tests: memory, and a server of S3 on loopback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import Server, moto, versitygw

SERVERS = {"moto": moto, "versitygw": versitygw}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """HOODOO_S3_SERVER says which one; moto needs no tool chain."""
    folder = tmp_path_factory.mktemp("server")
    with SERVERS[os.environ.get("HOODOO_S3_SERVER", "moto")](folder) as started:
        yield started


@pytest.fixture
def place(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """``(URI of an empty place, options)``; parametrize it indirectly with ``memory`` or ``s3``."""
    name = f"b-{uuid4().hex}"
    if request.param == "memory":
        return f"memory://{name}/a table", {}
    started: Server = request.getfixturevalue("server")
    return f"{started.bucket(name)}/some/table", started.options

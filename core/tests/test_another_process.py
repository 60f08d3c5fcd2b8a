"""Another process has other hashes of texts: what goes by them answers otherwise there, and contract suites see it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.testing.another_process import answered

KEYS = pa.array([f"key-{number}" for number in range(50)])
SOURCE = """
import zlib
import pyarrow as pa

class ByHash:
    def bucket(self, keys):
        return pa.array([hash(key) % 64 for key in keys.to_pylist()])

class ByChecksum:
    def bucket(self, keys):
        return pa.array([zlib.crc32(key.encode()) % 64 for key in keys.to_pylist()])

    def fails(self, keys):
        raise ValueError("on purpose")
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "of_another_process.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("of_another_process")
    del sys.modules["of_another_process"]


def test_hashes_of_texts_are_others_there(made: Any) -> None:
    found = answered(made.ByHash(), "bucket", KEYS, None)
    assert found is not None and found != made.ByHash().bucket(KEYS)
    assert answered(made.ByChecksum(), "bucket", KEYS, None) == made.ByChecksum().bucket(KEYS)


def test_an_error_there_is_one_here(made: Any) -> None:
    with pytest.raises(AssertionError, match="on purpose"):
        answered(made.ByChecksum(), "fails", KEYS, None)


def test_a_class_that_can_not_be_imported_there(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    assert answered(made.ByHash(), "bucket", KEYS, "otherwise") == "otherwise"

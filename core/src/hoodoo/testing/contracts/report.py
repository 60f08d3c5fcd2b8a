"""What every report promises: the contract of :class:`hoodoo.hookspecs.report.Reporter` as tests.

Usage::

    class TestMine(ReportContract):
        @pytest.fixture
        def reporter(self):
            return MyReport(...)

        @pytest.fixture
        def arguments(self):
            return {"columns": ["city"]}
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.report import Reporter
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline import properties
from hoodoo.timeline.create import init_table
from hoodoo.timeline.timeline import load

_TABLE = {"hoodie.table.name": "trips", "hoodie.table.version": "9"}
_SCHEMA = '{"type": "record", "name": "trips", "fields": [{"name": "city", "type": "string"}]}'
_FIRST, _DONE, _PENDING = "20240101000000000", "20240101000001000", "20240102000000000"


def _files(storage: DirectoryStorage) -> dict[str, tuple[bytes, int]]:
    below = Path(storage.root.removeprefix("file://"))
    found = (path for path in sorted(below.rglob("*")) if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


class ReportContract:
    """Subclass, and answer the fixture ``reporter``; ``arguments``, too, if the report needs
    some."""

    @pytest.fixture
    def reporter(self) -> Reporter:
        raise NotImplementedError("override the fixture `reporter`")

    @pytest.fixture
    def arguments(self) -> Mapping[str, Any]:
        return {}

    @pytest.fixture
    def storage(self, tmp_path: Path) -> DirectoryStorage:
        """A table without a write."""
        storage = DirectoryStorage(str(tmp_path / "trips"))
        init_table(storage, TableConfig({**_TABLE, "hoodie.table.create.schema": _SCHEMA}))
        return storage

    @pytest.fixture
    def written(self, storage: DirectoryStorage) -> DirectoryStorage:
        """A table with a commit that wrote no file, and one that goes on."""
        said = CommitMetadata(Operation.UPSERT, (), extra={"schema": _SCHEMA})
        data = load(storage, properties.load(storage)).layout.encode_commit(said, "commit")
        storage.put(f".hoodie/timeline/{_FIRST}_{_DONE}.commit", data)
        storage.put(f".hoodie/timeline/{_PENDING}.commit.requested", b"")
        return storage

    def test_a_table_without_a_write(
        self, reporter: Reporter, arguments: Mapping[str, Any], storage: DirectoryStorage
    ) -> None:
        _looked_at(reporter, arguments, storage, _parquet())

    def test_a_commit_and_one_that_goes_on(
        self, reporter: Reporter, arguments: Mapping[str, Any], written: DirectoryStorage
    ) -> None:
        _looked_at(reporter, arguments, written, _parquet())

    def test_no_plugin_offers_the_format(
        self, reporter: Reporter, arguments: Mapping[str, Any], written: DirectoryStorage
    ) -> None:
        """The report says what it can without it, or names what is missing."""
        with suppress(HoodooError):
            _looked_at(reporter, arguments, written, None)


def _looked_at(
    reporter: Reporter,
    arguments: Mapping[str, Any],
    storage: DirectoryStorage,
    file_format: BaseFileFormat | None,
) -> None:
    """An answer of the same type twice, and nothing changed."""
    before = _files(storage)
    config = properties.load(storage)
    source = ReadSource(storage, config, load(storage, config), file_format)
    first = reporter.report(source, **arguments)
    assert first is not None, "a report says something of every table"
    assert type(reporter.report(source, **arguments)) is type(first)
    assert _files(storage) == before, "a report changes nothing"


def _parquet() -> BaseFileFormat:
    found: BaseFileFormat = resolve("file_format", "PARQUET").instance
    return found

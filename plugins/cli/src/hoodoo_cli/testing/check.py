"""What every check promises: the contract of :class:`hoodoo_cli.hookspecs.check.Check` as tests.

Usage::

    class TestMine(CheckContract):
        @pytest.fixture
        def check(self):
            return MyCheck()
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError
from hoodoo.model.findings import Finding, Found
from hoodoo.table.table import create
from hoodoo.testing.directory import DirectoryStorage

from hoodoo_cli.hookspecs.check import Check

_SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])


class CheckContract:
    """Subclass, and answer the fixture ``check``."""

    @pytest.fixture
    def check(self) -> Check:
        raise NotImplementedError("override the fixture `check`")

    @pytest.mark.parametrize("engine", [None, "local"])
    def test_the_environment(self, check: Check, engine: str | None) -> None:
        """It answers wherever it runs, and each finding says what to do."""
        _well_said(check.environment(engine))

    @pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
    def test_a_good_table(self, check: Check, tmp_path: Path, table_type: str) -> None:
        """Nothing is wrong with a table that was just written, and looking changes nothing."""
        path = tmp_path / "t"
        table = create(str(path), _SCHEMA, name="t", record_key="id", table_type=table_type)
        table.upsert(pa.table({"id": [1, 2], "v": ["a", "b"]}, _SCHEMA))
        before = dict(_files(path))
        found = check.table(DirectoryStorage(str(path)), probe=True)
        assert not found.findings
        assert dict(_files(path)) == before

    def test_no_table(self, check: Check, tmp_path: Path) -> None:
        """A folder without a table is no reason to fail in another way than by errors of Hoodoo."""
        storage = DirectoryStorage(str(tmp_path))
        try:
            _well_said(check.table(storage, probe=False))
        except HoodooError as error:
            assert error.fix
        assert list(_files(tmp_path)) == []

    def test_damaged_properties(self, check: Check, tmp_path: Path) -> None:
        (tmp_path / ".hoodie").mkdir()
        (tmp_path / ".hoodie/hoodie.properties").write_text("hoodie.table.name")
        try:
            _well_said(check.table(DirectoryStorage(str(tmp_path)), probe=False))
        except HoodooError as error:
            assert error.fix


def _well_said(found: Found) -> None:
    for finding in found.findings:
        _says_what_to_do(finding)


def _says_what_to_do(finding: Finding) -> None:
    assert finding.kind.count(".") == 1, f"{finding.kind!r} is not of the form part.fault"
    assert finding.obj and finding.rule, finding
    assert finding.fix.strip(), f"{finding} does not say what to do"


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()

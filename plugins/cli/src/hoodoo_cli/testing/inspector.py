"""What every inspector promises: the contract of :class:`hoodoo_cli.hookspecs.inspector.Inspector`
as tests.

Usage::

    class TestMine(InspectorContract):
        @pytest.fixture
        def inspector(self):
            return MyInspector()

        @pytest.fixture
        def file(self, tmp_path):
            return write_one_of_my_files(tmp_path)
"""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from hoodoo.errors import HoodooError
from hoodoo.testing.directory import DirectoryStorage

from hoodoo_cli.hookspecs.inspector import HEAD, Inspected, Inspector


class InspectorContract:
    """Subclass, and answer the fixtures ``inspector`` and ``file``, a local file of its kind with
    at least two rows."""

    @pytest.fixture
    def inspector(self) -> Inspector:
        raise NotImplementedError("override the fixture `inspector`")

    @pytest.fixture
    def file(self) -> Path:
        raise NotImplementedError("override the fixture `file`")

    def inspected(self, inspector: Inspector, file: Path, rows: int = 1) -> Inspected:
        """What it says of the file."""
        return inspector.inspect(DirectoryStorage(str(file.parent)), file.name, rows)

    def test_it_accepts_its_files_only(self, inspector: Inspector, file: Path) -> None:
        assert inspector.accepts(file.name, file.read_bytes()[:HEAD])
        assert not inspector.accepts("notes.txt", b"some notes")
        assert not inspector.accepts("notes.txt", b"")

    def test_what_it_says_is_json(self, inspector: Inspector, file: Path) -> None:
        found = self.inspected(inspector, file)
        assert found.kind and "\n" not in found.kind
        assert json.loads(json.dumps(attrs.asdict(found)))["kind"] == found.kind

    def test_no_more_rows_than_wanted(self, inspector: Inspector, file: Path) -> None:
        for wanted in (0, 1):
            parts = self.inspected(inspector, file, wanted).parts
            assert all(len(parts.get(title, ())) <= wanted for title in ("rows", "entries"))

    def test_it_changes_nothing(self, inspector: Inspector, file: Path) -> None:
        before = {path: path.read_bytes() for path in file.parent.iterdir() if path.is_file()}
        self.inspected(inspector, file)
        after = {path: path.read_bytes() for path in file.parent.iterdir() if path.is_file()}
        assert after == before

    @pytest.mark.parametrize("left", [0.1, 0.5, 0.9])
    def test_damaged_files(self, inspector: Inspector, file: Path, left: float) -> None:
        """A file that was cut is shown as far as possible, or an error of Hoodoo says what is
        wrong."""
        data = file.read_bytes()
        file.write_bytes(data[: int(len(data) * left)])
        try:
            found = self.inspected(inspector, file)
        except HoodooError as error:
            assert error.obj and error.rule
        else:
            json.dumps(attrs.asdict(found))

"""What every source promises: the contract of :class:`hoodoo_ingest.hookspecs.source.Source` as
tests.

Usage::

    class TestMine(SourceContract):
        @pytest.fixture
        def source(self):
            return "mine"  # its name, if it is installed, or an object

        def given(self, folder):
            return {"path": str(folder)}  # keys of the section [source]

        def add(self, folder, ids):
            ...  # rows with these ids are there, in the source that given() describes

The rows have the column ``id``, of type int64.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo.kernel.resolve import resolve

from hoodoo_ingest.hookspecs.source import (
    BAD_ROWS,
    Around,
    Key,
    Portion,
    Position,
    Reading,
    Source,
)

SCHEMA = pa.schema([("id", pa.int64())])


class SourceContract:
    """Give the fixture ``source``, and the methods ``given`` and ``add``."""

    around = Around(schema=SCHEMA)

    def given(self, folder: Path) -> Mapping[str, Any]:
        raise NotImplementedError

    def add(self, folder: Path, ids: Sequence[int]) -> None:
        raise NotImplementedError

    @pytest.fixture
    def reading(self, tmp_path: Path, source: Any) -> Reading:
        plugin = self._of(source)
        given = {key: what.default for key, what in plugin.keys.items()}
        return plugin.open({**given, **self.given(tmp_path)}, self.around)

    def test_keys(self, source: Any) -> None:
        plugin = self._of(source)
        assert isinstance(plugin, Source)
        assert all(isinstance(key, Key) and key.about for key in plugin.keys.values())
        assert plugin.engine in (None, "local", "spark")

    def test_what_is_new_comes_once(self, tmp_path: Path, reading: Reading) -> None:
        self.add(tmp_path, [1, 2])
        first = reading.next(None)
        assert first is not None and first.count > 0
        assert self._ids(first) == [1, 2]
        after = self._stored(first.upto)
        assert reading.next(after) is None
        self.add(tmp_path, [3])
        second = reading.next(after)
        assert second is not None and self._ids(second) == [3]
        assert reading.next(self._stored(second.upto)) is None

    def test_portions_can_be_read_again(self, tmp_path: Path, reading: Reading) -> None:
        self.add(tmp_path, [1, 2])
        portion = reading.next(None)
        assert portion is not None
        self.add(tmp_path, [3])
        assert self._ids(portion) == self._ids(portion) == [1, 2]
        again = reading.next(None)
        assert again is not None and self._ids(again)[:2] == [1, 2]

    def test_looking_reads_nothing(self, tmp_path: Path, reading: Reading) -> None:
        assert reading.next(None) is None or not self._ids(self._next(reading))
        self.add(tmp_path, [1])
        one, other = self._next(reading), self._next(reading)
        assert evolve(one, read=other.read) == other

    def _next(self, reading: Reading) -> Portion:
        found = reading.next(None)
        assert found is not None
        return found

    def _of(self, source: Any) -> Source:
        found: Source = resolve("source", source).instance
        return found

    def _stored(self, position: Position) -> Position:
        """As it comes back from a commit."""
        return Position(json.loads(json.dumps(position.own)), position.hudi)

    def _ids(self, portion: Portion) -> list[int]:
        arrived = portion.read()
        try:
            if arrived.bad is not None:
                assert arrived.bad.schema == BAD_ROWS and not arrived.bad.num_rows
            rows = arrived.rows if isinstance(arrived.rows, pa.Table) else arrived.rows.toArrow()
            return sorted(rows["id"].to_pylist())
        finally:
            if arrived.close is not None:
                arrived.close()

"""What every format of change data logs promises: the contract of
:class:`hoodoo.hookspecs.change_log.ChangeLogFormat` as tests.

Usage::

    class TestMine(ChangeLogContract):
        @pytest.fixture
        def change_log(self):
            return MyLogs(...)
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from hoodoo.hookspecs.change_log import ChangeLogFormat
from hoodoo.kernel.answers import Who, checked
from hoodoo.model.meta import RECORD_KEY, with_meta

_OWN = pa.schema([("id", pa.int64()), ("fare", pa.float64()), ("tags", pa.list_(pa.string()))])
_SCHEMA = with_meta(_OWN)
# More rows than a block has, and no lists, which are slow to encode.
_FLAT = with_meta(pa.schema([_OWN.field("id"), _OWN.field("fare")]))
_MANY = 70_000
_INSTANT = "20240101000000000"


def _rows(count: int, fare: float, schema: pa.Schema = _SCHEMA) -> pa.Table:
    made = [
        {RECORD_KEY: str(n), "id": n, "fare": fare, "tags": ["a", None] if n % 2 else None}
        for n in range(count)
    ]
    return pa.Table.from_pylist(made, schema)


class ChangeLogContract:
    """Subclass, and answer the fixture ``change_log``."""

    @pytest.fixture
    def change_log(self) -> ChangeLogFormat:
        raise NotImplementedError("override the fixture `change_log`")

    def written(self, change_log: ChangeLogFormat, local: Path, count: int) -> bytes:
        known = checked("change_log", change_log, Who("change_log", type(change_log).__name__))
        schema = _FLAT if count == _MANY else _SCHEMA
        log = known.begin(str(local), _INSTANT, schema)
        log.updated(_rows(count, 1.0, schema), _rows(count, 2.0, schema))
        log.deleted(_rows(count // 2, 3.0, schema))
        log.inserted(_rows(count, 4.0, schema))
        size = log.close()
        log.abandon()
        log.abandon()
        found = local.read_bytes()
        assert size == len(found)
        return found

    @pytest.mark.parametrize("count", [0, 1, 7, _MANY])
    def test_a_log_is_the_same_in_every_process(
        self, change_log: ChangeLogFormat, tmp_path: Path, count: int
    ) -> None:
        """A task may run twice, and elsewhere."""
        first = self.written(change_log, tmp_path / "first", count)
        other = pickle.loads(pickle.dumps(change_log))
        assert self.written(other, tmp_path / "second", count) == first
        assert bool(first) or not count

    def test_a_log_may_be_let_go(self, change_log: ChangeLogFormat, tmp_path: Path) -> None:
        change_log.begin(str(tmp_path / "none"), _INSTANT, _SCHEMA).abandon()
        log = change_log.begin(str(tmp_path / "some"), _INSTANT, _SCHEMA)
        log.inserted(_rows(3, 1.0))
        log.abandon()
        log.abandon()

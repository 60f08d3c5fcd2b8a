"""What every participant promises: the contract of
:class:`hoodoo.hookspecs.participant.Participant` as tests.

Usage::

    class TestMine(ParticipantContract):
        @pytest.fixture
        def table(self, tmp_path):
            schema = ParticipantContract.SCHEMA
            return hoodoo.create(str(tmp_path / "t"), schema, record_key="id", options=...)

        @pytest.fixture
        def said(self):
            # What your participant says of the table now, as a value that can be compared.
            return lambda table: ...

The table is one that the participant has to do with; the plugin is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from hoodoo.hookspecs.registration import Settings
from hoodoo.participants.of_table import Joined, Participants


class ParticipantContract:
    """Subclass, and answer the fixtures ``table`` and ``said``."""

    SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])

    @pytest.fixture
    def table(self) -> Any:
        raise NotImplementedError("override the fixture `table`")

    @pytest.fixture
    def said(self) -> Callable[[Any], object]:
        raise NotImplementedError("override the fixture `said`")

    def rows(self, first: int, count: int, n: int = 0) -> pa.Table:
        return pa.table([list(range(first, first + count)), [n] * count], schema=self.SCHEMA)

    def test_it_takes_part(self, table: Any) -> None:
        each = Participants.of(Settings(table.config))
        joined = each.join(table.handle.storage, table.timeline())
        assert joined is not None and joined.each

    def test_what_is_undone_leaves_nothing(self, table: Any, said: Callable[[Any], object]) -> None:
        table.upsert(self.rows(0, 5))
        before = said(table)
        undone = table.upsert(self.rows(3, 5, 1))
        assert said(table) != before
        table.rollback(undone.instant)
        assert said(table) == before

    def test_a_restore_takes_it_back(self, table: Any, said: Callable[[Any], object]) -> None:
        point = table.upsert(self.rows(0, 5))
        before = said(table)
        table.upsert(self.rows(3, 5, 1))
        table.upsert(self.rows(20, 5, 1))
        table.restore(point.instant)
        assert said(table) == before

    def test_what_was_not_decided_does_not_count(
        self, table: Any, said: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that ends between what was begun and the decision."""
        table.upsert(self.rows(0, 5))
        before = said(table)
        begin = Joined.begin

        def dies(self: Joined, change: Any) -> None:
            begin(self, change)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Joined, "begin", dies)
            table.upsert(self.rows(3, 5, 1))
        assert said(table) == before
        table.upsert(self.rows(30, 5, 1))
        after = said(table)
        assert after != before

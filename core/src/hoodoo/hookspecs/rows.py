"""Rows: what turns rows into files, and files into rows. Core knows tables without it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import hookspec
from hoodoo.timeline.timeline import Timeline

if TYPE_CHECKING:
    from hoodoo.timeline.batches import Batch


class RowsLayer(Protocol):
    """The functions that core calls for its handles of tables (``table``). It passes the answers on
    as they are."""

    def plugins(self, table: Any) -> Any:
        """Key generator, merger, index and file format of the table, as its properties name
        them."""

    def key_generator(self, table: Any) -> KeyGenerator:
        """The key generator as the next write needs it. ConfigError where neither properties nor
        rows say it."""

    def stored_row(self, table: Any, columns: Sequence[str]) -> pa.RecordBatch | None:
        """The meta columns and ``columns`` of one row; None of an empty table."""

    def stored_schema(self, source: ReadSource) -> pa.Schema:
        """The columns of a table whose commits and properties say none: those of its base files."""

    def write_target(
        self,
        table: Any,
        data: Any = None,
        engine: str | Engine | None = None,
        repair: bool = True,
        spare: Collection[str] = (),
        looks: bool = False,
        later: bool = False,
    ) -> Any:
        """One look at the table for a write or an action: snapshot, plugins, policy, engine,
        participants."""

    def write_request(
        self,
        table: Any,
        kind: Any,
        take_snapshot: Callable[[], Any] | None,
        batch: Batch | None,
        follow: Callable[[Timeline, Any], Any],
    ) -> Any:
        """A commit of ``kind`` that is to be made."""


class RowsHooks:
    """The hook of the one distribution that reads and writes rows."""

    @hookspec
    def hoodoo_table_rows(self) -> RowsLayer | None:
        """What reads and writes rows. When: a table's rows are read or written, or an action asks
        for them. Default: hoodoo-rows. The first answer that is not None counts; an object, or a
        module with these functions."""


FAMILY = Family(None, more=RowsHooks)

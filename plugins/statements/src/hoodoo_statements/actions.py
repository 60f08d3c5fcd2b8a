"""The actions delete, update and merge: each statement is one write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import Operation
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.batches import Batch
from hoodoo_rows.api import Commit, Writes

from hoodoo_statements.source import source_rows
from hoodoo_statements.text.scope import SOURCE, TARGET

if TYPE_CHECKING:  # an upsert looks at every action, and has no use for a parser of SQL
    from hoodoo_statements.binding import Wanted
    from hoodoo_statements.statement import Statement

DELETES = evolve(Writes.UPSERT, operation=Operation.DELETE)


@frozen
class DeleteAction:
    """Rows that a condition is true of are deleted."""

    @classmethod
    def from_settings(cls, settings: Settings) -> DeleteAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        *,
        where: Any,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        alias: str | None = None,
    ) -> Commit:
        from hoodoo_statements.binding import Wanted

        wanted = Wanted("delete", where)
        return _of_rows(table, wanted, where, engine, batch, alias, DELETES)


@frozen
class UpdateAction:
    """Columns of rows that a condition is true of get other values."""

    @classmethod
    def from_settings(cls, settings: Settings) -> UpdateAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        *,
        values: Mapping[str, Any],
        where: Any = None,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        alias: str | None = None,
    ) -> Commit:
        from hoodoo_statements.binding import Wanted

        wanted = Wanted("update", where, values)
        return _of_rows(table, wanted, where, engine, batch, alias, Writes.UPSERT, values)


@frozen
class MergeAction:
    """Rows of a source change the rows of the table that they belong to, or come in."""

    @classmethod
    def from_settings(cls, settings: Settings) -> MergeAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        *,
        source: Any,
        on: Any = None,
        matched: Sequence[Wanted] = (),
        unmatched: Sequence[Wanted] = (),
        inserts: Sequence[Wanted] = (),
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        names: tuple[str, str] = (TARGET, SOURCE),
    ) -> Commit:
        from hoodoo_statements.statement import Statement

        runner = table.engine(source, engine or table.default_engine)
        statement = Statement(
            table,
            tuple(matched),
            tuple(unmatched),
            tuple(inserts),
            source_rows(table, source, runner),
            on,
            target_names=frozenset({TARGET, names[0].lower()}),
            source_names=frozenset({SOURCE, names[1].lower()}),
        )
        return _done(table, statement, runner, batch, Writes.UPSERT)


def _of_rows(
    table: TableHandle,
    wanted: Wanted,
    where: Any,
    engine: str | Engine | None,
    batch: Batch | None,
    alias: str | None,
    kind: Any,
    values: Mapping[str, Any] | None = None,
) -> Commit:
    from hoodoo_statements.by_query import FoundRows
    from hoodoo_statements.statement import Statement

    if kind is DELETES and where is None:
        raise ConfigError(
            "delete", "has no condition.", 'Say which rows: where="true" are all of them.'
        )
    if isinstance(where, bool):
        raise ConfigError(
            f"where={where!r}",
            "is what Python has computed already, and no condition on rows.",
            'Write it as text, or with pyarrow.compute.field("city") == "oslo"; where="true" are '
            "all rows.",
        )
    given = where.source if isinstance(where, FoundRows) else where
    runner = table.engine(given, engine or table.default_engine)
    if isinstance(values, Mapping) and engine is None and table.default_engine is None:
        for value in (where, *values.values()):  # a Column says that it is Spark's
            if type(value).__module__.split(".")[0] == "pyspark":
                runner = table.engine(value, None)
    names = frozenset({TARGET, *({alias.lower()} if alias else set())})
    if isinstance(where, FoundRows):
        source = source_rows(table, where.source, runner)
        wanted = evolve(wanted, condition=None)
        found = Statement(table, (wanted,), source=source, on=where.on, target_names=names)
        return _done(table, found, runner, batch, kind)
    expression = where if isinstance(where, pc.Expression) else None
    if expression is not None:
        wanted = evolve(wanted, condition=None)
    statement = Statement(table, unmatched=(wanted,), where=expression, target_names=names)
    return _done(table, statement, runner, batch, kind)


def _done(
    table: TableHandle, statement: Statement, engine: Engine, batch: Batch | None, kind: Any
) -> Commit:
    commit = Writes.write(table, kind, statement, engine, batch)
    if not commit.instant:
        return commit
    return evolve(
        commit, inserted=statement.inserted, updated=statement.updated, deleted=statement.deleted
    )

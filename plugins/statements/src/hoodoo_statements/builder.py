"""The builder of a merge: its clauses in their order, then ``execute``. Names are those of
Delta's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen
from hoodoo.calls import checked_methods
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.batches import Batch
from hoodoo_rows.api import Commit

from hoodoo_statements.binding import ALL, Wanted
from hoodoo_statements.text.scope import SOURCE, TARGET

Values = Mapping[str, Any] | str
_CLAUSES = (
    "when_matched_update",
    "when_matched_update_all",
    "when_matched_delete",
    "when_not_matched_insert",
    "when_not_matched_insert_all",
    "when_not_matched_by_source_update",
    "when_not_matched_by_source_delete",
    "execute",
)


@checked_methods
@frozen(repr=False)
class MergeBuilder:
    """What ``table.merge(source, on=...)`` returns. Each method adds a clause and returns a new
    builder; nothing happens before :meth:`execute`. If there are several clauses of a kind, the
    first one whose condition is true is used for a row.

    ``set`` and ``values`` map columns to expressions; ``"all"`` stands for all columns of the
    table, which the source must have; of an insert for those that it has, and the others are null.
    An expression is SQL over ``target.*`` and ``source.*``, a Spark Column, or a value that is not
    text."""

    _table: TableHandle
    _source: Any
    _on: Any = None
    _engine: str | Engine | None = None
    _batch: Batch | None = None
    _matched: tuple[Wanted, ...] = ()
    _unmatched: tuple[Wanted, ...] = ()
    _inserts: tuple[Wanted, ...] = ()
    # What the table and the source are called in text, besides.
    _names: tuple[str, str] = (TARGET, SOURCE)

    def __repr__(self) -> str:
        clauses = ", ".join(w.called for w in (*self._matched, *self._inserts, *self._unmatched))
        return (
            f"<hoodoo merge into {self._table.config.name}: {clauses or 'no clauses yet'}; not "
            "executed>"
        )

    def __getattr__(self, name: str) -> Any:
        snake = re.sub("([A-Z])", lambda found: "_" + found[1].lower(), name)
        if snake != name and snake in _CLAUSES:
            said = f"{snake}(condition=...), with set= or values= where it has some"
            raise AttributeError(f"a merge calls {name} {snake}: use {said}", name=name, obj=self)
        raise AttributeError(f"a merge has no {name!r}, but {', '.join(_CLAUSES)}", name=name)

    def when_matched_update(self, set: Values, condition: Any = None) -> MergeBuilder:
        """Update rows of the table that match a row of the source: the columns that ``set``
        names."""
        wanted = Wanted("when matched, update", condition, set)
        return evolve(self, matched=_added(self._matched, wanted))

    def when_matched_update_all(self, condition: Any = None) -> MergeBuilder:
        """Update all columns of these rows with the values of the source."""
        return self.when_matched_update(ALL, condition)

    def when_matched_delete(self, condition: Any = None) -> MergeBuilder:
        """Delete rows of the table that match a row of the source."""
        return evolve(
            self, matched=_added(self._matched, Wanted("when matched, delete", condition))
        )

    def when_not_matched_insert(self, values: Values, condition: Any = None) -> MergeBuilder:
        """Insert rows of the source that match no row of the table; columns that ``values`` leaves
        out are null."""
        wanted = Wanted("when not matched, insert", condition, values)
        return evolve(self, inserts=_added(self._inserts, wanted))

    def when_not_matched_insert_all(self, condition: Any = None) -> MergeBuilder:
        """Insert these rows with all columns of the source."""
        return self.when_not_matched_insert(ALL, condition)

    def when_not_matched_by_source_update(self, set: Values, condition: Any = None) -> MergeBuilder:
        """Update rows of the table that match no row of the source."""
        wanted = Wanted("when not matched by source, update", condition, set)
        return evolve(self, unmatched=_added(self._unmatched, wanted))

    def when_not_matched_by_source_delete(self, condition: Any = None) -> MergeBuilder:
        """Delete rows of the table that match no row of the source."""
        wanted = Wanted("when not matched by source, delete", condition)
        return evolve(self, unmatched=_added(self._unmatched, wanted))

    def execute(self) -> Commit:
        """Run the merge in one commit, and return it with the numbers of rows. If no row changes,
        there is no commit, and the instant is empty.

        Raises DataError if several rows of the source match one row of the table, DuplicateKeyError
        for inserted rows whose key is already in the table, ConfigError and SchemaError for invalid
        clauses."""
        if not (self._matched or self._unmatched or self._inserts):
            raise ConfigError(
                f"merge into {self._table.config.name}",
                "has no clauses.",
                "Say what is done: .when_matched_update_all().when_not_matched_insert_all().",
            )
        found: Commit = self._table.run(
            "merge",
            source=self._source,
            on=self._on,
            matched=self._matched,
            unmatched=self._unmatched,
            inserts=self._inserts,
            engine=self._engine,
            batch=self._batch,
            names=self._names,
        )
        return found


def _added(clauses: tuple[Wanted, ...], wanted: Wanted) -> tuple[Wanted, ...]:
    if clauses and clauses[-1].condition is None:
        raise ConfigError(
            wanted.called,
            f"comes after a clause without a condition ({clauses[-1].called}), which takes all "
            "rows.",
            "Give that one a condition, or put it last.",
        )
    return (*clauses, wanted)

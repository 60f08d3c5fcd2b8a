"""Merger: which of two rows of one key survives, or what is made of both."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pyarrow as pa
from attrs import frozen

from hoodoo.hookspecs.answers import OneOf, answers
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.options.table import MERGE_MODES


@frozen
class Merged:
    """The answer to one merge of n pairs. With both, a built row stands in the newer one's place.

    ``newer_wins``: boolean array of length n without nulls, the row to keep of each pair.
    ``rows``: n built rows in the schema of ``older``; only of a merger that gets all columns.
    """

    newer_wins: pa.BooleanArray | None = None
    rows: pa.Table | None = None


@runtime_checkable
class Merger(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.merger``. Vectorized, associative; picklable.

    Deletes never reach a merger that would lose them: here a delete is a row like any other, and
    the row that wins keeps its own delete mark.
    """

    @property
    @answers(OneOf(MERGE_MODES))
    def merge_mode(self) -> str:
        """``COMMIT_TIME_ORDERING``, ``EVENT_TIME_ORDERING`` or ``CUSTOM``, stored in the table."""

    @property
    def strategy_id(self) -> str:
        """A UUID; stored in the table when the mode is CUSTOM."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that :meth:`merge` reads; None means all."""

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        """Row i of ``older`` and row i of ``newer`` have the same key; ``newer`` arrived later.

        Both tables have the same schema, at least the columns of :attr:`columns`.
        """


@runtime_checkable
class MergesPartly(Protocol):
    """Optional for a :class:`Merger`, each of them: see the functions of their names."""

    keeps_absent: bool
    order: Merger | None
    delete_mark: tuple[str, tuple[str, ...]] | None


def keeps_absent(merger: Merger) -> bool:
    """Whether columns that incoming rows lack keep their stored values, and don't become null."""
    return bool(getattr(merger, "keeps_absent", False))


def order_of(merger: Merger) -> Merger | None:
    """What says which row is the newer one, of a merger that builds rows and is not associative: it
    gets the rows of a key from the oldest on; rows that lack columns are merged by this alone."""
    return getattr(merger, "order", None)


def delete_mark(merger: Merger) -> tuple[str, tuple[str, ...]] | None:
    """A column, and those of its values, as text, that mark a row as deleted."""
    return getattr(merger, "delete_mark", None)


_LACKING = {"keeps_absent": False, "order": None, "delete_mark": None}

FAMILY = Family(
    "hoodoo_mergers",
    """Offer mergers. When: a table is created or opened. Default: ``event_time`` if the table
    has ordering fields, else ``commit_time``.

    Names and aliases are looked up with ``hoodie.record.merge.mode``,
    ``hoodie.record.merge.strategy.id`` and ``hoodie.compaction.payload.class``. The factory
    returns a :class:`Merger`.""",
    (Merger,),
    optional=(MergesPartly,),
    lacking={name: Optional(default) for name, default in _LACKING.items()},
    travels=True,
)

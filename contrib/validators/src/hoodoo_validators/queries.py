"""The validators of Hudi: SQL over the rows before and after a write."""

from __future__ import annotations

from collections.abc import Sequence

import hoodoo
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Option, Settings
from hoodoo_rows.api import Scan

from hoodoo_validators.hookspec import StagedCommit
from hoodoo_validators.options import EQUAL, SINGLE, TABLE, UNEQUAL

_NAME = "staged_table"


def _answer(query: str, rows: Scan) -> pa.Table:
    found: pa.Table = hoodoo.sql(query.replace(TABLE, _NAME), tables={_NAME: rows})
    return found


def _queries(settings: Settings, option: Option[str]) -> tuple[str, ...]:
    text = option.stored(settings.options) or ""
    found = tuple(query.strip() for query in text.split(";") if query.strip())
    if not found:
        raise ConfigError(
            f"option {option.key}",
            "has no query, and a validator that needs it is chosen.",
            f"Set it: select count(*) from {TABLE} where ...",
        )
    for query in found:
        if TABLE not in query:
            raise ConfigError(
                f"option {option.key}",
                f"has a query without {TABLE}: {query}.",
                f"Name the table so: select count(*) from {TABLE}.",
            )
    return found


@frozen
class ComparesAnswers:
    """Queries whose answers before and after the write must be ``equal``, or must not. The order of
    rows does not count."""

    queries: tuple[str, ...]
    equal: bool

    @classmethod
    def equality(cls, settings: Settings) -> ComparesAnswers:
        return cls(_queries(settings, EQUAL), True)

    @classmethod
    def inequality(cls, settings: Settings) -> ComparesAnswers:
        return cls(_queries(settings, UNEQUAL), False)

    def problems(self, commit: StagedCommit) -> Sequence[str]:
        return [
            f"{query} answers {'other' if self.equal else 'the same'} rows after the write"
            for query in self.queries
            if self._same(query, commit) is not self.equal
        ]

    def _same(self, query: str, commit: StagedCommit) -> bool:
        before, after = (_rows(_answer(query, scan)) for scan in (commit.before, commit.after))
        return before == after


def _rows(table: pa.Table) -> list[str]:
    """The rows as text, sorted: a query for a check answers few."""
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


@frozen
class AnswersOneValue:
    """``expected``: queries, and the text of the one value that each must answer after the
    write."""

    expected: tuple[tuple[str, str], ...]

    @classmethod
    def from_settings(cls, settings: Settings) -> AnswersOneValue:
        pairs = []
        for text in _queries(settings, SINGLE):
            query, mark, value = text.rpartition("#")
            if not mark:
                raise ConfigError(
                    f"option {SINGLE.key}",
                    f"does not say which value is expected: {text}.",
                    "Write query#value.",
                )
            pairs.append((query.strip(), value.strip()))
        return cls(tuple(pairs))

    def problems(self, commit: StagedCommit) -> Sequence[str]:
        return [
            f"{query} answers {value}, and {expected} is expected"
            for query, expected in self.expected
            if (value := _single(_answer(query, commit.after))) != expected
        ]


def _single(table: pa.Table) -> str:
    if table.num_rows != 1 or table.num_columns != 1:
        return f"{table.num_rows} rows of {table.num_columns} columns"
    value = table.column(0)[0].as_py()
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)

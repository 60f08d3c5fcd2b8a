"""Creation: what a new table is, as arguments and options say it, and what lies where no table
is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from attrs import frozen

from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.registration import hookspec
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage


@frozen
class NewTable:
    """What a call of ``hoodoo.create`` says: its arguments; those that say nothing are None or
    empty."""

    path: str
    schema: pa.Schema
    options: Mapping[str, str]
    name: str | None = None
    record_key: str | Sequence[str] | None = None
    partition_by: str | Sequence[str] = ()
    ordering: str | Sequence[str] = ()
    table_type: str | None = None
    table_version: int | None = None
    key_generator: Any = None
    index: Any = None
    merger: Any = None
    exists: Any = None  # the open table that is there, where one may be


class FirstRows(Protocol):
    """Data that ``hoodoo.create`` was given in place of a schema."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns, before a row is read."""

    def write(self, table: Any, is_new: bool) -> None:
        """Write the rows into ``table``, which was created for them, or was there before."""


@frozen
class Found:
    """``what`` is there instead of a table, as half a sentence, and the ``fix``."""

    what: str
    fix: str
    is_file: bool = False


class CreationHooks:
    """Hooks that decide what ``hoodoo.create`` makes, and explain what lies in a place without a
    table."""

    @hookspec
    def hoodoo_new_table(self, wanted: NewTable) -> TableConfig | None:
        """The properties of the table ``wanted``. When: a table is created, before anything is
        written. Default: Hudi's rules (hoodoo-standard). The first answer that is not None counts.

        Where ``wanted.exists`` is set, its properties; OptionConflictError where ``wanted``
        differs.

        Raises OptionConflictError where arguments and options differ, ConfigError,
        MissingColumnError, SchemaError or UnsupportedTableError for what can't be a table.
        """

    @hookspec
    def hoodoo_first_rows(self, data: Any) -> FirstRows | None:
        """The rows of a new table. When: ``hoodoo.create`` gets something that is no schema.
        Default: hoodoo-rows. The first answer that is not None counts. DataError for what can't be
        read."""

    @hookspec
    def hoodoo_instead(self, storage: Storage, at: Callable[[str], Storage]) -> Found | None:
        """What is at the root of ``storage``, which holds no Hudi table; ``at`` opens the store at
        another URI. When: a table can't be opened or created there. Default: files and tables of
        other formats (hoodoo-standard). None if that is unknown. Reads a few directories, and
        changes nothing.
        """


FAMILY = Family(None, more=CreationHooks)

"""What the distribution offers."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration

PATH = Option(
    "hoodoo.index.sqlite.path",
    "The database file of the index sqlite, on a disk that all workers have.",
    table_property=True,
    assumed=False,
)


@hookimpl
def hoodoo_indexes() -> Iterable[Registration]:
    return [
        Registration(
            "sqlite",
            "hoodoo_sqlite_index.index:SqliteIndex.from_settings",
            options=(PATH,),
            summary="learns where keys lie, in an SQLite database",
        )
    ]

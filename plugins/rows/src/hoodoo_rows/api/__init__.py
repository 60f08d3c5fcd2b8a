"""What authors of actions, indexes and metadata partitions need of rows: no other module of this
distribution is public but those of ``engine``, for engines and serializers, and ``testing``.

Each name is imported when it is used first. docs/plugins/rows.md has a worked action. ``VERSION``
rises whenever a name, or a member of one, goes or changes its meaning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoodoo_rows.api.arriving_rows import ArrivingRows as ArrivingRows
    from hoodoo_rows.api.batches import Batches as Batches
    from hoodoo_rows.api.key_lookup import KeyLookup as KeyLookup
    from hoodoo_rows.api.new_files import NewFiles as NewFiles
    from hoodoo_rows.api.reads import Reads as Reads
    from hoodoo_rows.api.stored_files import StoredFiles as StoredFiles
    from hoodoo_rows.api.writes import Writes as Writes
    from hoodoo_rows.evolution.history import History as History
    from hoodoo_rows.merge.log_rows import LogRows as LogRows
    from hoodoo_rows.merge.rule import MergeRule as MergeRule
    from hoodoo_rows.merge.rule import Visible as Visible
    from hoodoo_rows.produce.key_changes import KeyChanges as KeyChanges
    from hoodoo_rows.produce.key_changes import WriteResult as WriteResult
    from hoodoo_rows.produce.pending import Pending as Pending
    from hoodoo_rows.read.plan import ScanPlan as ScanPlan
    from hoodoo_rows.read.query import Query as Query
    from hoodoo_rows.read.rows import Rows as Rows
    from hoodoo_rows.read.scan import Scan as Scan
    from hoodoo_rows.read.spec import RowSpec as RowSpec
    from hoodoo_rows.sizes import Sizes as Sizes
    from hoodoo_rows.write.commit import Commit as Commit
    from hoodoo_rows.write.request import WriteRequest as WriteRequest
    from hoodoo_rows.write.target import ChangesRows as ChangesRows
    from hoodoo_rows.write.target import RowChanges as RowChanges
    from hoodoo_rows.write.target import WriteTarget as WriteTarget

VERSION = 1
_MODULES = {
    "ArrivingRows": "api.arriving_rows",
    "Batches": "api.batches",
    "ChangesRows": "write.target",
    "Commit": "write.commit",
    "History": "evolution.history",
    "KeyChanges": "produce.key_changes",
    "KeyLookup": "api.key_lookup",
    "LogRows": "merge.log_rows",
    "MergeRule": "merge.rule",
    "NewFiles": "api.new_files",
    "Pending": "produce.pending",
    "Query": "read.query",
    "Reads": "api.reads",
    "RowChanges": "write.target",
    "RowSpec": "read.spec",
    "Rows": "read.rows",
    "Scan": "read.scan",
    "ScanPlan": "read.plan",
    "Sizes": "sizes",
    "StoredFiles": "api.stored_files",
    "Visible": "merge.rule",
    "WriteRequest": "write.request",
    "WriteResult": "produce.key_changes",
    "WriteTarget": "write.target",
    "Writes": "api.writes",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = vars(import_module(f"hoodoo_rows.{_MODULES[name]}"))[name]
    return found


def __dir__() -> list[str]:
    return [*_MODULES, "VERSION"]

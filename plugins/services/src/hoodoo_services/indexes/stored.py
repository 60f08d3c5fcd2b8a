"""Stored index: which of the table's indexes a participant stores, and what becomes of it with
virtual keys."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo.errors import UnsupportedTableError, warn
from hoodoo.hookspecs.index import ANYWHERE
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import default_name, in_role, resolve
from hoodoo.model.config import POPULATE, TableConfig
from hoodoo.table import index_choice
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.ledger import barrier
from hoodoo.timeline.snapshot import Snapshot

Changes = Mapping[str, "str | None"]

# Hudi's names of the option end so, whatever the index: hoodie.simple.index.update.partition.path.
_MOVES = ".update.partition.path"


def stored_index(table: TableHandle) -> str | None:
    """The table's own index, if a participant stores it."""
    offer = kernel().find("index", table.config.index_name or "")
    stored = offer is not None and table.participants.each.store_of(offer.name) is not None
    return offer.name if offer is not None and stored else None


def unstored(table: TableHandle, index: str) -> str:
    """An index that keeps keys as unique as ``index`` does, and stores nothing."""
    found = resolve("index", index, table.settings).instance
    return in_role("index", ANYWHERE) if found.is_global else default_name("index", table.settings)


def without_stored_keys(table: TableHandle) -> Changes:
    """The changes of properties of a table whose keys are to be virtual. Keys stay as unique as
    they are: where its own index can't go on, by another one."""
    changes: dict[str, str | None] = dict(table.participants.each.keys_are_virtual(table.config))
    own = stored_index(table)
    if own is not None and _lacks_then(table, own, changes):
        other = unstored(table, own)
        found = resolve("index", other, table.settings)
        changes |= index_choice.properties_of(found, table.settings)
        changes |= _moving(table, own, changes)
    return changes


def _moving(table: TableHandle, own: str, changes: Changes) -> Changes:
    """A key that arrives with another partition path moves there, or stays, as with the index
    ``own``: the default differs between indexes, and a property may be left from an index before
    ``own``. Options of the writer count."""
    moves = "true" if resolve("index", own, table.settings).instance.moves_partitions else "false"
    said = table.settings.options
    return {name: moves for name in changes if name.endswith(_MOVES) and name not in said}


def _lacks_then(table: TableHandle, own: str, changes: Changes) -> bool:
    """Whether the index ``own`` is missing once the keys are virtual."""
    then = {**table.config.properties, POPULATE: "false", **changes}
    config = TableConfig({key: value for key, value in then.items() if value is not None})
    store = table.participants.each.store_of(own)
    try:
        return bool(store.lacks(table.storage, config, own))
    except UnsupportedTableError:  # tables of this version can't have it
        return True


def delete_stored_index(table: TableHandle, own: str | None) -> None:
    """Delete the record indexes, which the properties do not name any more. ``own``: the table's
    until then, if it was one that is stored."""
    if own is not None and stored_index(table) != own:
        warn(
            f"table {table.config.name}: {own} does not go on with virtual keys. The index of the "
            f"table is {unstored(table, own)} from now on; table.switch_index({own!r}) after "
            "table.rewrite_keys(virtual=False) brings the old one back."
        )
    barrier(Snapshot(table.storage, table.load_timeline()))
    table.participants.each.delete_given_up(table.storage, table.config)

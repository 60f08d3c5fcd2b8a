"""Switching: how a table gets another index, and a stored index is rebuilt."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
from attrs import evolve
from hoodoo.errors import CommitConflictError, ConfigError, HoodooError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import COMPUTED, Tees
from hoodoo.hookspecs.participant import Rebuilt, TableState
from hoodoo.kernel.resolve import Resolved, default_name, resolve
from hoodoo.model.config import HUDI_INDEX, TableConfig
from hoodoo.options.table import INDEX_CLASS
from hoodoo.table import index_choice
from hoodoo.table.after_write import AfterWrites
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import action_run
from hoodoo.table.participants import TableParticipants
from hoodoo.timeline import properties
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import barrier
from hoodoo.timeline.plans import pending_clusterings
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import WriteTarget

from hoodoo_services.indexes.lookup import all_keys, locations_of
from hoodoo_services.indexes.prove import prove, prove_rows
from hoodoo_services.indexes.steady import steady
from hoodoo_services.indexes.stored import stored_index, unstored
from hoodoo_services.outcome import Comparison

_CHOICES = (HUDI_INDEX, INDEX_CLASS.key)
Changes = Mapping[str, "str | None"]


def rebuild_index(
    table: TableHandle,
    name: str | None = None,
    *,
    source: Any = None,
    engine: str | Engine | None = None,
    shape: Mapping[str, Any] | None = None,
    keep_own: bool = False,
) -> tuple[str, ...]:
    """See ``Table.rebuild_index``. ``keep_own``: writers go on with the table's own index, even if
    what is made could take its place: it is made for readers."""
    done = _rebuild(table, name, source, engine, shape=shape)
    if not keep_own:
        _remember(table, done.unique_index, engine)
    return done.made


def switch_index(
    table: TableHandle, index: Any, *, engine: str | Engine | None = None
) -> Comparison:
    """See ``Table.switch_index``."""
    table.check_writable()
    table.refresh()
    found = resolve("index", index, table.settings)
    if isinstance(found.instance, Tees):
        raise ConfigError(
            f"index {found.ref.name}",
            "asks two indexes for a time, and is no table's own.",
            "Switch to one of the two.",
        )
    _refuse_planned(table)
    other = _with_index(table, found)

    def look() -> WriteTarget:
        target = other.write_target(None, engine or table.default_engine)
        return evolve(target, plugins=evolve(target.plugins, index=found.instance))

    def proven(target: WriteTarget) -> Comparison:
        return steady(target, look, lambda t: prove(t, found.instance, found.ref.name, was_global))

    was_global = _is_global(other)
    if _lacks(other, found.ref.name):
        prove_rows(look(), found.instance, found.ref.name, was_global)  # before it is made in vain
        _make_stored(other, found.ref.name, engine)
    target = look()
    comparison = proven(target)
    _bind(other, found, {w.requested for w in target.timeline.writes()}, look, proven)
    table.options, table.overrides = other.options, other.overrides
    table.refresh()
    return comparison


def _refuse_planned(table: TableHandle) -> None:
    """CommitConflictError while a clustering is pending that rebuilds the buckets of the table's
    index: no other index can run it."""
    try:
        own = table.config.index_name or default_name("index", table.settings)
        if not isinstance(resolve("index", own, table.settings).instance, COMPUTED):
            return
    except HoodooError:  # of an index that nobody offers here nothing is known
        return
    planned = pending_clusterings(Snapshot(table.storage, table.timeline()))
    if planned:
        instant = planned[0].instant.requested
        raise CommitConflictError(
            f"table {table.config.name}: its index {own}",
            f"has a clustering pending ({instant}), which rebuilds its buckets: no index can be "
            "made meanwhile.",
            f'Run it (table.run_clustering("{instant}")) or cancel it '
            f'(table.cancel_clustering("{instant}")).',
        )


def _rebuild(
    table: TableHandle,
    name: str | None,
    source: Any = None,
    engine: str | Engine | None = None,
    is_index: bool = False,
    shape: Mapping[str, Any] | None = None,
) -> Rebuilt:
    table.check_writable()
    table.refresh()
    if name is not None and table.participants.each.store_of(name) is not None:
        _refuse_planned(table)  # it would know the old buckets alone of rows that came meanwhile
    maker = table.participants.each.maker(name)
    request = table.participants.request(
        name, engine, _source(table, source), stored_index(table), is_index, shape
    )
    with action_run(table, INDEXING) as events:
        done: Rebuilt = maker.rebuild(request)
        events.report(made=done.made)
    table.use_properties(done.config)
    return done


def _source(table: TableHandle, source: Any) -> Callable[[TableState], pa.Table] | None:
    """What is asked where all keys lie: the index ``source``, by name or as an object."""
    if source is None:
        return None
    index = resolve("index", source, table.settings).instance

    def lookup(target: TableState) -> pa.Table:
        assert isinstance(target, WriteTarget)
        return locations_of(target, index, all_keys(target))

    return lookup


def _is_global(table: TableHandle) -> bool:
    """Whether the table's own index is global; of one that nobody offers here, it may be."""
    try:
        wanted = table.config.index_name or default_name("index", table.settings)
        return bool(resolve("index", wanted, table.settings).instance.is_global)
    except HoodooError:
        return True


def _with_index(table: TableHandle, found: Resolved) -> TableHandle:
    """This table as if ``found`` were its index, whatever its properties and the options say."""
    other = copy.copy(table)
    other.options = {k: v for k, v in table.options.items() if k not in _CHOICES}
    other.overrides = {k: v for k, v in table.overrides.items() if k != "index"}
    if found.ref.instance is not None:
        other.overrides["index"] = found.ref.instance
    other.participants = TableParticipants(other)
    other.after_writes = AfterWrites(other)
    other.made, other.other_index = {}, found
    return other


def _lacks(table: TableHandle, name: str) -> bool:
    """Whether ``name`` is an index that is stored, and the table has none of its kind."""
    store = table.participants.each.store_of(name)
    return store is not None and bool(store.lacks(table.storage, table.config, name))


def _make_stored(table: TableHandle, name: str, engine: str | Engine | None) -> None:
    own, store = stored_index(table), table.participants.each.store_of(name)
    if own is not None and store.shares(own, name):
        # The two have one place: until the other one is made, keys are looked up in the files.
        switch_index(table, unstored(table, own), engine=engine)
    _remember(table, _rebuild(table, name, engine=engine, is_index=True).unique_index, engine)


def _remember(table: TableHandle, name: str | None, engine: str | Engine | None) -> None:
    """The global index ``name``, which was made of keys that lie in one place each, becomes the
    table's, if none binds it."""
    if name is None:
        return
    with suppress(HoodooError):  # of an index that nobody offers here nothing is known: it stays
        own = table.config.index_name or default_name("index", table.settings)
        if index_choice.binds(resolve("index", own, table.settings).instance):
            return
        timeline = table.load_timeline()
        done = [i for i in timeline.completed() if i.action == INDEXING]
        made = max((order_key(i.completion_order) for i in done), default="")
        seen = {w.requested for w in timeline.writes() if order_key(w.completion_order) <= made}
        found = resolve("index", name, table.settings)
        other = _with_index(table, found)

        def look() -> WriteTarget:
            return other.write_target(None, engine or table.default_engine)

        def proven(target: WriteTarget) -> Comparison:
            return steady(target, look, lambda t: prove(t, found.instance, name, False))

        # Keys that came in twice since are no failure of what was made: it is not remembered then.
        _bind(other, found, seen, look, proven)
        table.options, table.overrides = other.options, other.overrides
    table.refresh()


def _bind(
    table: TableHandle,
    found: Resolved,
    seen: Collection[str],
    look: Callable[[], WriteTarget],
    proven: Callable[[WriteTarget], object],
) -> None:
    """Note ``found`` as the table's index, as proven of the writes ``seen``.

    Who looked at the table before has to look again after the barrier, and finds the new index
    noted (:class:`hoodoo_rows.write.conflicts.CommitCheck`); what was committed before the barrier
    is proven, too."""
    told = index_choice.properties_of(found, table.settings)
    if all(table.config.get(key) == value for key, value in told.items()):
        return
    before: Changes = {}

    def changes(now: TableConfig) -> Changes:
        nonlocal before
        before = {key: now.get(key) for key in told}
        return told

    table.config = properties.update(table.storage, table.config, changes)
    barrier(Snapshot(table.storage, table.load_timeline()))
    try:
        target = look()
        if {w.requested for w in target.timeline.writes()} - set(seen):
            proven(target)
    except BaseException:

        def back(now: TableConfig) -> Changes:
            mine = all(now.get(key) == value for key, value in told.items())
            return before if mine else {}

        properties.update(table.storage, table.config, back)
        raise

"""Switching: how a table gets another index, and a stored index is made anew."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from attrs import evolve

from hoodoo.errors import ConfigError, HoodooError, warn
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import Tees
from hoodoo.hookspecs.participant import Rebuilt
from hoodoo.indexes.compare import Comparison
from hoodoo.indexes.prove import prove, prove_rows
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import Resolved, resolve
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.options.table import INDEX_CLASS
from hoodoo.table import index_choice
from hoodoo.table import settings as tables
from hoodoo.table.indexing import Indexing
from hoodoo.timeline import properties
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.ledger import barrier
from hoodoo.timeline.publish import INDEXING
from hoodoo.write.target import WriteTarget

# Keeps keys unique in the whole table, and stores nothing.
_GLOBAL = "global_simple"
_CHOICES = (HUDI_INDEX, INDEX_CLASS.key)
Changes = Mapping[str, "str | None"]


class Switching(Indexing):
    """A table whose index may become another one."""

    # The index that is to be the table's, before its properties say so.
    _by: Resolved | None = None

    def rebuild_index(
        self,
        name: str | None = None,
        *,
        source: Any = None,
        engine: str | Engine | None = None,
    ) -> tuple[str, ...]:
        """Make the metadata table anew from the table's files, while writers go on; its partitions.

        ``name``: one partition (``record_index``), or an index that is stored there
        (``partitioned_record_index``, ``growing_record_index``), that is to be there, or to be made anew; ``files``
        is made with it where it is missing. Without it all that there are, at least ``files``. Nobody reads them
        until they are complete. ``source``: an index (``bloom``, ``simple``, an object) that is asked where
        keys lie, for a record index that goes by what the one before said.

        A global index that is made becomes the table's, if no index binds it yet and each key is in one place:
        see :meth:`switch_index`. Raises ConfigError for a partition that Hoodoo does not keep,
        UnsupportedTableError for table version 6, CommitConflictError while another process is at it.
        """
        return self._rebuild(name, source, engine)

    def switch_index(self, index: Any, *, engine: str | Engine | None = None) -> Comparison:
        """Give the table another index, a name or an object, for all writers; how it agrees with the files.

        First proves that it knows where every row lies; an index that is stored is made where it is missing. Writers
        go on meanwhile: who began with the old index and comes to commit afterwards repeats the write. The cost:
        reading all record keys, and looking them up.

        Nothing is changed, and the error says which keys, where rows are not as the index needs them:
        DuplicateKeyError for keys in several partition paths and an index that is global, DataError for rows that
        an index of partition paths would not look for where they lie, ConfigError for an index that computes
        where rows have to lie and for one that the table can't have, CorruptTableError for a stored index that
        says otherwise than the files.

        >>> table.switch_index("record_index").same
        True
        """
        self._check_writable()
        self._refresh()
        found = resolve("index", index, self._settings)
        if isinstance(found.instance, Tees):
            raise ConfigError(
                f"index {found.ref.name}", "asks two indexes for a time, and is no table's own.",
                "Switch to one of the two.",
            )  # fmt: skip
        aside = self._aside(found)

        def look() -> WriteTarget:
            return evolve(aside._target(None, engine or self._engine), index=found.instance)

        def proven(target: WriteTarget) -> Comparison:
            return prove(target, found.instance, found.ref.name, was_global)

        was_global = aside._is_global()
        if aside._lacks(found.ref.name):
            prove_rows(
                look(), found.instance, found.ref.name, was_global
            )  # before it is made in vain
            aside._make_stored(found.ref.name, engine)
        target = look()
        comparison = proven(target)
        aside._bind(found, {w.requested for w in target.timeline.writes()}, look, proven)
        self._options, self._overrides = aside._options, aside._overrides
        self._refresh()
        return comparison

    # --- inside -----------------------------------------------------------------------------------
    def _rebuild(
        self,
        name: str | None,
        source: Any = None,
        engine: str | Engine | None = None,
        is_index: bool = False,
    ) -> tuple[str, ...]:
        self._check_writable()
        self._refresh()
        maker = self._participants.maker(name)
        request = self._request(name, engine, source, self._stored_index(), is_index)
        done: Rebuilt = maker.rebuild(request)
        self._config, self._timeline = done.config, None
        if done.unique_index is not None:
            self._remember(done.unique_index, engine)
        return done.made

    def _stored_index(self) -> str | None:
        """The table's own index, if a participant stores it."""
        offer = kernel().find("index", index_choice.noted(self._config) or "")
        stored = offer is not None and self._participants.store_of(offer.name) is not None
        return offer.name if offer is not None and stored else None

    def _is_global(self) -> bool:
        """Whether the table's own index is global; of one that nobody offers here, it may be."""
        try:
            wanted = index_choice.noted(self._config) or index_choice.DEFAULT
            return bool(resolve("index", wanted, self._settings).instance.is_global)
        except HoodooError:
            return True

    def _aside(self, found: Resolved) -> Switching:
        """This table as if ``found`` were its index, whatever its properties and the options say."""
        aside = copy.copy(self)
        aside._options = {k: v for k, v in self._options.items() if k not in _CHOICES}
        aside._overrides = {k: v for k, v in self._overrides.items() if k != "index"}
        if found.ref.instance is not None:
            aside._overrides["index"] = found.ref.instance
        aside._loaded, aside._by = None, found
        return aside

    def _plugins(self) -> tables.Plugins:
        if self._loaded is None and self._by is not None:
            named = (HUDI_INDEX, OWN_INDEX)
            config = {k: v for k, v in self._config.properties.items() if k not in named}
            by = self._by.ref.name if self._by.ref.instance is None else self._by.ref.instance
            self._loaded = tables.load_plugins(
                TableConfig(config), self._options, {**self._overrides, "index": by}
            )
        return super()._plugins()

    def _lacks(self, name: str) -> bool:
        """Whether ``name`` is an index that is stored, and the table has none of its kind."""
        store = self._participants.store_of(name)
        return store is not None and bool(store.lacks(self._storage, self._config, name))

    def _make_stored(self, name: str, engine: str | Engine | None) -> None:
        own, store = self._stored_index(), self._participants.store_of(name)
        if own is not None and store.shares(own, name):
            # The two have one place: until the other one is made, keys are looked up in the files.
            self.switch_index(self._unstored(own), engine=engine)
        self._rebuild(name, engine=engine, is_index=True)

    def _unstored(self, index: str) -> str:
        """An index that keeps keys as unique as ``index`` does, and stores nothing."""
        found = resolve("index", index, self._settings).instance
        return _GLOBAL if found.is_global else index_choice.DEFAULT

    def _remember(self, name: str, engine: str | Engine | None) -> None:
        """The global index ``name``, which was made of keys that lie in one place each, becomes the table's, if none
        binds it."""
        with suppress(
            HoodooError
        ):  # of an index that nobody offers here nothing is known: it stays
            own = index_choice.noted(self._config) or index_choice.DEFAULT
            if index_choice.binds(resolve("index", own, self._settings).instance):
                return
            timeline = self._look()
            done = [i for i in timeline.completed() if i.action == INDEXING]
            made = max((order_key(i.completion_order) for i in done), default="")
            seen = {w.requested for w in timeline.writes() if order_key(w.completion_order) <= made}
            found = resolve("index", name, self._settings)
            aside = self._aside(found)
            # Keys that came in twice since are no failure of what was made: it is not remembered then.
            aside._bind(
                found,
                seen,
                lambda: aside._target(None, engine or self._engine),
                lambda target: prove(target, found.instance, name, False),
            )
            self._options, self._overrides = aside._options, aside._overrides
        self._refresh()

    def _bind(
        self,
        found: Resolved,
        seen: Collection[str],
        look: Callable[[], WriteTarget],
        proven: Callable[[WriteTarget], object],
    ) -> None:
        """Note ``found`` as the table's index, as proven of the writes ``seen``.

        Who looked at the table before has to look again after the barrier, and finds the new index noted
        (:class:`hoodoo.write.conflicts.CommitCheck`); what was committed before the barrier is proven, too.
        """
        told = index_choice.properties_of(found, self._settings)
        changes = {k: v for k, v in told.items() if self._config.get(k) != v}
        if not changes:
            return
        before = {key: self._config.get(key) for key in changes}
        self._config = properties.update(self._storage, self._config, changes)
        barrier(self._storage, self._look())
        try:
            target = look()
            if {w.requested for w in target.timeline.writes()} - set(seen):
                proven(target)
        except BaseException:

            def back(now: TableConfig) -> Changes:
                mine = all(now.get(key) == value for key, value in changes.items())
                return before if mine else {}

            properties.update(self._storage, self._config, back)
            raise

    # --- virtual keys -----------------------------------------------------------------------------
    def _without_stored_index(self) -> Changes:
        """The changes of properties of a table that is to have no record index any more. Keys stay as unique as
        they are: by another index."""
        changes: dict[str, str | None] = dict(self._participants.keys_are_virtual(self._config))
        own = self._stored_index()
        if own is not None:
            other = self._unstored(own)
            found = resolve("index", other, self._settings)
            changes |= index_choice.properties_of(found, self._settings)
            warn(
                f"table {self._config.name}: virtual keys have no record index. The index of the table is "
                f"{other} from now on; table.switch_index({own!r}) after "
                "table.rewrite_keys(virtual=False) brings the old one back."
            )
        return changes

    def _delete_stored_index(self) -> None:
        """Delete the record indexes, which the properties do not name any more."""
        barrier(self._storage, self._look())
        self._participants.delete_given_up(self._storage, self._config)

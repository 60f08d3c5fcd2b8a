"""Index choice: which index a writer works with, and whether the table has a say in it.

An index *binds* a table where it decides which rows the table may hold (a global one: each key once
in the whole table) or where they lie (a computed one: the file group follows from the key). Rows
that another index would have put elsewhere are never found again, so writers may not choose. An
index that looks for keys in the files of their partition path gives the answer of any other such:
each writer has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.errors import ConfigError, OptionConflictError, PluginError
from hoodoo.hookspecs.index import COMPUTED, HUDI_READS, ComputedIndex, Tees
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.registry import kernel, same_plugin
from hoodoo.kernel.resolve import Resolved, declared_options, default_name, resolve
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX
from hoodoo.options.table import INDEX_CLASS, INDEX_TYPE


def wanted(options: Mapping[str, str], argument: Any = None) -> Any:
    """The index that a call asks for: ``argument`` (a name or an object), or its options; None: the
    index of the table. OptionConflictError if they differ."""
    # As in Hudi, the class comes before the type.
    given = ((option.key, option.given(options)) for option in (INDEX_CLASS, INDEX_TYPE))
    said: list[tuple[str, Any]] = [(key, value) for key, value in given if value]
    if argument is not None:
        said.insert(0, ("index", argument))
    for key, value in said[1:]:
        if not same_plugin("index", said[0][1], value):
            raise OptionConflictError(
                f"option {key}={value}", f"contradicts {said[0][0]}={said[0][1]!r}.", "say it once."
            )
    return said[0][1] if said else None


def chosen(settings: Settings, argument: Any = None) -> Any:
    """What a writer resolves: what it asks for, else what the table notes, else the default."""
    return (
        wanted(settings.options, argument)
        or settings.table.index_name
        or default_name("index", settings)
    )


def binds(index: Any) -> bool:
    """Whether writers of a table with ``index`` have to use it."""
    return bool(index.is_global) or isinstance(index, COMPUTED)


def check_index(settings: Settings, argument: Any = None) -> None:
    """OptionConflictError for an index that a table may not be written with. PluginError where
    nobody offers what is asked for.

    Two indexes side by side (:class:`~hoodoo.hookspecs.index.Tees`) are fine where one of them is
    the table's and keys stay as unique as with it.
    """
    asked, stored = wanted(settings.options, argument), settings.table.index_name
    if asked is None:
        return
    found = resolve("index", asked, settings)
    if stored is None or same_plugin("index", asked, stored) or found.ref.name == stored:
        return
    try:
        own = resolve("index", stored, settings).instance
    except (PluginError, ConfigError) as error:
        if settings.table.get(HUDI_INDEX) and kernel().find("index", stored) is None:
            # An index that only other engines have: whoever names another one answers for it.
            return
        raise OptionConflictError(
            f"index {found.ref.name!r}",
            f"is not the table's, which is {stored!r}; it is not known here whether all writers "
            f"must use that index ({error}).",
            "Install the plugin that offers the table's index, or give the index as an object; "
            "table.switch_index changes it.",
        ) from error
    if not binds(own) or alike(own, found.instance) or _beside(own, found.instance):
        return
    kind = "is global" if own.is_global else "says where rows lie"
    raise OptionConflictError(
        f"index {found.ref.name!r}",
        f"contradicts the table, whose index {stored!r} {kind}: rows would be duplicated or not "
        "found.",
        "Leave this index out; table.switch_index(...), or hoodoo switch-index, changes the index "
        "of the table.",
    )


def alike(one: Any, other: Any) -> bool:
    """Whether two objects are the same index, whatever the options that they look keys up with."""
    one, other = plain(one), plain(other)
    if type(one) is not type(other) or one.is_global != other.is_global:
        return False
    return not isinstance(one, ComputedIndex) or bool(one.buckets == other.buckets)


def _beside(own: Any, asked: Any) -> bool:
    if not isinstance(asked, Tees):
        return False
    if alike(own, asked.first):
        return True
    global_lookup = own.is_global and not isinstance(own, COMPUTED)
    return global_lookup and asked.first.is_global and alike(own, asked.second)


def properties_of(found: Resolved, settings: Settings) -> dict[str, str | None]:
    """The properties by which a table says that ``found`` is its index (None: it has no such
    property)."""
    told: dict[str, str | None] = dict(_names(found.ref, found.instance))
    for option in declared_options("index", found.ref.name):
        if option.table_property:
            value = settings.get(option.key, option.default)
            if value is not None:
                told[option.key] = value
    return told


def _names(ref: PluginRef, index: Any) -> Mapping[str, str | None]:
    none: dict[str, str | None] = {HUDI_INDEX: None, OWN_INDEX: None}
    if ref.instance is not None:
        # Of an object nobody but the user has another one; that it is missing has to be seen.
        return {**none, OWN_INDEX: ref.name} if binds(index) else none
    if ref.name == default_name("index", ref.settings):
        return none
    offer = kernel().find("index", ref.name)
    key = HUDI_INDEX if offer is not None and HUDI_READS in offer.registration.roles else OWN_INDEX
    return {**none, key: ref.name.upper()}


def loaded(settings: Settings, argument: Any = None) -> Resolved:
    """The index of a write. Raises as :func:`check_index`, and PluginError for a table that was
    made with an object which is not given."""
    check_index(settings, argument)
    asked = chosen(settings, argument)
    try:
        return resolve("index", asked, settings)
    except PluginError as error:
        asks = wanted(settings.options, argument) is not None
        if asks or not isinstance(asked, str) or kernel().find("index", asked) is not None:
            raise
        raise PluginError(
            f"index {asked!r}",
            "is the index of the table, and no installed plugin offers it.",
            "Install the distribution that offers it, or give the index as an object: "
            "hoodoo.open(path, index=...). table.switch_index(...) changes the index.",
        ) from error

"""What a registration hook returns, and what a factory receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pluggy
from attrs import Factory, frozen

from hoodoo.model.config import TableConfig
from hoodoo.options.option import Option

PROJECT = "hoodoo"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

__all__ = ["Option", "PluginRef", "Registration", "Settings"]

T = TypeVar("T")


@frozen
class Settings:
    """What a factory may read: the table's properties and the options of this call."""

    table: TableConfig = Factory(TableConfig)
    options: Mapping[str, str] = Factory(dict)

    def value(self, option: Option[T]) -> T:
        """What the table says, else the options, else the default. For an option that has one."""
        found = self.given(option)
        return option.initial if found is None else found

    def given(self, option: Option[T]) -> T | None:
        """What the table says, else the options; None where neither does. ConfigError for a text
        that is not of the option's type."""
        found = option.stored(self.table.properties)
        return option.given(self.options) if found is None else found

    def get(self, key: str, default: str | None = None) -> str | None:
        """The table property if there is one, else the option, else ``default``: as text. For what
        is no declared option."""
        found = self.table.get(key)
        return found if found is not None else self.options.get(key, default)


@frozen
class Registration:
    """One thing a plugin offers.

    ``factory`` is a callable, or the text ``package.module:name`` of one (imported on first use, so
    that discovery stays cheap); it is called with one :class:`Settings`. ``aliases`` are other
    names, among them Java class names found in ``hoodie.properties``; they are matched without
    regard to case.

    ``api`` is the number of the family's API that the object is written for
    (:data:`hoodoo.hookspecs.APIS`). A member that is added with a default leaves the number as it
    is; one that every object needs, or whose meaning changes, raises it.

    ``default`` says whether this is what a table, or a call, has that names none of the family: a
    predicate of its :class:`Settings`, or the text ``package.module:name`` of one, where that
    depends on properties and options.

    ``roles`` are what core looks for by what it does, not by its name; the page of each family
    lists those that it has.

    ``verbs``, of an action, a report, a query type, a participant or a function: methods that
    :class:`hoodoo.Table` gets by it. Name of the method -> the text ``package.module:name`` of a
    function, whose first argument is the table's handle.

    ``given``, of a participant: only tables and calls with one of these keys have it.

    ``check``, of an action, gets the options of a call as text when a table is created or opened,
    if one of ``options`` is among them: ConfigError for such as contradict each other.
    """

    name: str
    factory: str | Callable[[Settings], Any]
    aliases: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    summary: str = ""
    api: int = 1
    check: str | Callable[[Mapping[str, str]], object] | None = None
    default: bool | str | Callable[[Settings], bool] = False
    roles: tuple[str, ...] = ()
    verbs: Mapping[str, str] = Factory(dict)
    given: tuple[str, ...] = ()


@frozen
class PluginRef:
    """How a plugin travels to a worker: by name, never by discovery.

    ``module`` is the entry point's value; ``distribution`` and ``version`` are the driver's.

    An object that the user passed unpackaged travels as ``instance`` and has no module.
    ``family_at``: where a family is declared that a distribution brings.
    """

    family: str
    name: str
    module: str = ""
    distribution: str = ""
    version: str = ""
    settings: Settings = Settings()
    instance: Any = None
    family_at: str = ""

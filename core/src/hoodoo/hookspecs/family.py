"""Family: one extension point, declared once: its hook, its Protocols, and what objects of it may
lack."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import Factory, field, frozen

from hoodoo.hookspecs.registration import Registration, hookspec


class _Without:
    def __repr__(self) -> str:
        return "done without"


WITHOUT = _Without()  # of a member without a default: what it is for is not done


@frozen
class Optional:
    """``default`` is what the seam answers for an object that lacks the member: the value of a
    property; of a method a function that gets the object and the arguments of the call. An object
    that is registered for API ``required_from`` of its family, or a later one, must have it (0:
    none must)."""

    default: Any = WITHOUT
    required_from: int = 0


@frozen
class Family:
    """``hook`` is called once on the driver and returns :class:`Registration` values (``about``:
    when they are made, and the default); None: the family has other hooks only, those of the class
    ``more``.

    What a factory makes obeys one of ``protocols``, and may have members of the ``optional`` ones:
    all of one, or none, unless ``lacking`` says otherwise of a member, of ``protocols`` too.
    ``parts``: Protocols of what members answer that answers in its place: name -> the Protocol and
    its optional ones; ``parts_lack``: members of these that may be missing. ``travels``: workers
    need it. ``api``: the numbers of its API that this core works with, oldest first.
    ``declared_at``: of a family that a distribution brings, what its hook ``hoodoo_families`` says;
    the kernel notes it.
    """

    hook: str | None
    about: str = ""
    protocols: tuple[type, ...] = ()
    optional: tuple[type, ...] = ()
    lacking: Mapping[str, Optional] = Factory(dict)
    parts: Mapping[str, tuple[type, ...]] = Factory(dict)
    parts_lack: Mapping[str, Optional] = Factory(dict)
    travels: bool = False
    more: type | None = None
    api: tuple[int, ...] = (1,)
    declared_at: str = ""
    hooks: Mapping[str, Callable[..., Any]] = field(init=False, eq=False, repr=False)

    @hooks.default
    def _hooks(self) -> Mapping[str, Callable[..., Any]]:
        """The functions that pluggy takes for specifications."""
        found = {
            name: f for name, f in vars(self.more or object).items() if name.startswith("hoodoo_")
        }
        return (
            found
            if self.hook is None
            else {self.hook: _registering(self.hook, self.about), **found}
        )

    @property
    def may_lack(self) -> dict[str, Optional]:
        """The members that objects may lack, and what is answered in their place."""
        each = {name: Optional() for protocol in self.optional for name in members(protocol)}
        return {**each, **self.lacking}


def _registering(name: str, about: str) -> Callable[[], Iterable[Registration]]:
    def registrations() -> Iterable[Registration]:
        raise NotImplementedError

    registrations.__name__, registrations.__doc__ = name, about
    return hookspec(registrations)


class FamilyHooks:
    """The hook by which a distribution brings families of its own."""

    @hookspec
    def hoodoo_families(self) -> Mapping[str, str]:
        """Bring families of plugins that this distribution works with, and core does not. When:
        plugins are discovered, before any registration hook is called. Default: those that
        distributions of Hoodoo bring.

        Name of each family -> the text ``package.module:NAME`` of a :class:`Family`. Who answers
        hooks of a family that may not be there marks them ``@hookimpl(optionalhook=True)``.
        """


FAMILY = Family(None, more=FamilyHooks)


def members(protocol: type) -> dict[str, bool]:
    """Public members of a Protocol: name -> whether it is a method."""
    found: dict[str, bool] = {}
    for kind in reversed(protocol.__mro__):
        if not getattr(kind, "_is_protocol", False):
            continue
        for name in (*inspect.get_annotations(kind), *kind.__dict__):
            if not name.startswith("_"):
                found[name] = inspect.isfunction(kind.__dict__.get(name))
    return found

"""From a name, an alias or an object to a plugin that works, on the driver."""

from __future__ import annotations

import inspect
import pkgutil
from functools import lru_cache
from typing import Any, NamedTuple

from hoodoo.errors import HoodooError, PluginError
from hoodoo.hookspecs import FAMILIES, MEMBERS, USUAL, Option, PluginRef, Settings, install
from hoodoo.hookspecs.family import members
from hoodoo.kernel.answers import Checked, Who, checked, plain
from hoodoo.kernel.deprecations import old_names
from hoodoo.kernel.discover import DISABLE
from hoodoo.kernel.registry import Kernel, Offer, kernel
from hoodoo.model.schema import logical
from hoodoo.options.core import CORE_OPTIONS


class Resolved(NamedTuple):
    """``instance`` answers the family's Protocol, and what it answers is checked
    (:mod:`hoodoo.kernel.answers`); ``ref`` is how it travels to a worker."""

    instance: Any
    ref: PluginRef


def resolve(
    family: str,
    wanted: str | object,
    settings: Settings | None = None,
    *,
    using: Kernel | None = None,
) -> Resolved:
    """The plugin of ``family`` that ``wanted`` names (any case, aliases too) or is.

    An object is taken as it is, if it has all members of the family's Protocol. Raises
    :class:`~hoodoo.errors.PluginError` for an unknown name, for an object that lacks members, and
    for a factory that fails; errors of Hoodoo's own classes raised by a factory (a bad option)
    pass.
    """
    settings = Settings() if settings is None else settings
    if not isinstance(wanted, str):
        if family not in FAMILIES:  # one that a distribution brings
            kernel()
        kind = type(plain(wanted))
        name = f"{kind.__module__}.{kind.__qualname__}"
        if not isinstance(wanted, Checked):
            check(family, wanted, f"{family} object {type(wanted).__name__}")
            wanted = checked(family, wanted, Who(family, name))
        return Resolved(wanted, PluginRef(family, name, settings=settings, instance=wanted))
    registry = kernel() if using is None else using
    offer = registry.find(family, wanted)
    if offer is None:
        raise _unknown(registry, family, wanted)
    ref = PluginRef(
        family,
        offer.name,
        offer.plugin.module,
        offer.plugin.distribution,
        offer.plugin.version,
        settings,
        family_at=FAMILIES[family].declared_at,
    )
    return Resolved(make(offer, settings), ref)


def default_name(family: str, settings: Settings, *, using: Kernel | None = None) -> str:
    """What ``family`` has for a table, or a call, that names none: the registration that says it is
    the default. PluginError where two do, or none does."""
    registry = kernel() if using is None else using
    found = [offer for offer in registry.offers(family) if _is_default(offer, settings)]
    if len(found) > 1:
        raise PluginError(
            f"{family} {found[0].name!r}", f"is a default, and so is {found[1]}.",
            "Name the one that you want, or uninstall the other.",
        )  # fmt: skip
    if not found:
        raise _unknown(registry, family, "default")
    return found[0].name


def _is_default(offer: Offer, settings: Settings) -> bool:
    said = offer.registration.default
    if isinstance(said, bool):
        return said
    return bool((pkgutil.resolve_name(said) if isinstance(said, str) else said)(settings))


def in_role(family: str, role: str) -> str:
    """The plugin of ``family`` that has ``role`` (:attr:`Registration.roles`), or PluginError."""
    for offer in kernel().offers(family):
        if role in offer.registration.roles:
            return offer.name
    raise _unknown(kernel(), family, role)


def declared_options(
    family: str | None = None, name: str | None = None, *, using: Kernel | None = None
) -> tuple[Option, ...]:
    """Options that are honoured: all of them, core's own included; or those that ``family``
    declares, or those of its plugin ``name`` (none if nobody offers that, as with an object)."""
    registry = kernel() if using is None else using
    if family is None:
        return tuple({**registry.options, **{o.key: o for o in CORE_OPTIONS}}.values())
    if name is None:
        offers = registry.offers(family)
    else:
        found = registry.find(family, name)
        offers = () if found is None else (found,)
    return tuple({o.key: o for offer in offers for o in offer.registration.options}.values())


def make(offer: Offer, settings: Settings) -> Any:
    """Call the factory of ``offer``; what it returns is checked now and at each call."""
    factory = offer.registration.factory
    try:
        call = pkgutil.resolve_name(factory) if isinstance(factory, str) else factory
        made = call(settings)
    except HoodooError:
        raise
    except Exception as exc:
        raise PluginError(
            str(offer),
            f"its factory {factory} failed: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {offer.plugin.distribution}, or choose another "
            f"{offer.family}.",
        ) from exc
    if isinstance(made, Checked):  # an object that the factory had from another plugin
        return made
    check(offer.family, made, str(offer), offer.registration.api)
    who = Who(offer.family, offer.name, offer.plugin.distribution, offer.plugin.version)
    return checked(offer.family, made, who)


_made = lru_cache(lambda offer: make(offer, Settings()))


def _logical_type(name: str) -> Any:
    offer = kernel().find("logical_type", name)
    return None if offer is None else _made(offer)


logical.named, logical.usual = _logical_type, install(USUAL["logical_type"])


def check(family: str, obj: object, label: str, api: int = 1) -> None:
    """Raise PluginError, listing the missing members, unless ``obj`` obeys the family's Protocol,
    as far as it was there in its ``api``."""
    known = [name for name, one in FAMILIES.items() if one.protocols]
    if family not in known:
        raise PluginError(
            label, f"family {family!r} takes no objects.", f"Families: {', '.join(known)}."
        )
    if isinstance(obj, type):
        raise PluginError(
            f"{family} object {obj.__name__}",
            "it is a class.",
            f"Give an object: {obj.__name__}(...).",
        )
    if _has_all(family, type(obj), api):  # type: ignore[arg-type]  # mypy: no Hashable
        return
    protocol, lacking = missing(family, obj, api)
    if lacking:
        raise PluginError(
            label,
            f"{type(obj).__module__}.{type(obj).__qualname__} is no {protocol}: "
            f"it lacks {', '.join(sorted(lacking))}.",
            f"See {FAMILIES[family].protocols[0].__module__} for what each member answers.",
        )


@lru_cache(maxsize=512)
def _has_all(family: str, made: Any, api: int) -> bool:
    """Whether objects of the class ``made`` have all members, whatever is in an object."""
    return not missing(family, made, api)[1]


def missing(family: str, obj: object, api: int = 1) -> tuple[str, list[str]]:
    """The Protocol of ``family`` that ``obj``, written for its ``api``, comes nearest to, and the
    members it lacks."""
    of, answers = FAMILIES[family], []
    optional = of.may_lack
    older = {entry.new: old for old, entry in old_names("member", family).items()}
    for protocol in of.protocols:
        wanted = {
            name: method
            for name, method in members(protocol).items()
            if name not in optional or 0 < optional[name].required_from <= api
        }
        lacking = [
            name
            for name, method in wanted.items()
            if _lacks(obj, name, method) and (name not in older or _lacks(obj, older[name], method))
        ]
        answers.append((len(lacking), -len(wanted), protocol.__name__, lacking))
    _, _, name, lacking = min(answers)
    return name, lacking


def _lacks(obj: Any, name: str, method: bool) -> bool:
    try:  # statically, because a property may compute, or fail before the object is in use
        found = inspect.getattr_static(obj, name)
    except AttributeError:  # an object that answers through __getattr__
        try:
            return not hasattr(obj, name)
        except Exception:  # it is there, and says what it lacks when it is asked
            return False
    # A slot or a property that holds the method is looked through; anything else must be callable.
    return method and not callable(found) and not callable(getattr(obj, name, None))


def _unknown(registry: Kernel, family: str, wanted: str) -> PluginError:
    names = sorted(offer.name for offer in registry.offers(family))
    near = registry.nearest(family, wanted)
    every = dict.fromkeys(f"{plugin.distribution} {plugin.version}" for plugin in registry.plugins)
    searched = ", ".join(every) if len(every) < 4 else f"{len(every)} distributions"
    left_out = "".join(f" Left out: {one.error}" for one in registry.broken)
    if registry.disabled:
        left_out += f" Switched off by {DISABLE}: {', '.join(registry.disabled)}."
    there = {plugin.distribution for plugin in registry.plugins}
    known = MEMBERS.get((family, wanted.rpartition(".")[2]))  # of a class its last word
    absent = [known] if known else [n for n in USUAL.get(family, ()) if n not in there]
    hint = f" ({'' if known else 'the usual ones: '}{install(absent)})" if absent else ""
    return PluginError(
        f"{family} {wanted!r}",
        f"no installed plugin offers it. Searched: {searched or 'none is installed'}.{left_out}",
        (f"Did you mean {' or '.join(map(repr, near))}? " if near else "")
        + f"Names: {', '.join(names) or 'none'}; or install the distribution that offers it{hint}.",
    )

"""The registry: every plugin's registrations, checked, with their origin."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import pluggy
from attrs import frozen

from hoodoo.errors import HoodooWarning, PluginError
from hoodoo.hookspecs import FAMILIES, USUAL, Option, Registration, install
from hoodoo.hookspecs.registration import PROJECT
from hoodoo.kernel.deprecations import old_names, warn_of_old
from hoodoo.kernel.discover import DISABLE, Broken, Plugin, discover
from hoodoo.kernel.families import add_families_of
from hoodoo.options.kinds import TEXT


@frozen(eq=False)
class Offer:
    """One registration and where it comes from."""

    family: str
    registration: Registration
    plugin: Plugin

    @property
    def name(self) -> str:
        """The name that the plugin is registered under."""
        return self.registration.name

    def __str__(self) -> str:
        return f"{self.family} {self.name!r} of {self.plugin}"


class Kernel:
    """All plugins, in the order in which they were discovered.

    Building it calls each registration hook of each plugin once. A plugin is broken that has an
    unknown hook, a hook that fails or answers something else than registrations, or a registration
    for another API of its family. With ``strict`` it raises :class:`~hoodoo.errors.PluginError`;
    else it is left out as a whole and stands in ``broken``, after those given. A name or alias that
    is taken twice inside a family always raises: which one a table means, nobody can say.
    ``on_worker``: of families that other distributions bring only those are known that are needed;
    the driver has judged the hooks.
    """

    def __init__(
        self,
        plugins: Sequence[Plugin],
        broken: Sequence[Broken] = (),
        disabled: Sequence[str] = (),
        *,
        strict: bool = True,
        on_worker: bool = False,
    ) -> None:
        self.disabled = tuple(disabled)
        self.options: dict[str, Option] = {}
        self.verbs: dict[str, str] = {}  # method of a table -> the text of its function
        self._manager = pluggy.PluginManager(PROJECT)
        self._old = old_names("hook")
        self._on_worker = on_worker
        found_broken = list(broken)
        left: list[Plugin] = []
        for plugin in plugins:
            try:
                add_families_of(plugin)
                left.append(plugin)
            except PluginError as error:
                if strict:
                    raise
                found_broken.append(Broken(plugin, error))
        # family -> its hooks that take nothing and return registrations
        self._registering: dict[str, list[str]] = {}
        for name, specs in FAMILIES.items():
            old = {n: specs.hooks[e.new] for n, e in self._old.items() if e.new in specs.hooks}
            specified = {**specs.hooks, **old}
            self._manager.add_hookspecs(type("Hooks", (), specified))
            older = [n for n in old if self._old[n].new == specs.hook]
            self._registering[name] = sorted([specs.hook, *older]) if specs.hook else []
        fitting: dict[Plugin, dict[str, list[Registration]]] = {}
        for plugin in left:
            try:
                self._add(plugin)
                fitting[plugin] = self._ask(plugin)
            except PluginError as error:
                if strict:
                    raise
                if self._manager.has_plugin(plugin.name):
                    self._manager.unregister(name=plugin.name)
                found_broken.append(Broken(plugin, error))
        self.plugins, self.broken = tuple(fitting), tuple(found_broken)
        self.families = tuple(FAMILIES)  # as they are now: a kernel made later may know more
        self._by_name: dict[str, dict[str, Offer]] = {family: {} for family in FAMILIES}
        self._offers: dict[str, list[Offer]] = {family: [] for family in FAMILIES}
        for family, hooks in self._registering.items():
            for hook in hooks:
                for plugin, answers in fitting.items():
                    for registration in answers.get(hook, ()):
                        self._offer(Offer(family, registration, plugin), hook)

    # --- asking -----------------------------------------------------------------------------------
    @property
    def hooks(self) -> tuple[str, ...]:
        """Names of all hooks that exist, sorted; without those that are called otherwise now."""
        return tuple(name for name in self._specified if name not in self._old)

    @property
    def _specified(self) -> tuple[str, ...]:
        callers = [c for c in vars(self._manager.hook).values() if isinstance(c, pluggy.HookCaller)]
        return tuple(sorted(caller.name for caller in callers if caller.has_spec()))

    def offers(self, family: str) -> tuple[Offer, ...]:
        """What is offered in ``family``, in the order of discovery."""
        return tuple(self._offers[self._known(family)])

    def find(self, family: str, name: str) -> Offer | None:
        """The offer with this name or alias, without regard to case."""
        return self._by_name[self._known(family)].get(name.casefold())

    def nearest(self, family: str, name: str) -> list[str]:
        """Names and aliases of ``family`` that look like ``name``, best first."""
        spelt: dict[str, str] = {}
        for offer in self._offers[self._known(family)]:
            for text in (offer.name, *offer.registration.aliases):
                spelt.setdefault(text.casefold(), text)
        # The last part of a Java class name is what people mistype.
        tails = {text.rsplit(".", 1)[-1]: original for text, original in spelt.items()}
        wanted = name.casefold()
        found = difflib.get_close_matches(wanted, spelt, n=3)
        found += difflib.get_close_matches(wanted.rsplit(".", 1)[-1], tails, n=3)
        return list(dict.fromkeys(spelt.get(text) or tails[text] for text in found))[:3]

    def implementations(self, hook: str) -> list[tuple[Plugin, pluggy.HookImpl]]:
        """Who answers ``hook``, in the order of discovery (pluggy's own order is the reverse)."""
        older = [name for name, entry in self._old.items() if entry.new == hook]
        callers = [self._caller(name) for name in (*older, hook)]
        by_name = {found.plugin_name: found for c in callers for found in c.get_hookimpls()}
        return [(plugin, by_name[plugin.name]) for plugin in self.plugins if plugin.name in by_name]

    def _known(self, family: str) -> str:
        if family not in self._offers:
            usual = USUAL.get(family)
            fix = f"Families: {', '.join(self._offers)}." if usual is None else install(usual)
            raise PluginError(
                f"family {family!r}", "no installed plugin declares this family.", fix
            )
        return family

    # --- building ---------------------------------------------------------------------------------
    def _caller(self, hook: str) -> Any:  # pluggy's type leaves open that `spec` is there
        return getattr(self._manager.hook, hook)

    def _add(self, plugin: Plugin) -> None:
        try:
            self._manager.register(plugin.loaded, name=plugin.name)
        except (ValueError, pluggy.PluginValidationError) as exc:
            raise PluginError(
                str(plugin),
                f"{plugin.module} does not fit the hooks: {' '.join(str(exc).split())}.",
                "Give each hook the arguments of its specification in hoodoo.hookspecs.",
            ) from exc
        answered = self._manager.get_hookcallers(plugin.loaded) or []
        for caller in answered:
            mine = [i for i in caller.get_hookimpls() if i.plugin_name == plugin.name]
            if caller.name in self._old:
                warn_of_old(self._old[caller.name], str(plugin))
            wanted = not self._on_worker and not all(i.optionalhook for i in mine)
            if wanted and not caller.has_spec():
                near = difflib.get_close_matches(caller.name, self.hooks, n=1)
                known = f"Hooks: {', '.join(self.hooks)}, and those of families that you install."
                raise PluginError(
                    f"hook {caller.name!r} of {plugin}",
                    f"there is no hook of this name; {plugin.module} implements it, but it is "
                    "never called.",
                    f"Did you mean {near[0]!r}?" if near else known,
                )
        names = {caller.name for caller in answered}
        for hook in self.hooks:
            if hook not in names and callable(getattr(plugin.loaded, hook, None)):
                raise PluginError(
                    f"hook {hook!r} of {plugin}",
                    f"the function in {plugin.module} is not marked, so it would never be called.",
                    "Decorate it with @hoodoo.hookimpl.",
                )

    def _ask(self, plugin: Plugin) -> dict[str, list[Registration]]:
        """What each registration hook of ``plugin`` answers, by hook."""
        answers: dict[str, list[Registration]] = {}
        for family, hooks in self._registering.items():
            for hook in hooks:
                for found in self._caller(hook).get_hookimpls():
                    if found.plugin_name == plugin.name:
                        answers[hook] = _registrations(plugin, hook, found, family)
        return answers

    def _offer(self, offer: Offer, hook: str) -> None:
        taken = self._by_name[offer.family]
        for text in dict.fromkeys(
            name.casefold() for name in (offer.name, *offer.registration.aliases)
        ):
            if text in taken:
                raise PluginError(
                    f"{offer.family} {text!r}",
                    f"two plugins register this name or alias in hook {hook!r}: by "
                    f"{taken[text].name!r} of "
                    f"{taken[text].plugin} and by {offer.name!r} of {offer.plugin}.",
                    "Uninstall one of the distributions, or change the name if you maintain one of "
                    "them.",
                )
            taken[text] = offer
        self._offers[offer.family].append(offer)
        for verb, function in offer.registration.verbs.items():
            if self.verbs.setdefault(verb, function) != function:
                raise PluginError(
                    f"method {verb!r} of {offer}",
                    f"is taken already, by {self.verbs[verb]}.",
                    "Uninstall one of the distributions, or change the name if you maintain one of "
                    "them.",
                )
        for option in offer.registration.options:
            before = self.options.setdefault(option.key, option)
            if before.kind == TEXT:  # who declares a type knows more
                self.options[option.key] = option
            if before.table_property != option.table_property:
                raise PluginError(
                    f"option {option.key!r} of {offer}",
                    "another plugin declares it too, and only one of them declares it as a table "
                    "property.",
                    "Declare `table_property` as the other plugin does.",
                )


def _registrations(
    plugin: Plugin, hook: str, implementation: pluggy.HookImpl, family: str
) -> list[Registration]:
    """Call one registration hook of one plugin, and check the answer."""
    obj = f"hook {hook!r} of {plugin}"
    if implementation.wrapper or implementation.hookwrapper:
        raise PluginError(obj, "a registration hook can't be wrapped.", "Register your own name.")
    try:
        answer: Any = implementation.function()
        found = list(answer) if isinstance(answer, Iterable) else None
    except Exception as exc:
        raise PluginError(
            obj,
            f"the call failed: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {plugin.distribution}, or uninstall it.",
        ) from exc
    if found is None:
        raise PluginError(
            obj,
            f"it returned {type(answer).__name__}, not an iterable of Registration.",
            "Return a list, or yield.",
        )
    for one in found:
        if not isinstance(one, Registration) or not isinstance(one.name, str) or not one.name:
            raise PluginError(
                obj,
                f"it returned {one!r} where a Registration with a name is expected.",
                "Return hoodoo.hookspecs.Registration values.",
            )
        if not callable(one.factory) and (
            not isinstance(one.factory, str) or one.factory.count(":") != 1
        ):
            raise PluginError(
                obj,
                f"the factory of {one.name!r} is {one.factory!r}.",
                'Give a callable, or the text "package.module:name" of one.',
            )
        known = FAMILIES[family].api
        if one.api not in known:
            raise PluginError(
                f"{family} {one.name!r} of {plugin}",
                f"it was written for API {one.api!r} of its family; this core has "
                f"{' and '.join(map(str, known))}.",
                f"Install a version of {plugin.distribution} that fits, or "
                + ("a newer hoodoo-core." if one.api > known[-1] else "an older hoodoo-core."),
            )
    return found


@lru_cache(maxsize=1)
def kernel() -> Kernel:
    """The registry of this process, built at the first call (``kernel.cache_clear()`` for tests).

    A plugin that is broken is named in one :class:`~hoodoo.errors.HoodooWarning` and left out.
    """
    found = discover()
    made = Kernel(found.plugins, found.broken, found.disabled, strict=False)
    for one in made.broken:
        warnings.warn(f"left out: {one.error}", HoodooWarning, stacklevel=2)
    if found.unknown:
        warnings.warn(
            f"{DISABLE} names {', '.join(found.unknown)}, but no plugin and no distribution has "
            "this name. Fix: see `hoodoo plugins`.",
            HoodooWarning,
            stacklevel=2,
        )
    return made


def same_plugin(family: str, one: Any, other: Any) -> bool:
    """Whether two names, of any kind and in any case, are those of one plugin. An object is only
    itself."""
    if not isinstance(one, str) or not isinstance(other, str):
        return one is other
    if one.lower() == other.lower():
        return True
    offer = kernel().find(family, one)
    return offer is not None and offer is kernel().find(family, other)

"""The API of plugins over the years: what is added later breaks nothing, and old names work until they go."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

import hoodoo
import pytest
from hoodoo.errors import HoodooWarning, PluginError
from hoodoo.hookspecs import Option, Registration, deprecated
from hoodoo.hookspecs.deprecated import Deprecated
from hoodoo.hookspecs.family import Family, Optional, members
from hoodoo.kernel import deprecations, options, registry
from hoodoo.kernel.answers import declared, kind_of, seam
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo.kernel.resolve import resolve


# --- a family that does not exist, over three versions ----------------------------------------------
class Brewer(Protocol):
    def brew(self, water: int) -> int: ...
    def rinse(self, times: int) -> int: ...  # from API 2 on
    @property
    def heats(self) -> bool: ...  # since then, too; never required


class First:
    """Written for API 1."""

    def brew(self, water: int) -> int:
        return water + 1


class Second(First):
    """Written for API 2."""

    heats = True

    def rinse(self, times: int) -> int:
        return 2 * times


@pytest.fixture(autouse=True)
def brewers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    later = {
        "rinse": Optional(lambda brewer, times: 10 * times, required_from=2),
        "heats": Optional(False),
    }
    family = Family("hoodoo_brewers", "Offer brewers.", (Brewer,), lacking=later, api=(1, 2))
    monkeypatch.setitem(registry.FAMILIES, "brewer", family)
    forget()
    yield
    forget()


def forget() -> None:
    """What was made of the families before."""
    for made in (seam._class, seam._on_class, declared.kind_of, declared._kinds_of_protocols):
        made.cache_clear()
    deprecations._warned.clear()


def offering(made: Callable[[], Any], api: int, hook: str = "hoodoo_brewers") -> Kernel:
    marked = hoodoo.hookimpl(lambda: [Registration("mine", lambda settings: made(), api=api)])
    return Kernel([Plugin("a", "a_module", "a-dist", "1.0", SimpleNamespace(**{hook: marked}))])


def test_a_member_that_came_later_has_its_default() -> None:
    brewer = resolve("brewer", "mine", using=offering(First, 1)).instance
    assert (brewer.brew(1), brewer.rinse(3), brewer.heats) == (2, 30, False)
    again = pickle.loads(pickle.dumps(brewer))
    assert (again.rinse(3), again.heats) == (30, False)
    assert resolve("brewer", First()).instance.rinse(1) == 10  # an object, too


def test_who_has_it_answers_it() -> None:
    brewer = resolve("brewer", "mine", using=offering(Second, 2)).instance
    assert (brewer.brew(1), brewer.rinse(3), brewer.heats) == (2, 6, True)


def test_a_plugin_of_the_later_api_has_to_have_it() -> None:
    with pytest.raises(PluginError, match="is no Brewer: it lacks rinse"):
        resolve("brewer", "mine", using=offering(First, 2))


def test_a_plugin_of_an_api_that_is_newer_than_core_is_refused() -> None:
    with pytest.raises(PluginError, match=r"API 3 .* this core has 1 and 2.*newer hoodoo-core"):
        offering(Second, 3)


# --- old names --------------------------------------------------------------------------------------
def renamed(monkeypatch: pytest.MonkeyPatch, *entries: Deprecated) -> None:
    monkeypatch.setattr(deprecated, "DEPRECATED", entries)


def said(caught: list[warnings.WarningMessage]) -> str:
    (one,) = caught
    assert one.category is HoodooWarning
    return str(one.message)


@pytest.fixture
def caught() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def test_a_hook_of_an_old_name_is_called(
    monkeypatch: pytest.MonkeyPatch, caught: list[warnings.WarningMessage]
) -> None:
    renamed(monkeypatch, Deprecated("hook", "hoodoo_kettles", "hoodoo_brewers", "0.2", "0.4"))
    found = offering(Second, 2, "hoodoo_kettles")
    assert resolve("brewer", "mine", using=found).instance.brew(1) == 2
    offering(Second, 2, "hoodoo_kettles")
    text = said(caught)
    for part in ("plugin 'a'", "hoodoo_kettles", "0.2", "0.4", "'hoodoo_brewers'"):
        assert part in text
    assert "hoodoo_kettles" not in found.hooks


def test_an_observer_of_an_old_hook_is_told(
    monkeypatch: pytest.MonkeyPatch, caught: list[warnings.WarningMessage]
) -> None:
    renamed(monkeypatch, Deprecated("hook", "hoodoo_happened", "hoodoo_event", "0.2", "0.4"))
    marked = SimpleNamespace(hoodoo_happened=hoodoo.hookimpl(lambda event: None))
    found = Kernel([Plugin("a", "a_module", "a-dist", "1.0", marked)])
    assert [plugin.name for plugin, _ in found.implementations("hoodoo_event")] == ["a"]
    assert "hoodoo_happened" in said(caught)


def test_a_member_of_an_old_name_is_called(
    monkeypatch: pytest.MonkeyPatch, caught: list[warnings.WarningMessage]
) -> None:
    renamed(monkeypatch, Deprecated("member", "boil", "brew", "0.2", "0.4", family="brewer"))

    class Old:
        def boil(self, water: int) -> int:
            return water - 1

    for _ in range(2):
        assert resolve("brewer", "mine", using=offering(Old, 1)).instance.brew(1) == 0
    assert "member 'boil' of family brewer" in said(caught)


def test_an_option_of_an_old_name_is_read(
    monkeypatch: pytest.MonkeyPatch, caught: list[warnings.WarningMessage]
) -> None:
    renamed(monkeypatch, Deprecated("option", "brew.hot", "brew.heat", "0.2", "0.4"))
    heat = Option("brew.heat", "How hot.", aliases=("brew.hot",))
    given = options.check({"brew.hot": "9"}, also=[heat], using=Kernel([]))
    assert heat.given(given) == "9"
    assert "'brew.heat'" in said(caught)


def test_a_method_of_an_old_name_is_called(
    monkeypatch: pytest.MonkeyPatch, caught: list[warnings.WarningMessage], tmp_path: Any
) -> None:
    from hoodoo.table.table import Table

    renamed(monkeypatch, Deprecated("method", "place", "path", "0.2", "0.4"))
    table = Table.__new__(Table)
    with pytest.raises(AttributeError, match="nothing"):
        table.nothing  # noqa: B018  # type: ignore[attr-defined]
    table._handle = SimpleNamespace(storage=SimpleNamespace(root="file:///t"))  # type: ignore[assignment]
    assert table.place == "file:///t"  # type: ignore[attr-defined]
    assert "method 'place'" in said(caught)


# --- the data ---------------------------------------------------------------------------------------
def test_each_member_is_required_or_optional() -> None:
    """As the seam has a rule for each, none is forgotten."""
    for name, family in registry.FAMILIES.items():
        if family.protocols:
            kind = kind_of(name)
            ruled = {*kind.properties, *kind.methods}
            required = {name for protocol in family.protocols for name in members(protocol)}
            assert ruled == required | set(family.may_lack), name


def test_old_names_lead_to_new_ones() -> None:
    hooks = set(Kernel([]).hooks)
    for entry in deprecated.DEPRECATED:
        assert entry.since < entry.until
        if entry.kind == "hook":
            assert entry.new in hooks and entry.old not in hooks
        elif entry.kind == "member":
            kind = kind_of(entry.family)
            assert entry.new in {*kind.properties, *kind.methods}

"""The registry: what is offered, by whom; every mistake of a plugin author named."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import PluginError
from hoodoo.hookspecs import FAMILIES, Option, Registration
from hoodoo.kernel import kernel
from hoodoo.kernel.discover import GROUP, Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo.kernel.resolve import resolve

FACTORY = "somewhere:make"  # never called here


def plugin(name: str, **hooks: Any) -> Plugin:
    """A plugin of the distribution ``<name>-dist`` whose hooks are the given functions."""
    marked = SimpleNamespace(**{key: hoodoo.hookimpl(value) for key, value in hooks.items()})
    return Plugin(name, f"{name}_module", f"{name}-dist", "1.0", marked)


def indexes(*registrations: Registration) -> Any:
    def hoodoo_indexes() -> Iterable[Registration]:
        yield from registrations

    return hoodoo_indexes


def fails(*plugins: Plugin) -> str:
    with pytest.raises(PluginError) as caught:
        Kernel(plugins)
    assert caught.value.obj and caught.value.rule and caught.value.fix
    return str(caught.value)


def test_offers_come_in_the_order_of_discovery() -> None:
    found = Kernel(
        [
            plugin(
                "a", hoodoo_indexes=indexes(Registration("z", FACTORY), Registration("y", FACTORY))
            ),
            plugin("b", hoodoo_indexes=indexes(Registration("x", FACTORY))),
        ]
    )
    assert [offer.name for offer in found.offers("index")] == ["z", "y", "x"]
    assert found.offers("merger") == ()


def test_names_and_aliases_are_found_in_any_case() -> None:
    java = "org.apache.hudi.index.bloom.HoodieBloomIndex"
    found = Kernel(
        [plugin("a", hoodoo_indexes=indexes(Registration("bloom", FACTORY, (java, "BLOOM"))))]
    )
    for text in ("bloom", "Bloom", "BLOOM", java, java.upper()):
        offer = found.find("index", text)
        assert offer is not None and offer.name == "bloom"
        assert offer.plugin.distribution == "a-dist"
    assert found.find("index", "blom") is None
    assert found.find("merger", "bloom") is None
    assert found.nearest("index", "blom") == ["bloom"]
    assert found.nearest("index", "com.example.HoodieBlomIndex") == [java]


def test_unknown_family() -> None:
    with pytest.raises(PluginError, match="key_generator"):
        Kernel([]).offers("keygen")


@pytest.mark.parametrize(
    "second",
    [
        Registration("BLOOM", FACTORY),
        Registration("other", FACTORY, ("Bloom",)),
        Registration("J", FACTORY),
    ],
)
def test_a_name_taken_twice(second: Registration) -> None:
    text = fails(
        plugin("a", hoodoo_indexes=indexes(Registration("bloom", FACTORY, ("j",)))),
        plugin("b", hoodoo_indexes=indexes(second)),
    )
    assert "a-dist 1.0" in text and "b-dist 1.0" in text


def test_one_name_in_two_families_is_fine() -> None:
    found = Kernel(
        [
            plugin(
                "a",
                hoodoo_indexes=indexes(Registration("simple", FACTORY)),
                hoodoo_key_generators=lambda: [Registration("simple", FACTORY)],
            )
        ]
    )
    assert found.find("index", "simple") is not found.find("key_generator", "simple")


def test_a_misspelt_hook() -> None:
    def hoodoo_indices() -> list[Registration]:
        return []

    text = fails(plugin("a", hoodoo_indices=hoodoo_indices))
    for part in ("'hoodoo_indices'", "plugin 'a'", "a-dist 1.0", "'hoodoo_indexes'"):
        assert part in text


def test_a_hook_that_is_not_marked() -> None:
    bare = SimpleNamespace(hoodoo_indexes=indexes())
    text = fails(Plugin("a", "a_module", "a-dist", "1.0", bare))
    assert "a_module" in text and "@hoodoo.hookimpl" in text


def test_a_hook_with_arguments_of_its_own() -> None:
    def hoodoo_event(evnt: object) -> None: ...

    text = fails(plugin("a", hoodoo_event=hoodoo_event))
    assert "a-dist 1.0" in text and "evnt" in text


def test_a_failing_hook() -> None:
    def hoodoo_mergers() -> list[Registration]:
        raise ZeroDivisionError("broken on purpose")

    text = fails(plugin("a", hoodoo_mergers=hoodoo_mergers))
    for part in ("hoodoo_mergers", "plugin 'a'", "a-dist 1.0", "ZeroDivisionError", "on purpose"):
        assert part in text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "NoneType"),
        (["bloom"], "'bloom'"),
        ([Registration("", FACTORY)], "with a name"),
        ([Registration("x", "no.colon")], "no.colon"),
        ([Registration("x", 5)], "5"),  # type: ignore[arg-type]
    ],
)
def test_answers_that_are_no_registrations(answer: Any, said: str) -> None:
    text = fails(plugin("a", hoodoo_layouts=lambda: answer))
    assert "hoodoo_layouts" in text and "a-dist 1.0" in text and said in text


def test_options_are_gathered() -> None:
    one = Option("hoodie.x", default="1", table_property=True)
    found = Kernel(
        [plugin("a", hoodoo_indexes=indexes(Registration("x", FACTORY, options=(one,))))]
    )
    assert found.options == {"hoodie.x": one}
    text = fails(
        plugin("a", hoodoo_indexes=indexes(Registration("x", FACTORY, options=(one,)))),
        plugin(
            "b", hoodoo_layouts=lambda: [Registration("l", FACTORY, options=(Option("hoodie.x"),))]
        ),
    )
    assert "hoodie.x" in text and "b-dist" in text and "table property" in text


def test_every_family_that_registers_has_a_protocol() -> None:
    assert {name for name, family in FAMILIES.items() if family.protocols} == set(FAMILIES) - {
        "command",
        "creation",
        "family",
        "function",
        "observer",
        "rows",
    }
    hooks = Kernel([]).hooks
    assert "hoodoo_storages" in hooks and "hoodoo_event" in hooks


def test_core_offers_nothing_itself() -> None:
    """It is one distribution of many, and has no entry point."""
    assert not any(Kernel([]).offers(family) for family in FAMILIES)
    assert not any(point.dist.name == "hoodoo-core" for point in entry_points(group=GROUP))


def test_the_environment_of_this_test_has_a_kernel() -> None:
    assert kernel() is kernel()


# --- one broken plugin among others -----------------------------------------------------------------
def fine() -> Plugin:
    return plugin("a", hoodoo_indexes=indexes(Registration("fine", FACTORY)))


BROKEN = {
    "misspelt": plugin("b", hoodoo_indices=lambda: []),
    "fails": plugin("b", hoodoo_indexes=lambda: 1 // 0, hoodoo_mergers=lambda: []),
    "newer": plugin("b", hoodoo_indexes=indexes(Registration("mine", FACTORY, api=2))),
    "older": plugin("b", hoodoo_indexes=indexes(Registration("mine", FACTORY, api=0))),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_left_out_and_named(kind: str) -> None:
    fails(fine(), BROKEN[kind])
    found = Kernel([BROKEN[kind], fine()], strict=False)
    assert [p.name for p in found.plugins] == ["a"]
    assert [offer.name for offer in found.offers("index")] == ["fine"]
    (broken,) = found.broken
    assert broken.plugin.name == "b" and "b-dist 1.0" in str(broken.error)
    # Who needs it learns why it is not there.
    with pytest.raises(PluginError) as caught:
        resolve("index", "mine", using=found)
    assert str(broken.error) in str(caught.value)


def test_the_number_of_an_api_is_in_the_message() -> None:
    assert "API 2" in fails(BROKEN["newer"]) and "newer hoodoo-core" in fails(BROKEN["newer"])
    assert "API 0" in fails(BROKEN["older"]) and "older hoodoo-core" in fails(BROKEN["older"])


def test_a_hook_of_a_newer_core_may_be_marked_optional() -> None:
    marked = SimpleNamespace(
        hoodoo_indexes=hoodoo.hookimpl(indexes(Registration("fine", FACTORY))),
        hoodoo_teleporters=hoodoo.hookimpl(lambda: [], optionalhook=True),
    )
    found = Kernel([Plugin("a", "a_module", "a-dist", "1.0", marked)])
    assert [offer.name for offer in found.offers("index")] == ["fine"]


def test_what_is_switched_off_is_said_where_it_is_needed() -> None:
    found = Kernel([fine()], disabled=("gone",), strict=False)
    with pytest.raises(PluginError, match="HOODOO_DISABLE: gone"):
        resolve("index", "mine", using=found)

"""Discovery sorts, rejects doubles and names the culprit."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoodoo.errors import PluginError
from hoodoo.kernel.discover import discover
from hoodoo.testing.distributions import fake_distribution


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for fake distributions, the only ones that are installed."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


def test_nothing_installed(site: Path) -> None:
    assert discover().plugins == ()


def test_in_the_order_of_names(site: Path) -> None:
    fake_distribution(
        site, "aaa-dist", entry_points={"zebra": "fake_z"}, modules={"fake_z": "Z = 1"}
    )
    fake_distribution(
        site,
        "zzz-dist",
        "2.5",
        entry_points={"mule": "fake_m", "ant": "fake_a:thing"},
        modules={"fake_m": "", "fake_a": "thing = 'loaded'"},
    )
    found = discover().plugins
    assert [(p.name, p.module, p.distribution, p.version) for p in found] == [
        ("ant", "fake_a:thing", "zzz-dist", "2.5"),
        ("mule", "fake_m", "zzz-dist", "2.5"),
        ("zebra", "fake_z", "aaa-dist", "1.0"),
    ]
    assert found[0].loaded == "loaded"
    assert found[2].loaded.Z == 1


def test_imports_happen_one_by_one_in_that_order(site: Path) -> None:
    note = "import sys; sys.fake_order = [*getattr(sys, 'fake_order', []), __name__]"
    fake_distribution(site, "d1", entry_points={"c": "fake_c"}, modules={"fake_c": note})
    fake_distribution(site, "d2", entry_points={"b": "fake_b"}, modules={"fake_b": note})
    fake_distribution(site, "d3", entry_points={"a": "fake_a1"}, modules={"fake_a1": note})
    try:
        discover()
        assert sys.fake_order == ["fake_a1", "fake_b", "fake_c"]  # type: ignore[attr-defined]
    finally:
        del sys.fake_order  # type: ignore[attr-defined]


def test_one_name_from_two_distributions(site: Path) -> None:
    """Neither module is imported, and both distributions are named."""
    for dist in ("second-dist", "first-dist"):
        fake_distribution(
            site,
            dist,
            entry_points={"same": f"fake_{dist[:5]}"},
            modules={f"fake_{dist[:5]}": "raise RuntimeError('imported')"},
        )
    with pytest.raises(PluginError) as caught:
        discover()
    text = str(caught.value)
    assert "'same'" in text and "imported" not in text
    assert text.index("first-dist 1.0") < text.index("second-dist 1.0")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("raise RuntimeError('broken on purpose')", "broken on purpose"),
        ("raise SystemExit(3)", "SystemExit"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_a_failing_import(site: Path, source: str, said: str) -> None:
    fake_distribution(
        site, "bad-dist", "0.9", entry_points={"bad": "fake_bad"}, modules={"fake_bad": source}
    )
    fake_distribution(site, "good-dist", entry_points={"good": "fake_g"}, modules={"fake_g": ""})
    found = discover()
    assert [p.name for p in found.plugins] == ["good"]
    (broken,) = found.broken
    assert broken.plugin.name == "bad"
    for part in ("'bad'", "fake_bad", "bad-dist 0.9", said, "uninstall", "HOODOO_DISABLE=bad"):
        assert part in str(broken.error)


def test_an_entry_point_that_names_nothing(site: Path) -> None:
    fake_distribution(
        site, "bad-dist", entry_points={"bad": "fake_bad2:nothing"}, modules={"fake_bad2": ""}
    )
    (broken,) = discover().broken
    assert "fake_bad2:nothing failed: AttributeError" in str(broken.error)


@pytest.mark.parametrize("off", ["bad", "bad-dist", " other , bad "])
def test_what_is_switched_off_is_not_imported(
    site: Path, monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    fake_distribution(
        site, "bad-dist", entry_points={"bad": "fake_bad"}, modules={"fake_bad": "raise OSError"}
    )
    fake_distribution(site, "good-dist", entry_points={"good": "fake_g"}, modules={"fake_g": ""})
    monkeypatch.setenv("HOODOO_DISABLE", off)
    found = discover()
    assert ([p.name for p in found.plugins], found.broken) == (["good"], ())
    assert found.disabled == ("bad",)
    assert found.unknown == (("other",) if "other" in off else ())


def test_one_of_two_with_the_same_name_can_be_switched_off(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dist in ("first-dist", "second-dist"):
        module = f"fake_{dist[:5]}"
        fake_distribution(site, dist, entry_points={"same": module}, modules={module: ""})
    monkeypatch.setenv("HOODOO_DISABLE", "first-dist")
    assert [p.distribution for p in discover().plugins] == ["second-dist"]

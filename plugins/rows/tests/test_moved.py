"""Modules that core had before are found by their old names, with a warning."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import hoodoo_rows.testing.metered
import hoodoo_rows.write.run
import pytest
from hoodoo.errors import HoodooWarning
from hoodoo.kernel.moved import moved


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Old names are as if never imported, before and after: `hoodoo.write` is the function."""

    def forget() -> None:
        for name in [n for n in sys.modules if any(f"{n}.".startswith(f"{o}.") for o in moved())]:
            del sys.modules[name]
            package, _, last = name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(last, None)

    forget()
    yield
    forget()


def test_the_old_name_is_the_same_module() -> None:
    with pytest.warns(HoodooWarning, match="hoodoo_rows.write.run"):
        old = importlib.import_module("hoodoo.write.run")
    assert old is hoodoo_rows.write.run
    with pytest.warns(HoodooWarning, match="hoodoo_rows.testing.metered"):
        old = importlib.import_module("hoodoo.testing.metered")
    assert old is hoodoo_rows.testing.metered


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", sorted(moved()))
def test_each_name_leads_somewhere(name: str) -> None:
    with pytest.warns(HoodooWarning, match=moved()[name]):
        importlib.import_module(name)


def test_a_name_that_never_was_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"hoodoo\.nothing"):
        importlib.import_module("hoodoo.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"hoodoo_rows\.write\.nothing"):
        importlib.import_module("hoodoo.write.nothing")

"""What every function of the package that a plugin brings promises: the contract of the hook
``hoodoo_functions``.

Usage::

    class TestMine(FunctionContract):
        @pytest.fixture
        def registrations(self):
            return my_module.hoodoo_functions()
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hoodoo.hookspecs import Registration
from hoodoo.kernel.functions import OF_READS

from hoodoo_rows.read.rows import Rows

hoodoo = importlib.import_module("hoodoo")  # the package itself, which no room of it imports


class FunctionContract:
    """Subclass, and answer the fixture ``registrations``."""

    @pytest.fixture
    def registrations(self) -> Sequence[Registration]:
        raise NotImplementedError("override the fixture `registrations`")

    def test_names_are_free(self, registrations: Sequence[Registration]) -> None:
        """What core has, a module of the package too, would hide them."""
        for one in registrations:
            of_reads = one.name.startswith(OF_READS)
            name = one.name.removeprefix(OF_READS)
            assert name.isidentifier() and not name.startswith("_"), one.name
            if of_reads:
                assert not hasattr(Rows, name), f"{one.name}: core's own"
            else:
                assert name not in hoodoo.__all__, f"{one.name}: core's own"
                found = pkgutil.iter_modules(hoodoo.__path__)
                assert name not in {module.name for module in found}, f"{one.name}: a module"

    def test_they_are_found(self, registrations: Sequence[Registration]) -> None:
        for one in registrations:
            if not one.name.startswith(OF_READS):
                assert one.name in dir(hoodoo)
                assert callable(getattr(hoodoo, one.name))

    def test_they_say_what_they_do(self, registrations: Sequence[Registration]) -> None:
        for one in registrations:
            assert one.summary and "\n" not in one.summary, one.name
            assert isinstance(one.factory, str), f"{one.name}: give the text package.module:name"
            found = pkgutil.resolve_name(one.factory)
            assert inspect.getdoc(found), f"{one.name}: help() shows its docstring"
            if one.name.startswith(OF_READS):
                assert next(iter(inspect.signature(found).parameters)) == "self", one.name

    def test_they_are_imported_when_they_are_wanted(
        self, registrations: Sequence[Registration]
    ) -> None:
        """``dir(hoodoo)`` is fast, and discovery imports no module of a function."""
        modules = [str(one.factory).partition(":")[0] for one in registrations]
        code = (
            "import sys, hoodoo; dir(hoodoo); "
            "print(*(name for name in sys.argv[1:] if name in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *modules], capture_output=True, text=True, check=True
        )
        assert not done.stdout.strip(), f"discovery imports {done.stdout}"

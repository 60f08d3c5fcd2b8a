"""What every subcommand of ``hoodoo`` promises: the contract of the hook ``hoodoo_commands`` as
tests.

Usage::

    class TestMine(CommandContract):
        @pytest.fixture
        def registrations(self):
            return my_module.hoodoo_commands()
"""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from hoodoo.hookspecs import Registration

_LINE = 120


class CommandContract:
    """Subclass, and answer the fixture ``registrations``."""

    @pytest.fixture
    def registrations(self) -> Sequence[Registration]:
        raise NotImplementedError("override the fixture `registrations`")

    def test_names_can_be_typed(self, registrations: Sequence[Registration]) -> None:
        for one in registrations:
            assert re.fullmatch(r"[a-z][a-z0-9-]*", one.name), one.name

    def test_summaries_are_one_line(self, registrations: Sequence[Registration]) -> None:
        for one in registrations:
            assert one.summary, f"{one.name}: hoodoo --help shows it"
            assert "\n" not in one.summary and len(one.summary) <= _LINE, one.name

    def test_they_are_imported_when_they_run(self, registrations: Sequence[Registration]) -> None:
        """``hoodoo --help`` is fast, and discovery needs no library of the command line."""
        modules = []
        for one in registrations:
            assert isinstance(one.factory, str), f"{one.name}: give the text package.module:name"
            assert callable(pkgutil.resolve_name(one.factory)), one.factory
            modules.append(one.factory.partition(":")[0])
        code = (
            "import sys; from hoodoo.kernel.registry import kernel; kernel(); "
            "print(*(name for name in sys.argv[1:] if name in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *modules], capture_output=True, text=True, check=True
        )
        assert not done.stdout.strip(), f"discovery imports {done.stdout}"

"""All reports and subcommands that are installed keep the contracts."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hoodoo.hookspecs import Registration
from hoodoo.hookspecs.report import Reporter
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.testing.contracts.command import CommandContract
from hoodoo.testing.contracts.report import ReportContract
from hoodoo_cli.hookspecs.check import Check
from hoodoo_cli.testing.check import CheckContract

COMMANDS = [offer.registration for offer in kernel().offers("command")]
ARGUMENTS: dict[str, Mapping[str, Any]] = {"layout": {"columns": ["city"]}}


@pytest.fixture(params=[offer.name for offer in kernel().offers("report")])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestReports(ReportContract):
    @pytest.fixture
    def reporter(self, name: str) -> Reporter:
        found: Reporter = resolve("report", name).instance
        return found

    @pytest.fixture
    def arguments(self, name: str) -> Mapping[str, Any]:
        return ARGUMENTS.get(name, {})


class TestChecks(CheckContract):
    @pytest.fixture(params=[offer.name for offer in kernel().offers("check")])
    def check(self, request: pytest.FixtureRequest) -> Check:
        found: Check = resolve("check", request.param).instance
        return found


class TestCommands(CommandContract):
    @pytest.fixture
    def registrations(self) -> list[Registration]:
        return COMMANDS


@pytest.mark.parametrize("one", COMMANDS, ids=lambda one: one.name)
def test_the_list_says_what_the_help_says(one: Registration) -> None:
    assert isinstance(one.factory, str)
    said = inspect.getdoc(pkgutil.resolve_name(one.factory)) or ""
    assert " ".join(said.split()).startswith(one.summary.rstrip(".")), said
    assert re.search(r"[.]$", one.summary)

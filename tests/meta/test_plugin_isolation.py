"""No plugin reaches into another's insides, or into what core keeps to itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoodoo.hookspecs import FAMILIES, USUAL
from hoodoo.kernel.registry import kernel

kernel()  # knows the families that distributions bring

REPO = Path(__file__).parents[2]
# What a distribution offers to others on purpose. (Subcommands are loaded by hoodoo-cli alone, so that those who
# contribute one can go by its toolkit without needing it.)
OFFERED = (
    "hoodoo_rows",  # reads and writes rows for all that work with them
    "hoodoo_standard.options",  # some are read by others, too
    # What a base file says of its record keys is the same in other formats.
    "hoodoo_formats.logical",
    "hoodoo_formats.options",
    "hoodoo_formats.record_keys",
    "hoodoo_cli.toolkit",
    "hoodoo_metadata.hfile",  # for who looks into files of a metadata table
    "hoodoo_native",  # compiled loops, by their functions
    # The families that a distribution brings, and the contract suites of their plugins.
    *(f"hoodoo_{one}.hookspecs" for one in ("catalogs", "cli", "clustering", "metadata", "serve", "services")),
    *(f"hoodoo_{one}.testing" for one in ("catalogs", "cli", "clustering", "metadata", "serve", "services")),
)


def packages() -> list[Path]:
    """The package of each distribution in plugins/ and contrib/."""
    found = [*REPO.glob("plugins/*/src/hoodoo_*"), *REPO.glob("contrib/*/src/hoodoo_*")]
    return sorted(path for path in found if (path / "__init__.py").exists())


def reaches(source: str, own: str) -> Iterator[str]:
    """What a module of the package ``own`` imports, in functions and for types too, and should not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A factory, or a module to import: "package.module:name".
            names = [node.value.replace(":", ".")] if node.value.startswith("hoodoo_") else []
            names = [name for name in names if "." in name and " " not in name]
        else:
            continue
        for name in names:
            top = name.partition(".")[0]
            if top.startswith("hoodoo_") and top != own:
                if not any(f"{name}.".startswith(f"{offered}.") for offered in OFFERED):
                    yield f"line {node.lineno}: {name} is inside another distribution"
            elif top == "hoodoo" and "._" in name.removesuffix(".__version__"):
                yield f"line {node.lineno}: {name} is core's own"


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_a_plugin_imports_core_and_itself(package: Path) -> None:
    wrong = [
        f"{path.relative_to(REPO)}: {said}"
        for path in sorted(package.rglob("*.py"))
        for said in reaches(path.read_text("utf-8"), package.name)
    ]
    assert not wrong, "\n".join(wrong)


def test_all_distributions_are_looked_at() -> None:
    assert {path.name for path in packages()} >= {"hoodoo_cli", "hoodoo_spark", "hoodoo_standard"}
    written = {path.parent.name for path in REPO.glob("plugins/*/setup.cfg")}
    assert {path.name.removeprefix("hoodoo_") for path in packages()} >= written


def test_the_rule_can_fail() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "import hoodoo_spark.session\n"
        "from hoodoo_standard.index import bloom\n"
        "from hoodoo_cli.toolkit import arguments\n"
        "from hoodoo_cli.toolkit.show import size\n"
        "from hoodoo_cli import reports\n"
        "if TYPE_CHECKING:\n    from hoodoo_cli.commands import stats\n"
        "def f():\n    from hoodoo.timeline.view import _prune\n    from hoodoo_mine.a import b\n"
        "    from hoodoo.model.commit import WriteStat\n    from hoodoo import __version__\n"
        "FACTORY = 'hoodoo_spark.engine:from_settings'\n"
        "MINE = 'hoodoo_mine.engine:from_settings'\n"
    )
    found = [said.split(" ")[2] for said in reaches(source, "hoodoo_mine")]
    assert sorted(found) == [
        "hoodoo.timeline.view._prune",
        "hoodoo_cli.commands.stats",
        "hoodoo_cli.reports",
        "hoodoo_spark.engine.from_settings",
        "hoodoo_spark.session",
        "hoodoo_standard.index.bloom",
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_said_to_bring_a_family_does(family: str) -> None:
    """The errors of who lacks it name this distribution."""
    there = {offer.plugin.distribution for offer in kernel().offers(family)}
    if family == "observer":
        there = {plugin.distribution for plugin, _ in kernel().implementations("hoodoo_event")}
    assert {*USUAL[family]} <= there or not there  # some families have members of others alone

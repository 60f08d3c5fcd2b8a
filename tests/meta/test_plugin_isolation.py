"""No plugin reaches into another's insides, or into what core keeps to itself."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoodoo.hookspecs import USUAL
from hoodoo.kernel.registry import kernel

kernel()  # knows the families that distributions bring

REPO = Path(__file__).parents[2]
PAGE = (REPO / "docs/architecture.md").read_text("utf-8")
ROW = re.compile(r"^\| `plugins/(\w+)` \|.*\|(?P<imports>[^|]*)\|(?P<offers>[^|]*)\|$", re.M)
TABLE = {
    f"hoodoo_{row[1]}": tuple(re.findall(r"`(\w+)`", row[part]) for part in ("imports", "offers"))
    for row in ROW.finditer(PAGE.split("## Distributions", 1)[1].split("\n## ", 1)[0])
}


def required(folder: Path) -> set[str]:
    """The packages of ours that the distribution in ``folder`` requires, in an extra or always."""
    setup = configparser.ConfigParser()
    setup.read(folder / "setup.cfg", encoding="utf-8")
    extras = setup["options.extras_require"].values() if "options.extras_require" in setup else ()
    texts = [setup["options"].get("install_requires", ""), *extras]
    return {n.replace("-", "_") for n in re.findall(r"^hoodoo-\w+", "\n".join(texts), re.M)}


def packages() -> list[Path]:
    """The package of each distribution in plugins/ and contrib/."""
    found = [*REPO.glob("plugins/*/src/hoodoo_*"), *REPO.glob("contrib/*/src/hoodoo_*")]
    return sorted(path for path in found if (path / "__init__.py").exists())


def reaches(source: str, own: str, known: set[str]) -> Iterator[str]:
    """What a module of the package ``own`` imports, in functions and for types too, and should not; ``known``:
    whom it may import, what these offer."""
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
            top, _, inside = name.partition(".")
            if top.startswith("hoodoo_") and top != own:
                if top not in known:
                    yield f"line {node.lineno}: {name} is of a distribution that this one does not import"
                elif inside.partition(".")[0] not in TABLE[top][1]:
                    yield f"line {node.lineno}: {name} is inside another distribution"
            elif top == "hoodoo" and "._" in name.removesuffix(".__version__"):
                yield f"line {node.lineno}: {name} is core's own"


def may_import(package: Path) -> set[str]:
    """As the page says; of contrib, as setup.cfg does. (A second package of a distribution is part of it.)"""
    folder = package.parents[1]
    if folder.parent.name == "contrib":
        return required(folder) & TABLE.keys()
    own = f"hoodoo_{folder.name}"
    return {f"hoodoo_{name}" for name in TABLE[own][0]}


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_a_plugin_imports_core_itself_and_what_others_offer(package: Path) -> None:
    wrong = [
        f"{path.relative_to(REPO)}: {said}"
        for path in sorted(package.rglob("*.py"))
        for said in reaches(path.read_text("utf-8"), package.name, may_import(package))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", TABLE)
def test_a_distribution_requires_what_it_imports(name: str) -> None:
    """The page says no more than there is: what is not imported is not in the table."""
    folder = REPO / "plugins" / name.removeprefix("hoodoo_")
    imports = {f"hoodoo_{other}" for other in TABLE[name][0]}
    assert imports <= required(folder), f"{folder}/setup.cfg"
    text = "".join(path.read_text("utf-8") for path in sorted((folder / "src").rglob("*.py")))
    assert {one for one in imports if re.search(rf"\b(?:from|import) {one}\b", text)} == imports


def test_what_is_offered_is_there() -> None:
    for name, (_imports, offers) in TABLE.items():
        package = REPO / "plugins" / name.removeprefix("hoodoo_") / "src" / name
        for module in offers:
            assert (package / module).is_dir() or (package / f"{module}.py").exists(), (
                f"{name}.{module}"
            )


def test_all_distributions_are_looked_at() -> None:
    assert {path.name for path in packages()} >= {"hoodoo_cli", "hoodoo_spark", "hoodoo_standard"}
    written = {path.parent.name for path in REPO.glob("plugins/*/setup.cfg")}
    assert {path.name.removeprefix("hoodoo_") for path in packages()} >= written
    assert {f"hoodoo_{name}" for name in written} == set(TABLE)


def test_the_rule_can_fail() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "import hoodoo_spark.session\n"
        "from hoodoo_standard.index import bloom\n"
        "from hoodoo_cli.toolkit import arguments\n"
        "from hoodoo_cli.toolkit.show import size\n"
        "from hoodoo_cli import reports\n"
        "from hoodoo_rows.api import Reads\n"
        "from hoodoo_rows.read.plan import plan_scan\n"
        "if TYPE_CHECKING:\n    from hoodoo_cli.commands import stats\n"
        "def f():\n    from hoodoo.timeline.view import _prune\n    from hoodoo_mine.a import b\n"
        "    from hoodoo.model.commit import WriteStat\n    from hoodoo import __version__\n"
        "FACTORY = 'hoodoo_spark.engine:from_settings'\n"
        "MINE = 'hoodoo_mine.engine:from_settings'\n"
    )
    found = [
        said.split(" ")[2] for said in reaches(source, "hoodoo_mine", {"hoodoo_cli", "hoodoo_rows"})
    ]
    assert sorted(found) == [
        "hoodoo.timeline.view._prune",
        "hoodoo_cli.commands.stats",
        "hoodoo_cli.reports",
        "hoodoo_rows.read.plan.plan_scan",
        "hoodoo_spark.engine.from_settings",
        "hoodoo_spark.session",
        "hoodoo_standard.index.bloom",
    ]


# Of families that only distributions beside `hoodoo` have members of, nothing is said here.
@pytest.mark.parametrize("family", USUAL)
def test_what_is_said_to_bring_a_family_does(family: str) -> None:
    """The errors of who lacks it name this distribution."""
    there = {offer.plugin.distribution for offer in kernel().offers(family)}
    if family == "observer":
        there = {plugin.distribution for plugin, _ in kernel().implementations("hoodoo_event")}
    assert {*USUAL[family]} <= there or not there  # some families have members of others alone

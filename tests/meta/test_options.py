"""Options are declared once, and the page of options is what is declared."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from hoodoo.hookspecs import FAMILIES, Option
from hoodoo.kernel import kernel
from hoodoo.kernel.options import known_to_hudi
from hoodoo.options.core import CORE_OPTIONS
from hoodoo.options.kinds import TEXT

kernel()  # knows the families that distributions bring

REPO = Path(__file__).parents[2]
OURS = (
    "hoodoo-core",
    "hoodoo-rows",
    "hoodoo-cli",
    "hoodoo-standard",
    "hoodoo-formats",
    "hoodoo-metadata",
    "hoodoo-services",
    "hoodoo-clustering",
    "hoodoo-history",
    "hoodoo-frames",
    "hoodoo-serve",
    "hoodoo-hashing",
    "hoodoo-publishing",
    "hoodoo-versions",
    "hoodoo-erasure",
    "hoodoo-bootstrap",
    "hoodoo-copies",
    "hoodoo-ingest",
    "hoodoo-catalogs",
    "hoodoo-blob",
    "hoodoo-statements",
    "hoodoo-cloud",
    "hoodoo-spark",
)
# What declares options, and what judges them.
DECLARING = (
    "core/src/hoodoo/options/",
    "core/src/hoodoo/kernel/options.py",
    "plugins/standard/src/hoodoo_standard/options.py",
    "plugins/formats/src/hoodoo_formats/options.py",
    "plugins/services/src/hoodoo_services/options.py",
    "plugins/clustering/src/hoodoo_clustering/options.py",
    "plugins/clustering/src/hoodoo_clustering/strategies/orders.py",
    "plugins/clustering/src/hoodoo_clustering/strategies/planners.py",
    "plugins/spark/src/hoodoo_spark/options.py",
)
# (file, what is found there) -> why it is right.
_READS, _NAMES, _FLAGS = (
    "reads options by a key",
    "names an option by its key",
    "makes a flag of a text",
)
ALLOWED = {
    (
        "core/src/hoodoo/hookspecs/registration.py",
        _READS,
    ): "texts, for plugins that declare no type",
    ("core/src/hoodoo/kernel/registry.py", _READS): "its declarations",
    ("plugins/spark/src/hoodoo_spark/datasource/catalog.py", _READS): "Spark's own word for where",
    (
        "plugins/spark/src/hoodoo_spark/datasource/write.py",
        _READS,
    ): "columns of keys, of a table that is not there yet",
    ("core/src/hoodoo/model/writer_keys.py", _NAMES): "Hudi's names of what properties say",
    (
        "plugins/standard/src/hoodoo_standard/creation/properties.py",
        _NAMES,
    ): "a property that only new tables of version 6 have",
    ("core/src/hoodoo/model/log_block.py", _FLAGS): "a header of log blocks",
    (
        "plugins/metadata/src/hoodoo_metadata/life/definitions.py",
        _FLAGS,
    ): "Hudi's file of index definitions",
    ("plugins/rows/src/hoodoo_rows/model/internal_row.py", _FLAGS): "the text of a constant column",
}


def _page() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "options_page", Path(__file__).parent / "options_page.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_options_is_what_is_declared() -> None:
    made = _page()
    assert made.PAGE.read_text("utf-8") == made.page(), "run: python tests/meta/options_page.py"


def test_defaults_are_right_values_in_their_plain_spelling() -> None:
    for option in _declared():
        if option.default is not None:
            assert option.spell(option.initial) == option.default, option.key


def test_what_is_declared_is_known_to_hudi() -> None:
    for option in _declared():
        # Those of RFC-08 have come into no release of Hudi.
        if not option.key.startswith(("hoodoo.", "record.level.index.")):
            assert option.key in known_to_hudi(), option


def _declared() -> list[Option]:
    """Every declaration of ours: core's, and those of each registration."""
    found = list(CORE_OPTIONS)
    for family in FAMILIES:
        for offer in kernel().offers(family):
            if offer.plugin.distribution in OURS:
                found += offer.registration.options
    return found


def test_a_key_is_declared_once() -> None:
    by_name: dict[str, Option] = {}
    for option in _declared():
        for name in option.names:
            assert by_name.setdefault(name, option) is option, name


def test_declarations_say_what_they_are_for() -> None:
    for option in _declared():
        assert re.fullmatch(r"[A-Z`_a-z].*[.]", option.summary), f"{option.key}: {option.summary!r}"
        assert not option.older or option.key not in option.older


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for top in (
        "core/src",
        "plugins/standard/src",
        "plugins/formats/src",
        "plugins/services/src",
        "plugins/clustering/src",
        "plugins/spark/src",
    ):
        for path in sorted((REPO / top).rglob("*.py")):
            name = str(path.relative_to(REPO))
            if not name.startswith(DECLARING):
                yield name, ast.parse(path.read_text("utf-8"))


def _reads(tree: ast.Module) -> Iterator[int]:
    """Lines that read a value of options by its key: ``options.get(..)``, ``options[..]``."""
    for node in ast.walk(tree):
        found = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found = node.func.value if node.func.attr in ("get", "pop", "setdefault") else None
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            found = node.value
        name = getattr(found, "attr", getattr(found, "id", ""))
        if name in ("options", "_options"):
            yield node.lineno


def _keys(tree: ast.Module, names: set[str]) -> Iterator[int]:
    """Lines with the key of a declared option as a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in names:
            yield node.lineno


def _parsed_texts(tree: ast.Module) -> Iterator[int]:
    """Lines that make a flag of a text by hand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(
            isinstance(side, ast.Constant) and side.value in ("true", "false")
            for side in (node.left, *node.comparators)
        ):
            yield node.lineno


def test_options_are_read_by_their_declarations_alone() -> None:
    # Names without a dot are words of other tools ("region"), which code has for other things, too.
    names = {name for option in _declared() for name in option.names if "." in name}
    wrong = [
        f"{name}:{line}: {what}"
        for name, tree in _sources()
        for what, lines in (
            (_READS, _reads(tree)),
            (_NAMES, _keys(tree, names)),
            (_FLAGS, _parsed_texts(tree)),
        )
        for line in lines
        if (name, what) not in ALLOWED
    ]
    assert not wrong, "\n".join(wrong)
    assert {(name, what) for name, what in ALLOWED if not (REPO / name).exists()} == set()


def test_the_rule_can_fail() -> None:
    code = 'a = settings.options.get("hoodie.clean.automatic", "true").lower() == "true"\nb = options["x"]\n'
    tree = ast.parse(code)
    assert sorted(_reads(tree)) == [1, 2]
    assert list(_keys(tree, {"hoodie.clean.automatic"})) == [1]
    assert list(_parsed_texts(tree)) == [1]


def test_what_is_a_number_or_a_flag_has_a_type() -> None:
    texts = [
        option.key
        for option in _declared()
        if option.kind == TEXT and re.fullmatch(r"[\d.]+|true|false", option.default or "")
    ]
    assert texts == ["hoodoo.clustering.random.seed"]  # any text does there

"""A table version is one object: no module outside compares numbers of versions or of timeline layouts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoodoo.model.table_version import VERSIONS
from hoodoo.timeline.layouts import LAYOUTS

REPO = Path(__file__).parents[2]
SOURCES = [REPO / "core/src", *sorted((REPO / "plugins").glob("*/src"))]
# Where numbers belong: what a version means, what a layout is, and versions of formats of their own.
ALLOWED = {
    "hoodoo/model/table_version.py": "the versions",
    "hoodoo/timeline/layouts/": "the layouts",
    "hoodoo/timeline/codec/": "bytes of the timeline",
}
# Versions of something else.
OTHERS = {
    "hfile/layout.py": "the version of an HFile",
    "log/deletes.py": "the version of a delete block's content",
    "log/frames.py": "the versions of a log block and of its content",
    "hoodoo_spark/session.py": "the version of PySpark",
}
_NAMES = {"version", "table_version", "initial_version", "layout", "layout_version", "_layout"}


def branches(text: str) -> Iterator[tuple[int, str]]:
    """Comparisons of something that is called a version or a layout with a number, or numbers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_named, sides)) and any(map(_numbers, sides)):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Match) and _named(node.subject):
            yield node.lineno, f"match {ast.unparse(node.subject)}"
        elif isinstance(node, ast.Subscript) and _named(node.slice) and _table(node.value):
            yield node.lineno, ast.unparse(node)


def _named(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _NAMES
    return isinstance(node, ast.Name) and node.id in _NAMES


def _numbers(node: ast.expr) -> bool:
    """A number, some numbers, or a constant that may be one; to be among all VERSIONS is no branch."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_numbers, node.elts))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    return isinstance(node, ast.Name) and node.id.isupper() and node.id != "VERSIONS"


def _table(node: ast.expr) -> bool:
    """A dictionary by version that is not the one of the versions."""
    return isinstance(node, ast.Dict)


def test_no_module_compares_numbers_of_versions() -> None:
    found = []
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            name = path.relative_to(source).as_posix()
            if any(name.startswith(allowed) for allowed in ALLOWED):
                continue
            found += [f"{name}:{line}: {what}" for line, what in branches(path.read_text("utf-8"))]
    wrong = [line for line in found if not any(f"{known}:" in line for known in OTHERS)]
    assert not wrong, "\n".join(wrong)
    stale = [known for known in OTHERS if not any(f"{known}:" in line for line in found)]
    assert not stale, f"these are exceptions no more: {stale}"


@pytest.mark.parametrize(
    "text",
    [
        "if config.version >= 9: pass",
        "x = 1 if timeline.layout == 1 else 2",
        "y = [i for i in z if self._layout > 1]",
        "if 8 <= version: pass",
        "if table.initial_version < 9 and ready: pass",
        "if version not in (6, 8, 9): pass",
        "if config.version != _VERSION: pass",
        "marker = {6: 'a', 9: 'b'}[version]",
        "match table.version:\n    case 6: pass",
    ],
)
def test_a_branch_is_found(text: str) -> None:
    assert list(branches(text))


def test_each_version_has_a_layout_and_each_layout_a_version() -> None:
    assert {version.layout for version in VERSIONS.values()} == set(LAYOUTS)
    assert all(layout.number == number for number, layout in LAYOUTS.items())
    assert all(version.number == number for number, version in VERSIONS.items())

"""tests/damage.md and the code say the same: each check that refuses bytes of a table is on the page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

REPO = Path(__file__).parents[2]
PAGE = REPO / "tests/damage.md"
# Where files of a table are read.
ROOTS = {
    "core/src": ("hoodoo/timeline", "hoodoo/participants", "hoodoo/storage", "hoodoo/model/schema"),
    "plugins/rows/src": ("hoodoo_rows/read", "hoodoo_rows/merge", "hoodoo_rows/evolution"),
    "plugins/formats/src": ("hoodoo_formats",),
    "plugins/metadata/src": ("hoodoo_metadata",),
    "plugins/services/src": ("hoodoo_services/archived",),
    "plugins/hashing/src": ("hoodoo_hashing",),
}  # fmt: skip
REFUSES = {
    "CorruptTableError", "UnsupportedTableError", "corrupt", "reading", "lost_file", "no_format", "bootstrapped",
    "Undecodable", "Nonsense", "_NotABlock", "_unreadable", "_refused",
}  # fmt: skip
OF_COLUMNS = "hoodoo.model.schema.avro"  # whose SchemaErrors are about what others wrote


@frozen
class Check:
    """A place in the code: its module, line and the texts in it."""

    module: str
    line: int
    text: str


def checks(source: str, module: str) -> Iterator[Check]:
    names = {*REFUSES, "SchemaError"} if module == OF_COLUMNS else REFUSES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in names:
                inside = (c.value for c in ast.walk(node) if isinstance(c, ast.Constant))
                yield Check(module, node.lineno, "\n".join(c for c in inside if isinstance(c, str)))


def in_code() -> list[Check]:
    found: list[Check] = []
    for root, folders in ROOTS.items():
        for path in (p for folder in folders for p in sorted((REPO / root / folder).rglob("*.py"))):
            parts = path.relative_to(REPO / root).with_suffix("").parts
            if "testing" not in parts:
                module = ".".join(parts).removesuffix(".__init__")
                found += checks(path.read_text("utf-8"), module)
    return found


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| `hoodoo")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


STRICTER = PAGE.read_text("utf-8").split("\n## Stricter", 1)[1].split("\n## ", 1)[0]
STRICT = [(row[0].strip("` |"), re.findall(r"`([^`]+)`", row[1])) for row in cells(STRICTER)]
DAMAGE = [
    row[0].strip("` |") for row in cells(PAGE.read_text("utf-8").split("\n## Stricter", 1)[0])
]
CODE = in_code()


def test_there_are_many() -> None:
    assert len(CODE) > 150 and len(STRICT) > 30 and len(DAMAGE) > 40


@pytest.mark.parametrize("module", sorted({check.module for check in CODE}))
def test_each_check_is_on_the_page(module: str) -> None:
    if module in DAMAGE:
        return
    said = [text for named, texts in STRICT if named == module for text in texts]
    # What the columns of a table may be is one matter: what is not JSON is damage.
    damage = ("it is not JSON", "schema must be a record", "it is not an Avro schema", "Hudi tables have no type")  # fmt: skip
    for check in (c for c in CODE if c.module == module):
        known = [*said, *(damage if module == OF_COLUMNS else ())]
        assert any(text in check.text for text in known) or not check.text, check


@pytest.mark.parametrize(("module", "texts"), STRICT, ids=[f"{m}-{n}" for n, (m, _) in enumerate(STRICT)])  # fmt: skip
def test_what_the_page_quotes_is_in_the_code(module: str, texts: list[str]) -> None:
    assert module in {check.module for check in CODE}
    quoted = [t for t in texts if t not in ("cow", "mor", "null", "deflate")]
    own = "\n".join(check.text for check in CODE if check.module == module)
    path = next(REPO.glob(f"*/src/{module.replace('.', '/')}.py"), None) or next(REPO.glob(f"plugins/*/src/{module.replace('.', '/')}.py"), None)  # fmt: skip
    whole = own + (path.read_text("utf-8") if path else "")
    assert [text for text in quoted if text not in whole] == []


def test_no_module_is_named_that_refuses_nothing() -> None:
    assert set(DAMAGE) - {check.module for check in CODE} == set()
    assert len(DAMAGE) == len(set(DAMAGE))


def test_a_new_check_is_seen() -> None:
    source = 'raise CorruptTableError(where, f"a {thing} that nobody knows.", "")\n'
    (found,) = checks(source, "hoodoo.timeline.view")
    said = [t for named, texts in STRICT if named == "hoodoo.timeline.view" for t in texts]
    assert not any(text in found.text for text in said)

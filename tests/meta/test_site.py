"""The site has every page and every public name."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo_rows.write.commit import Commit

from tests.meta import reference_examples, reference_pages

REPO = Path(__file__).parents[2]
DOCS = REPO / "docs"
NAVIGATION = (REPO / "mkdocs.yml").read_text("utf-8").split("\nnav:\n", 1)[1]


def listed() -> list[str]:
    """The pages of the navigation; a pattern stands for all that match it, as the site's hook has it."""
    found: list[str] = []
    for name in re.findall(r"([\w./*-]+\.md)$", NAVIGATION, re.M):
        every = sorted(DOCS.glob(name)) if "*" in name else []
        found += [path.relative_to(DOCS).as_posix() for path in every] or [name]
    return found


def headings(page: str) -> set[str]:
    return set(re.findall(r"^### (\w+)$", (DOCS / "reference" / page).read_text("utf-8"), re.M))


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    found = listed()
    assert len(found) == len(set(found))
    inside = {name for name in found if not name.startswith("repo/")}
    assert inside == pages
    assert all((REPO / name.removeprefix("repo/")).exists() for name in set(found) - inside)


def test_every_public_name_is_in_the_reference() -> None:
    every = {*hoodoo.__all__, *reference_pages.public(hoodoo)}
    told = headings("functions.md")
    text = (DOCS / "reference/functions.md").read_text("utf-8")
    assert all(name in told or f"`{name}`" in text for name in every)
    assert headings("table.md") == set(reference_pages.public(hoodoo.Table))
    assert headings("scan.md") == set(reference_pages.methods_of_a_read())
    assert headings("commit.md") == set(reference_pages.public(Commit))


def test_the_site_finds_the_classes_that_the_reference_shows() -> None:
    paths = re.findall(r"^ *paths: \[(.*)\]$", (REPO / "mkdocs.yml").read_text("utf-8"), re.M)
    for page in (DOCS / "reference").glob("*.md"):
        for module in re.findall(r"^::: ([\w.]+)\.\w+$", page.read_text("utf-8"), re.M):
            name = module.replace(".", "/")
            places = [REPO / path / name for path in paths[0].split(", ")]
            there = (p.is_dir() or p.with_suffix(".py").exists() for p in places)
            assert any(there), f"mkdocs.yml: `paths` lacks the src of {module}, which {page} shows"


@pytest.mark.parametrize("page", reference_pages.PAGES)
def test_the_reference_is_what_docstrings_say(page: str) -> None:
    """After a change of a signature or a docstring: ``python tests/meta/reference_pages.py``."""
    assert (DOCS / "reference" / page).read_text("utf-8") == reference_pages.PAGES[page]()


@pytest.mark.parametrize("page", reference_pages.PAGES)
def test_every_name_says_something(page: str) -> None:
    text = (DOCS / "reference" / page).read_text("utf-8")
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        said = re.sub(r"```.*?```", "", part.partition("\n")[2], flags=re.S)
        assert re.search(r"[a-z]{3}", said), part.partition("\n")[0]


def entries() -> dict[str, tuple[Any, str]]:
    """Each public name, and what the reference says of it."""
    found: dict[str, tuple[Any, str]] = {}
    owners = {
        "functions.md": "hoodoo",
        "table.md": "table",
        "scan.md": "scan",
        "commit.md": "commit",
    }
    for page, owner in owners.items():
        text = re.sub(r"^## .*$", "", (DOCS / "reference" / page).read_text("utf-8"), flags=re.M)
        for part in re.split(r"^### ", text, flags=re.M)[1:]:
            name, _, said = part.partition("\n")
            found[f"{owner}.{name}"] = (reference_pages.member(owner, name), said)
    return found


ENTRIES = entries()


@pytest.mark.parametrize("call", ENTRIES)
def test_every_name_has_shapes_errors_and_an_example(call: str) -> None:
    """What it returns, each argument, the errors, and code that uses it, which tests/meta/test_docs.py runs."""
    member, said = ENTRIES[call]
    owner, _, name = call.partition(".")
    signature = "".join(re.findall(r"^```py\n(.*?)^```$", said, re.M | re.S))
    if signature:  # not a field
        assert not re.search(r"(->|:) Any$", signature), "it does not say what it returns"
    text = re.sub(r"^```.*?^```$", "", said, flags=re.M | re.S)
    if callable(member) and "Another name of [" not in text:
        named = {*reference_pages.arguments(call, member)} - {"engine" if owner == "table" else ""}
        # The page says that an argument which is not explained is that of the methods before it.
        before = list(ENTRIES)[: list(ENTRIES).index(call)] if owner != "hoodoo" else []
        text_before = " ".join(ENTRIES[one][1] for one in before if one.startswith(owner))
        lacking = sorted(one for one in named if not re.search(rf"`{one}\b", text + text_before))
        twin = re.search(r"arguments are\s+those of `\w+`", text)
        assert twin or not lacking, f"arguments that are not explained: {', '.join(lacking)}"
        # That there are none is said in the docstring, and left out of the page.
        errors = str(reference_examples.ERRORS.get(call))
        none = "Raises no error" in f"{inspect.getdoc(member)} {errors}"
        none = none or errors in reference_examples.ON_THE_PAGE
        assert none or re.search(r"[Rr]aise|error", text), "it does not say which errors it raises"
    examples = re.findall(r"^```python(?: spark)?\n(.*?)^```$", said, re.M | re.S)
    used = {
        one.attr
        for example in examples
        for one in ast.walk(ast.parse(example))
        if isinstance(one, ast.Attribute)
    }
    assert name in used, "no example uses it"


# Described elsewhere, or by other packages.
FOREIGN = {
    "Table", "Scan", "Commit", "Expression", "PartitionFilter", "View", "Query", "Limited", "RowsDataset", "ReadSlices",
    "TableHandle", "Figures", "None", "Any", "Iterator", "RecordBatch", "RecordBatchReader", "Schema", "DataFrame", "LazyFrame",
    "DuckDBPyRelation", "Callable", "DataType", "Array", "ChunkedArray",
}  # fmt: skip


def test_what_names_return_is_described() -> None:
    """Classes that methods return are on the page of types, with their fields."""
    types = (DOCS / "reference/types.md").read_text("utf-8")
    described = set(re.findall(r"^::: [\w.]+\.(\w+)$", types, re.M))
    for call, (_, said) in ENTRIES.items():
        for answer in re.findall(
            r"(?:->|^\w+\.\w+:) (.*)$", said.partition("```py\n")[2].partition("```")[0], re.M
        ):
            for name in re.findall(r"\b[A-Z]\w+", answer):
                assert name in described | FOREIGN, (
                    f"{call} returns {name}, which docs/reference/types.md lacks"
                )


def test_nothing_is_said_of_names_that_are_no_more() -> None:
    named = {*reference_examples.EXAMPLES, *reference_examples.ERRORS, *reference_examples.ANSWERS}
    assert named <= set(ENTRIES)
    assert {*reference_examples.EXAMPLES} == set(ENTRIES)
    of_calls = {one.rpartition(".")[0] for one in reference_examples.ARGUMENTS if "." in one}
    assert of_calls <= set(ENTRIES)


def test_guides_are_of_names_that_exist() -> None:
    known = {
        *(f"hoodoo.{name}" for name in reference_pages.functions()),
        *(f"table.{name}" for name in reference_pages.public(hoodoo.Table)),
        *(f"scan.{name}" for name in reference_pages.methods_of_a_read()),
    }
    assert set(reference_pages.GUIDES) <= known

"""Tasks of newcomers: a page answers each, the page speaks of what the table names, and few clicks lead there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import frozen

DOCS = Path(__file__).parents[2] / "docs"
HOWTO = DOCS / "howto.md"
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)\s]+)\)")

# Methods, options, subcommands and columns of a call.
NAMES = r"(?<=[.])[a-z_]{4,}(?=\()|hoodie\.[\w.]+|(?<=hoodoo )[a-z-]+|_hoodie_\w+"


@frozen
class Task:
    """A row of a table: what somebody wants, what helps, and the section that explains it."""

    wanted: str
    how: str
    page: str
    section: str


def tasks() -> list[Task]:
    found = []
    for line in HOWTO.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        link = LINK.search(cells[-1]) if line.startswith("|") else None
        if link is not None:
            page, _, section = link[1].partition("#")
            found.append(Task(cells[0].strip("| "), " | ".join(cells[1:-1]), page, section))
    return found


TASKS = tasks()


def section_of(page: str, section: str) -> str:
    """The text below the heading with that anchor, up to the next of its level; the page where there is none."""
    text = (DOCS / page).read_text("utf-8")
    if not section:
        return text
    parts = re.split(r"^(#+ .*)$", text, flags=re.M)
    for at in range(1, len(parts), 2):
        slug = re.sub(r"[^\w\- ]", "", parts[at].lstrip("# ").lower()).replace(" ", "-")
        if slug == section:
            level = len(parts[at]) - len(parts[at].lstrip("#"))
            rest = "".join(parts[at:])
            return re.split(rf"^#{{1,{level}}} ", rest.split("\n", 1)[1], flags=re.M)[0]
    raise AssertionError(f"{page} has no section {section!r}")


def clicks() -> dict[str, int]:
    """How many links lead from the start page to each page."""
    found, next_ones = {"index.md": 0}, ["index.md"]
    while next_ones:
        page = next_ones.pop(0)
        for link in LINK.findall((DOCS / page).read_text("utf-8")):
            target = (DOCS / page).parent / link.partition("#")[0]
            if target.suffix != ".md" or not target.is_file():
                continue
            name = target.resolve().as_posix().partition(f"{DOCS.resolve().as_posix()}/")[2]
            if name and name not in found:
                found[name] = found[page] + 1
                next_ones.append(name)
    return found


def test_there_are_many() -> None:
    """A question that the FAQ answers is not in this page, too."""
    asked = HOWTO.read_text("utf-8").split("## Questions that people ask", 1)[1]
    questions = (
        asked.count("\n| ") - 1 + HOWTO.with_name("faq.md").read_text("utf-8").count("\n### ")
    )
    assert questions >= 50 and len(TASKS) >= 80
    assert len({task.wanted for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wanted)
def test_the_page_speaks_of_it(task: Task) -> None:
    """Each method, option and command that the table names stands where it leads to."""
    text = section_of(task.page, task.section)
    named = " ".join(re.findall(r"`([^`]+)`", task.how))
    words = {*re.findall(NAMES, named), *re.findall(r"(?<=[ (])([a-z_]+)(?==[^=])", named)} - {
        "create",
        "open",
    }
    missing = sorted(word for word in words if word not in text)
    assert not missing, f"{task.page}#{task.section} does not speak of {', '.join(missing)}"


def test_three_clicks_lead_to_each_page() -> None:
    """From the start page; the last one may be a heading of the page."""
    found = clicks()
    assert {task.page for task in TASKS} <= set(found)
    assert all(found[task.page] <= 2 for task in TASKS)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    far = {page for page in pages if found.get(page, 9) > 3 and not page.startswith("adr/")}
    assert not far, f"more than three clicks from the start page: {', '.join(sorted(far))}"

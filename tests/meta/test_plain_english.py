"""Plain English: no words of a dialect in pages, docstrings, comments; each has a plain one here."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).parents[2]
# Decisions are of their time, and pages of the reference are docstrings.
PAGES = sorted(
    path
    for path in (REPO / "README.md", *(REPO / "docs").rglob("*.md"))
    if not {"adr", "reference"} & {*path.relative_to(REPO).parent.parts}
)
# What is not to be there -> what to write.
WORDS = {
    r"told": "said, reported, written down",
    r"(?:go|goes|going|gone) by": "uses, follows, relies on",
    r"anew": "again; rebuild; create again",
    r"(?:give|gives|given) up": "cancel",
    r"under way": "in progress, running",
    r"(?:is|are|was|were) gone": "is not there any more, was deleted",
    r"met (?:nobody|another|by)": "found",
    r"heal(?:s|ed|ing)?": "repair",
    r"ours|theirs": "name whose: the plugin's, Hoodoo's, Hudi's",
    r"the other way round": "the reverse",
    r"whichever|whatsoever": "say which",
    r"of then": "at that time",
    r"ever less often": "less and less often",
    r"for ever": "forever, without end",
    r"to and fro": "back and forth",
    r"in vain": "without need, without effect",
}
# The words of an entry may stand on two lines.
LISTED = {w: re.compile(r"\b(?:{})\b".format(w.replace(" ", r"\s+")), re.I) for w in WORDS}
# Sentences longer than this are hard to read; those that are there may become fewer.
LONG, MOST = 45, 8
FEW = 10


def prose(text: str) -> str:
    """Without blocks and pieces of code, and without the addresses of links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"``.+?``|`[^`]*`", "x", text, flags=re.S)
    return re.sub(r"\]\([^)]*\)", "]", text)


def found_in(text: str) -> list[str]:
    return [
        f"{' '.join(one[0].split())!r}: {WORDS[word]}"
        for word, pattern in LISTED.items()
        for one in pattern.finditer(prose(text))
    ]


def test_pages_have_plain_words() -> None:
    """A few may come with a change: they are named, and who comes next mends them."""
    wrong = [
        f"{page.relative_to(REPO)}: {said}"
        for page in PAGES
        for said in found_in(page.read_text("utf-8"))
    ]
    assert len(wrong) <= FEW, "write another word\n" + "\n".join(wrong)


def test_the_rule_can_fail() -> None:
    assert found_in("It is made anew, as Hudi told.") == [
        "'told': said, reported, written down",
        "'anew': again; rebuild; create again",
    ]
    assert not found_in("`told` and [a link](anew.md)\n```\nmine\n```\n")


def sentences(text: str) -> list[str]:
    """Of paragraphs and lists; tables have few."""
    lines = [line for line in prose(text).splitlines() if not line.startswith(("|", "#"))]
    return re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.) ", "\n".join(lines))


def test_long_sentences_become_fewer() -> None:
    count = Counter(
        str(page.relative_to(REPO))
        for page in PAGES
        for sentence in sentences(page.read_text("utf-8"))
        if len(sentence.split()) > LONG
    )
    assert count.total() <= MOST, f"{count.total()} sentences of more than {LONG} words: {count}"


# --- source ---------------------------------------------------------------------------------------
# Distribution -> how many listed words its docstrings and comments have. A number only goes down.
IN_SOURCE = {
    "contrib/prometheus-metrics": 1,
    "contrib/retention": 2,
    "core": 0,
    "plugins/cli": 15,
    "plugins/cloud": 10,
    "plugins/clustering": 13,
    "plugins/formats": 11,
    "plugins/frames": 1,
    "plugins/hashing": 1,
    "plugins/publishing": 0,
    "plugins/versions": 0,
    "plugins/erasure": 0,
    "plugins/copies": 0,
    "plugins/ingest": 0,
    "plugins/history": 6,
    "plugins/metadata": 64,
    "plugins/rows": 0,
    "plugins/serve": 1,
    "plugins/services": 28,
    "plugins/spark": 7,
    "plugins/standard": 25,
    "plugins/statements": 4,
    "plugins/vectors": 0,
    "plugins/variant": 0,
    "plugins/blob": 0,
    "plugins/bootstrap": 0,
}


def explained(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring, and of each comment, whose lines are one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.body[0].lineno, text
    lines: list[str] = []
    start = after = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start != after:
                yield start[0], "\n".join(lines)
                lines, start = [], token.start
            lines.append(token.string.lstrip("# "))
            after = (token.start[0] + 1, token.start[1])
    yield start[0], "\n".join(lines)


def in_source(source: str) -> list[tuple[int, str]]:
    return [(line, said) for line, text in explained(source) for said in found_in(text)]


def distributions() -> dict[str, Path]:
    found = {"core": REPO / "core"}
    for folder in ("plugins", "contrib"):
        found |= {
            f"{folder}/{path.parent.name}": path.parent for path in (REPO / folder).glob("*/src")
        }
    return found


def test_source_has_fewer_listed_words() -> None:
    found: dict[str, list[str]] = {
        name: [
            f"{path.relative_to(REPO)}:{line}: {said}"
            for path in sorted((folder / "src").rglob("*.py"))
            for line, said in in_source(path.read_text("utf-8"))
        ]
        for name, folder in distributions().items()
    }
    assert len(found) > 15
    more = [
        one for name, each in found.items() if len(each) > IN_SOURCE.get(name, 0) for one in each
    ]
    assert not more, "write another word\n" + "\n".join(more)
    assert IN_SOURCE.keys() <= found.keys(), "IN_SOURCE names a distribution that is not there"


def test_the_rule_for_source_can_fail() -> None:
    """It reads docstrings and comments, also over a line end; not values, names and code."""
    source = '''
def told(anew: str) -> str:
    """Its file is
    gone, ``told`` too."""
    value = "told"  # whichever
    # The writer goes
    # by the name.
    return "made anew"
'''
    assert sorted(in_source(source)) == [
        (3, "'is gone': is not there any more, was deleted"),
        (5, "'whichever': say which"),
        (6, "'goes by': uses, follows, relies on"),
    ]

"""Plain English: words of a dialect of our own do not stand in pages, and each word here has a plain one in its place."""

from __future__ import annotations

import re
from collections import Counter
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
LISTED = {word: re.compile(rf"\b(?:{word})\b", re.I) for word in WORDS}
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
        f"{one[0]!r}: {WORDS[word]}"
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

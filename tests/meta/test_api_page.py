"""docs/plugins/api.md lists the members that objects may lack, and the old names, as core has them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from hoodoo.hookspecs import FAMILIES
from hoodoo.hookspecs.deprecated import DEPRECATED, Deprecated
from hoodoo.hookspecs.family import WITHOUT, Optional
from hoodoo.kernel.answers import kind_of
from hoodoo.kernel.registry import kernel

kernel()  # knows the families that distributions bring

PAGE = Path(__file__).parents[2] / "docs/plugins/api.md"


def rows_after(heading: str) -> list[str]:
    lines = PAGE.read_text("utf-8").split(heading, 1)[1].splitlines()[2:]
    return lines[: next((n for n, line in enumerate(lines) if not line.startswith("|")), None)]


def lacked() -> dict[str, dict[str, Optional]]:
    found = {name: family.may_lack for name, family in FAMILIES.items()}
    return {name: members for name, members in found.items() if members}


def optional_rows() -> list[str]:
    found = []
    for family, optional in lacked().items():
        alike: dict[str, list[str]] = {}
        for name, member in sorted(optional.items()):
            default = member.default
            if default is WITHOUT:
                text = "done without"
            elif name in kind_of(family).methods:
                alone = len(inspect.signature(default).parameters) == 1
                text = f"`{default(None)!r}`" if alone else "answered by the others"
            else:
                text = f"`{default!r}`"
            if member.required_from:
                text += f"; required from API {member.required_from} on"
            alike.setdefault(text, []).append(f"`{name}`")
        found += [f"| {family} | {', '.join(names)} | {text} |" for text, names in alike.items()]
    return found


def deprecated_row(entry: Deprecated) -> str:
    what = f"{entry.kind} of {entry.family}" if entry.family else entry.kind
    return f"| {what} | `{entry.old}` | `{entry.new}` | {entry.since} | {entry.until} |"


def test_the_page_lists_the_members_that_may_be_missing() -> None:
    assert rows_after("| family | member |") == optional_rows()


def test_the_page_lists_the_old_names() -> None:
    assert rows_after("| what | old name |") == [deprecated_row(entry) for entry in DEPRECATED]


def test_no_member_is_listed_twice() -> None:
    listed = re.findall(
        r"^\| (\w+) \| (.+) \| ", "\n".join(rows_after("| family | member |")), re.M
    )
    members = [(family, name) for family, names in listed for name in names.split(", ")]
    assert len(members) == len(set(members)) == sum(map(len, lacked().values()))

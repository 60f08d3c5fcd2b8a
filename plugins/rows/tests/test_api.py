"""``hoodoo_rows.api`` is public: what it offers is written down in ``api.txt``, beside its version.

python plugins/rows/tests/test_api.py         # writes it down
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoodoo_rows import api

WRITTEN = Path(__file__).with_name("api.txt")
PAGE = Path(__file__).parents[3] / "docs/plugins/rows.md"
NAMES = sorted(set(dir(api)) - {"VERSION"})
MOST = 25


def members(owner: type) -> Iterator[str]:
    """The public members of ``owner``, those that it inherits from a class of ours too, as they are called."""
    for name in sorted(n for n in dir(owner) if not n.startswith("_")):
        found = inspect.getattr_static(owner, name)
        kind = next((k for k in owner.__mro__ if name in vars(k)), owner)
        if not kind.__module__.startswith("hoodoo"):
            continue
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        yield name + (_signature(found) if callable(found) else "")
    if "__init__" in vars(owner):
        yield f"(){_signature(vars(owner)['__init__'])}"


def _signature(found: Any) -> str:
    """Names of arguments, and which may be left out: types become wider without harm."""
    each = inspect.signature(found).parameters.values()
    mark = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    texts = [
        mark.get(p.kind, "") + p.name + ("" if p.default is p.empty else "=")
        for p in each
        if p.name not in ("self", "cls")
    ]
    return f"({', '.join(texts)})"


def surface() -> str:
    lines = [f"{name} {one}" for name in NAMES for one in members(getattr(api, name))]
    return "\n".join([f"version {api.VERSION}", *lines]) + "\n"


def test_the_version_rises_with_the_surface() -> None:
    now, written = surface().splitlines(), WRITTEN.read_text("utf-8").splitlines()
    gone = [line for line in written[1:] if not any(_is_still(line, one) for one in now)]
    assert not gone or now[0] != written[0], f"raise VERSION of hoodoo_rows.api: {gone}"
    more = [line for line in now if line not in written and _is_of_api(line)]
    assert now[0] == written[0] and not more, f"python {__file__}: {more}"


def _is_still(line: str, now: str) -> bool:
    """Whether a call as in ``line`` is one of ``now``: at most, arguments that may be left out were added."""
    if not line.endswith(")") or line == now:
        return line == now
    more = now.removeprefix(line[:-1]) if now.startswith(line[:-1]) else "("
    return all(one.endswith("=") for one in more.rstrip(")").split(", ")[1:]) and more[0] in ",)"


def _is_of_api(line: str) -> bool:
    """Classes that are more than a group of functions have members for their own distribution, too."""
    owner: type = getattr(api, line.split(" ")[0])
    return owner.__module__.startswith("hoodoo_rows.api.")


def test_the_comparison_can_fail() -> None:
    assert _is_still("A of(a, b=)", "A of(a, b=, c=)") and _is_still("A x", "A x")
    for other in ("A of(a)", "A of(a, b=, c)", "A of(b, a=)", "A of"):
        assert not _is_still("A of(a, b=)", other)
    assert not _is_still("A x", "A y")


def test_names_are_few_and_explained() -> None:
    """The table of the page has each name once, and the page says the version."""
    assert len(NAMES) <= MOST, "put it to a name that is there, or take one away"
    text = PAGE.read_text("utf-8")
    table = text.split("| name | purpose |", 1)[1].split("\n\n", 1)[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == NAMES
    assert f"describes version {api.VERSION} " in text


def test_importing_it_imports_nothing() -> None:
    code = (
        "import json, sys; import hoodoo_rows.api; a = sorted(sys.modules); "
        "from hoodoo_rows.api import Sizes; print(json.dumps([a, sorted(sys.modules)]))"
    )
    before, after = json.loads(subprocess.check_output([sys.executable, "-c", code]))
    ours = {n for n in before if n.startswith("hoodoo")}
    assert ours == {"hoodoo_rows", "hoodoo_rows.api"}
    assert {n for n in after if n.startswith("hoodoo")} == {*ours, "hoodoo_rows.sizes"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(api, "Nothing")


if __name__ == "__main__":
    WRITTEN.write_text(surface(), "utf-8")

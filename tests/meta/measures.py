"""Measures of the code, one number each, and what they were when they were last noted.

    python tests/meta/measures.py         # prints them; exit code 1 where one is worse than noted
    python tests/meta/measures.py --note  # notes those that got better

Each may only get better; the smaller number is the better one. docs/architecture.md says where they are to go.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

REPO = Path(__file__).parents[2]
NOTED = Path(__file__).with_name("measures.json")
CORE = REPO / "core/src/hoodoo"
Function = ast.FunctionDef
# New features have lines of their own: these are shown, and not compared.
SHOWN = ("lines of source", "lines of tests", "tables created in tests")
GOALS = {
    "lines of core": 20_000,
    "lines of source": 95_000,
    "lines of tests": 85_000,
    "longest module": 450,
    "modules of at most 12 lines": 0,
    "largest circle of imports at load": 0,
    "largest circle with imports in functions": 0,
    "largest circle with imports for types": 0,
    "functions that take storage and timeline": 60,
    "action names as text in comparisons": 20,
    "lines with fmt: skip": 100,
    "lines over 100 characters": 0,
    "public names without a docstring in core and rows": 0,
    "helpers named rows in tests": 10,
    "names of insides in integration tests": 0,
}


@cache
def sources() -> tuple[Path, ...]:
    """All modules that are installed: core and its plugins, and those of contrib."""
    roots = (CORE.parent, *REPO.glob("plugins/*/src"), *REPO.glob("contrib/*/src"))
    return tuple(sorted(path for root in roots for path in root.rglob("*.py")))


@cache
def tests() -> tuple[Path, ...]:
    roots = (
        REPO / "tests",
        REPO / "core/tests",
        *REPO.glob("plugins/*/tests"),
        *REPO.glob("contrib/*/tests"),
    )
    return tuple(sorted(path for root in roots for path in root.rglob("*.py")))


@cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def lines(path: Path) -> tuple[str, ...]:
    return tuple(text(path).splitlines())


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


def core() -> list[Path]:
    """Modules of core without `hoodoo.testing`."""
    return [
        p
        for p in sources()
        if p.is_relative_to(CORE) and "testing" not in p.relative_to(CORE).parts
    ]


def rows_layer() -> list[Path]:
    return [p for p in sources() if "hoodoo_rows" in p.parts]


def functions(paths: list[Path] | tuple[Path, ...]) -> Iterator[Function]:
    for path in paths:
        for node in ast.walk(tree(path)):
            if isinstance(node, Function):
                yield node


def parameters(function: Function) -> list[str]:
    given = function.args
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


# How imports are looked at: as a module loads, with those inside functions, with those for types.
_AT_LOAD, _IN_FUNCTIONS, _FOR_TYPES = range(3)


def _imports(node: ast.AST, depth: int) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            if depth >= _IN_FUNCTIONS:
                yield from _imports(child, depth)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            if depth >= _FOR_TYPES:
                yield from _imports(child, depth)
        else:
            yield from _imports(child, depth)


@cache
def _named_modules() -> dict[str, Path]:
    found = {}
    for path in sources():
        *_, inside = path.as_posix().partition("/src/")
        found[inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = path
    return found


def largest_circle(depth: int) -> int:
    """How many modules import each other in the largest circle; 0 where there is none."""
    modules = _named_modules()
    needs = {name: _needed(path, name, depth) for name, path in modules.items()}
    while True:  # a module that needs no other one, or that no other one needs, is in no circle
        needed = set[str]().union(*needs.values())
        inside = {name: ways & needs.keys() for name, ways in needs.items() if ways & needs.keys()}
        inside = {name: ways for name, ways in inside.items() if name in needed}
        if inside == needs:
            return max((len(_circle(name, needs)) for name in needs), default=0)
        needs = inside


def _needed(path: Path, name: str, depth: int) -> set[str]:
    modules, found = _named_modules(), set[str]()
    for node in _imports(tree(path), depth):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name in modules)
            continue
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            found.update({inside if inside in modules else node.module or ""} & modules.keys())
    return found - {name}


def _circle(name: str, needs: dict[str, set[str]]) -> set[str]:
    """The modules that ``name`` needs, and that need it."""
    back: dict[str, set[str]] = {}
    for one, others in needs.items():
        for other in others:
            back.setdefault(other, set()).add(one)
    return _reached(name, needs) & _reached(name, back)


def _reached(name: str, ways: dict[str, set[str]]) -> set[str]:
    seen, left = {name}, [name]
    while left:
        new = ways.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def _count(paths: list[Path] | tuple[Path, ...], pattern: str) -> int:
    return sum(len(re.findall(pattern, text(path), re.M)) for path in paths)


def _is_overload(node: ast.AST) -> bool:
    """Overloads are documented by the function that they belong to."""
    return any(ast.unparse(one) == "overload" for one in getattr(node, "decorator_list", ()))


def _undocumented() -> int:
    """Public functions and classes of core and hoodoo-rows without a docstring."""
    lacking = 0
    for path in (*core(), *rows_layer()):
        if "testing" in path.parts:
            continue
        module = tree(path)
        classes = [n for n in module.body if isinstance(n, ast.ClassDef)]
        public = [module, *classes]
        for owner in public:
            for node in owner.body:
                if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or _is_overload(node):
                    continue
                if not node.name.startswith("_"):
                    lacking += ast.get_docstring(node) is None
    return lacking


# Packages that are public as a whole: of core, and of any distribution.
_PUBLIC = ("errors", "hookspecs", "options", "testing")
_OFFERED = re.compile(r"^\| `plugins/(\w+)` \|.*\|([^|]*)\|$", re.M)


@cache
def offered() -> frozenset[str]:
    """What distributions offer to others, by the table of docs/architecture.md."""
    rows = _OFFERED.findall((REPO / "docs/architecture.md").read_text("utf-8"))
    return frozenset(
        f"hoodoo_{name}.{one}" for name, cell in rows for one in re.findall(r"`(\w+)`", cell)
    )


@cache
def documented() -> frozenset[str]:
    """Modules, and names in them, that a page tells readers to import, or says to be what a call
    returns: `hoodoo.model.commit.WriteStat`. A room of core alone, such as `hoodoo.model`, is none.
    Decisions (docs/adr) tell how things are done inside."""
    found = set[str]()
    for page in (REPO / "docs").rglob("*.md"):
        if "adr" not in page.parts:
            said = page.read_text("utf-8")
            for module, names in re.findall(r"^ *from (hoodoo[\w.]*) import ([\w, ]+)", said, re.M):
                found.update(f"{module}.{name.strip()}" for name in names.split(","))
            found.update(re.findall(r"\bhoodoo(?:_\w+)?(?:\.\w+){2,}", said))
    return frozenset(found)


def insides(module: ast.Module) -> list[str]:
    """Names that a test imports from the inside of core or of a distribution, and private ones.

    Public is what the page of the architecture says that distributions offer, and what the pages
    of the guide and the reference name.
    """
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [name for name in names if re.match(r"hoodoo(_\w+)?\.", name) and _is_inside(name)]
    return found


def _is_inside(name: str) -> bool:
    top, *inside = name.split(".")
    if inside[-1].startswith("_"):
        return True
    if inside[0] in _PUBLIC or f"{top}.{inside[0]}" in offered():
        return False
    if not inside[1:]:  # a name of the package itself is public, a module in it is not
        return name in _named_modules()
    return not {name, name.rpartition(".")[0]} & documented()


# Actions of the timeline, as `hoodoo.model.action` lists them.
_ACTIONS = re.compile(
    "clean|clustering|commit|compaction|deltacommit|indexing|logcompaction|replacecommit|restore"
    "|rollback|savepoint|schemacommit"
)


def compared_actions(module: ast.Module) -> list[str]:
    """Comparisons with the name of an action as text: its traits say what is meant by it."""
    return [
        ast.unparse(node)
        for node in ast.walk(module)
        if isinstance(node, ast.Compare)
        and any(
            isinstance(part, ast.Constant) and _ACTIONS.fullmatch(str(part.value))
            for side in (node.left, *node.comparators)
            for part in (side, *getattr(side, "elts", ()))
        )
    ]


MEASURES: dict[str, Callable[[], int]] = {
    "lines of core": lambda: sum(len(lines(path)) for path in core()),
    "lines of source": lambda: sum(len(lines(path)) for path in sources()),
    "lines of tests": lambda: sum(len(lines(path)) for path in tests()),
    "longest module": lambda: max(len(lines(path)) for path in sources()),
    "modules of at most 12 lines": lambda: sum(
        0 < len(lines(path)) <= 12 and path.name not in ("__init__.py", "__main__.py") for path in sources()
    ),
    "largest circle of imports at load": lambda: largest_circle(_AT_LOAD),
    "largest circle with imports in functions": lambda: largest_circle(_IN_FUNCTIONS),
    "largest circle with imports for types": lambda: largest_circle(_FOR_TYPES),
    "functions that take storage and timeline": lambda: sum(
        {"storage", "timeline"} <= {*parameters(function)} for function in functions(sources())
    ),
    "action names as text in comparisons": lambda: sum(
        len(compared_actions(tree(path))) for path in sources()
    ),
    "functions with more than 6 parameters": lambda: sum(
        len([p for p in parameters(function) if p not in ("self", "cls")]) > 6
        for function in functions(sources())
    ),
    "lines that hide latency in core and rows": lambda: _count(
        [*core(), *rows_layer()], r"\b(?:at_once|beside|looking|together)\("
    ),
    # What is in hand as `data` or `table` is the caller's, and no plugin.
    "probes of plugins in rows": lambda: _count(
        rows_layer(), r"\b(?:get|has)attr\((?!\s*(?:data|table)\b)"
    ),
    "lines with fmt: skip": lambda: _count(sources(), r"# fmt: skip"),
    "lines over 100 characters": lambda: sum(len(line) > 100 for path in sources() for line in lines(path)),
    "public names without a docstring in core and rows": _undocumented,
    "helpers named rows in tests": lambda: _count(tests(), r"^def rows\("),
    "names of insides in integration tests": lambda: sum(
        len(insides(tree(p))) for p in tests() if p.is_relative_to(REPO / "tests/integration")
    ),
    "tables created in tests": lambda: _count(tests(), r"\bhoodoo\.create\("),
}  # fmt: skip


def measured() -> dict[str, int]:
    return {name: measure() for name, measure in MEASURES.items()}


def worse(now: dict[str, int], noted: dict[str, int]) -> list[str]:
    """What is worse than noted, in words."""
    return [
        f"{name}: {now[name]:,}, and {before:,} was noted"
        for name, before in noted.items()
        if name in now and name not in SHOWN and now[name] > before
    ]


def main() -> int:
    now, noted = measured(), json.loads(NOTED.read_text("utf-8"))
    print(f"{'':52}{'now':>9}{'noted':>9}{'goal':>9}")
    for name, value in now.items():
        goal = f"{GOALS[name]:>9,}" if name in GOALS else ""
        print(f"{name:52}{value:>9,}{noted.get(name, value):>9,}{goal}")
    if "--note" in sys.argv:
        better = {name: min(value, noted.get(name, value)) for name, value in now.items()}
        NOTED.write_text(json.dumps(better, indent=4) + "\n", "utf-8")
    found = worse(now, noted)
    print("\n".join(found), file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

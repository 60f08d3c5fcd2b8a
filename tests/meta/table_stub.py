"""Writes the stubs of what plugins bring, with signatures and docstrings: ``brought.pyi`` has the methods of
``hoodoo.Table``, ``functions.pyi`` the functions of ``hoodoo``.

    python tests/meta/table_stub.py  # needs ruff

Type checkers and editors read the files; core reads from the first which distribution brings a method that is not installed.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from hoodoo.kernel.registry import kernel
from hoodoo_rows import api

PLUGINS = Path(__file__).parents[2] / "plugins"
STUB = PLUGINS.parent / "core/src/hoodoo/table/brought.pyi"
FUNCTIONS = STUB.with_name("functions.pyi")
WRITTEN = "that plugins bring. Written by tests/meta/table_stub.py."
HEADER = f'"""Methods of :class:`hoodoo.Table` {WRITTEN}"""\n\n'
HEADER_OF_FUNCTIONS = f'"""Functions of :mod:`hoodoo` {WRITTEN}"""\n\n'


def brought() -> dict[str, dict[str, str]]:
    """Distribution, name of the method, text of its function. Each in the order of their names."""
    found: dict[str, dict[str, str]] = {}
    for family in kernel().families:
        for offer in kernel().offers(family):
            found.setdefault(offer.plugin.distribution, {}).update(offer.registration.verbs)
    return {name: dict(sorted(found[name].items())) for name in _ours() if found.get(name)}


def functions() -> dict[str, str]:
    """The name of each function of the package, and the text that leads to it, in the order of their names."""
    offers = kernel().offers("function")
    found = {o.name: o.registration.factory for o in offers if o.plugin.distribution in _ours()}
    return {name: found[name] for name in sorted(found) if "." not in name}


def _ours() -> list[str]:
    return sorted(f"hoodoo-{place.name}" for place in PLUGINS.iterdir())


def _imports(module: ModuleType) -> dict[str, str]:
    """The import of each name that a module has: by its own imports, or from itself."""
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                found[name.asname or name.name] = f"from {node.module} import {ast.unparse(name)}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                found[name.asname or name.name] = f"import {ast.unparse(name)}"
        elif isinstance(node, ast.ClassDef):
            found[node.name] = f"from {module.__name__} import {node.name}"
    return found


def _public(line: str, name: str) -> str:
    """Rows imports its own modules; others know its names by its library."""
    if line == "from hoodoo.table.table import Table":
        return "from hoodoo import Table"
    is_public = line.startswith("from hoodoo_rows.") and name in dir(api)
    return f"from hoodoo_rows.api import {name}" if is_public else line


def _is_plain(default: ast.expr | None) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.Tuple, ast.Load)) for n in ast.walk(default or ast.Load())
    )


def _shown(function: ast.FunctionDef, name: str, indent: str = "    ") -> str:
    arguments = function.args
    for defaults in (arguments.defaults, arguments.kw_defaults):
        defaults[:] = [d if _is_plain(d) else ast.Constant(...) for d in defaults]
    line = f"def {name}({ast.unparse(arguments)}) -> {ast.unparse(function.returns)}:"
    said = ast.get_docstring(function, clean=False)
    return f'{indent}{line}\n{indent}    """{said}"""\n'


def _needed(function: ast.FunctionDef) -> Iterator[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    said = [a.annotation for a in (*every, arguments.vararg, arguments.kwarg) if a is not None]
    for annotation in [*(one for one in said if one is not None), function.returns]:
        yield from (n.id for n in ast.walk(annotation) if isinstance(n, ast.Name))


def _read(text: str) -> tuple[ast.FunctionDef, dict[str, str]]:
    """A function, and the imports of its module."""
    function = inspect.unwrap(pkgutil.resolve_name(text))
    module = inspect.getmodule(function)
    tree = ast.parse(inspect.getsource(function)).body[0]
    return tree, _imports(module)


def stub() -> str:
    """The stub of methods before ``ruff check --fix`` and ``ruff format`` lay it out."""
    imports, methods = set(), []
    for distribution, verbs in brought().items():
        methods.append(f"    # {distribution}\n")
        for name, text in verbs.items():
            tree, known = _read(text)
            (tree.args.posonlyargs or tree.args.args)[0] = ast.arg("self")
            imports |= {_public(known[n], n) for n in _needed(tree) if n in known}
            methods.append(_shown(tree, name))
    lines = [f"{line}\n" for line in sorted(imports)]
    return "".join([HEADER, *lines, "\nclass Brought:\n", *methods])


def stub_of_functions() -> str:
    """The stub of functions, as :func:`stub`."""
    imports, made = set(), []
    for name, text in functions().items():
        tree, known = _read(text)
        imports |= {_public(known[n], n) for n in _needed(tree) if n in known}
        made.append(_shown(tree, name, ""))
    lines = [f"{line}\n" for line in sorted(imports)]
    return "".join(
        [HEADER_OF_FUNCTIONS, *lines, f"\n__all__: list[str] = {[*functions()]}\n", *made]
    )


if __name__ == "__main__":
    for place, text in ((STUB, stub()), (FUNCTIONS, stub_of_functions())):
        place.write_text(text, "utf-8")
        for command in (("check", "--fix", "--quiet"), ("format", "--quiet")):
            subprocess.run([sys.executable, "-m", "ruff", *command, str(place)], check=True)

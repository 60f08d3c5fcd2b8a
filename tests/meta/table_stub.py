"""Writes ``brought.pyi``: the methods of ``hoodoo.Table`` that plugins bring, with signatures and docstrings.

    python tests/meta/table_stub.py  # needs ruff

Type checkers and editors read the file; core reads from it which distribution brings a method that is not installed.
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
HEADER = '''"""Methods of :class:`hoodoo.Table` that plugins bring. Written by tests/meta/table_stub.py."""

'''


def brought() -> dict[str, dict[str, str]]:
    """Distribution, name of the method, text of its function. Each in the order of their names."""
    found: dict[str, dict[str, str]] = {}
    for family in kernel().families:
        for offer in kernel().offers(family):
            found.setdefault(offer.plugin.distribution, {}).update(offer.registration.verbs)
    ours = sorted(f"hoodoo-{place.name}" for place in PLUGINS.iterdir())
    return {name: dict(sorted(found[name].items())) for name in ours if found.get(name)}


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
    is_public = line.startswith("from hoodoo_rows.") and name in dir(api)
    return f"from hoodoo_rows.api import {name}" if is_public else line


def _is_plain(default: ast.expr | None) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.Tuple, ast.Load)) for n in ast.walk(default or ast.Load())
    )


def _shown(function: ast.FunctionDef, name: str) -> str:
    arguments = function.args
    (arguments.posonlyargs or arguments.args)[0] = ast.arg("self")
    for defaults in (arguments.defaults, arguments.kw_defaults):
        defaults[:] = [d if _is_plain(d) else ast.Constant(...) for d in defaults]
    line = f"def {name}({ast.unparse(arguments)}) -> {ast.unparse(function.returns)}:"
    said = ast.get_docstring(function, clean=False)
    return f'    {line}\n        """{said}"""\n'


def _needed(function: ast.FunctionDef) -> Iterator[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.kwarg]
    said = [a.annotation for a in every[1:] if a is not None]
    for annotation in [*said, function.returns]:
        yield from (n.id for n in ast.walk(annotation) if isinstance(n, ast.Name))


def stub() -> str:
    """The stub before ``ruff check --fix`` and ``ruff format`` lay it out."""
    imports, methods = set(), []
    for distribution, verbs in brought().items():
        methods.append(f"    # {distribution}\n")
        for name, text in verbs.items():
            function = pkgutil.resolve_name(text)
            module = inspect.getmodule(function)
            known = _imports(module)
            tree = ast.parse(inspect.getsource(function)).body[0]
            imports |= {_public(known[n], n) for n in _needed(tree) if n in known}
            methods.append(_shown(tree, name))
    lines = [f"{line}\n" for line in sorted(imports)]
    return "".join([HEADER, *lines, "\nclass Brought:\n", *methods])


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
    for command in (("check", "--fix", "--quiet"), ("format", "--quiet")):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(STUB)], check=True)

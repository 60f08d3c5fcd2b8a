"""Makes the notebooks of docs/examples from the scripts: ``python -m tests.meta.example_notebooks`` writes them.

The comment at the top becomes text, each function and class a cell, and the lines at the end that call ``main`` a cell
that calls it with a new folder. Outputs are not stored.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
LAST = "figures = main(tempfile.mkdtemp())"


def scripts() -> list[Path]:
    """All but the year of flights, which is a program with arguments and needs Spark."""
    return sorted(path for path in EXAMPLES.glob("*.py") if path.stem != "flights")


def notebook(script: Path) -> str:
    text = script.read_text("utf-8")
    tree = ast.parse(text)
    title = script.stem.replace("_", " ").capitalize()
    about = (ast.get_docstring(tree) or "").split("\n\n    python ")[0]
    cells = [_cell("markdown", 0, f"# {title}\n\n{about}")]
    parts = [*_parts(text, tree), LAST]
    parts[0] = parts[0].replace("import sys\n", "")  # for the arguments of the command line
    cells += [_cell("code", at, part) for at, part in enumerate(parts, 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _parts(text: str, tree: ast.Module) -> list[str]:
    """The statements of the script: each definition alone, what is between them together, the last one left out."""
    lines = text.splitlines()
    starts, joined = [], False
    for node in tree.body[1:-1]:
        defines = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if defines or not joined:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            while lines[first - 2].startswith("#"):
                first -= 1  # the comments above belong to it
            starts.append(first - 1)
        joined = not defines
    ends = [*starts[1:], tree.body[-1].lineno - 1]
    return ["\n".join(lines[a:b]).strip("\n") for a, b in zip(starts, ends, strict=True)]


def _cell(kind: str, number: int, source: str) -> dict[str, Any]:
    """Without the lines that divide a script into parts."""
    source = re.sub(r"^# --- (.*?) -+$", r"# \1", source, flags=re.M)
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source.splitlines(keepends=True)}


if __name__ == "__main__":
    for script in scripts():
        script.with_suffix(".ipynb").write_text(notebook(script), "utf-8")

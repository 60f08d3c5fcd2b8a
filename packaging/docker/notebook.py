"""A notebook made of a page: its text and its blocks of Python. ``notebook.py PAGE.md NOTEBOOK.ipynb``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.M | re.S)


def cell(kind: str, text: str) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.strip()}
    if kind == "code":
        made |= {"execution_count": None, "outputs": []}
    return made


def notebook(page: str) -> dict[str, Any]:
    """Text and code take turns."""
    cells = [
        cell("code" if number % 2 else "markdown", part)
        for number, part in enumerate(BLOCK.split(page))
        if part.strip()
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


if __name__ == "__main__":
    page, target = map(Path, sys.argv[1:])
    target.write_text(json.dumps(notebook(page.read_text("utf-8")), indent=1), "utf-8")

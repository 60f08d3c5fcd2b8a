"""Type checkers and editors see the methods that plugins bring as the plugins have them."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import hoodoo
import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.table.brought import Brought
from hoodoo.table.verbs import Offered

from tests.meta import table_stub


def seen(text: str) -> tuple[set[str], str]:
    """The imports and the class of a stub, without regard to layout."""
    *imports, made = ast.parse(text).body
    names = {
        f"{getattr(node, 'module', '')}:{ast.unparse(name)}"
        for node in imports
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    for node in ast.walk(made):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = inspect.cleandoc(node.value)
    return names, ast.dump(made)


def test_the_stub_has_the_registered_methods() -> None:
    there = table_stub.STUB.read_text("utf-8")
    assert seen(there) == seen(table_stub.stub()), "run: python tests/meta/table_stub.py"


def test_a_method_names_the_distribution_that_brings_it() -> None:
    named = {
        name: member.distribution
        for name, member in vars(Brought).items()
        if isinstance(member, Offered)
    }
    registered = {
        name: distribution for distribution, verbs in table_stub.brought().items() for name in verbs
    }
    assert named == registered
    assert {"compact": "hoodoo-services", "cluster": "hoodoo-clustering"}.items() <= named.items()
    assert set(named) <= set(kernel().verbs) & set(dir(hoodoo.Table))


def test_a_method_has_the_signature_and_the_docstring_of_the_plugin() -> None:
    assert "columns" in inspect.signature(hoodoo.Table.cluster).parameters
    assert (inspect.getdoc(hoodoo.Table.compact) or "").startswith("Write new base files")


RIGHT = """
    import hoodoo

    table = hoodoo.open("rides")
    commit = table.cluster(columns=["fare"], target_file_size=1 << 20)
    print(commit.instant, table.locate([1]), table.read(columns=["fare"]).count())
"""
WRONG = """
    import hoodoo

    table = hoodoo.open("rides")
    table.cluster(colums=["fare"])
    table.savepoint(7)
    table.compact().instnt
    table.compct()
"""


def test_a_type_checker_finds_a_wrong_call_of_a_plugins_method(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(textwrap.dedent(RIGHT), "utf-8")
    (tmp_path / "wrong.py").write_text(textwrap.dedent(WRONG), "utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "right.py",
        "wrong.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("right", "wrong"))]
    numbers = [int(line.split(":")[1]) for line in lines if ": error:" in line]
    assert numbers == [5, 6, 7, 8] and not any("right" in line for line in lines), done.stdout

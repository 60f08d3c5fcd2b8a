"""Type checkers and editors see the methods and functions that plugins bring as the plugins have them."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import hoodoo
import pytest
from hoodoo.kernel.functions import OF_READS, function_names
from hoodoo.kernel.registry import kernel
from hoodoo.table.brought import Brought
from hoodoo.table.verbs import Offered

from tests.meta import table_stub


def seen(text: str) -> tuple[set[str], list[str]]:
    """The imports of a stub, and what it defines, without regard to layout."""
    names, made = set(), []
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {f"{getattr(node, 'module', '')}:{ast.unparse(name)}" for name in node.names}
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                inner.value = inspect.cleandoc(inner.value)
        made.append(ast.dump(node))
    return names, made


def test_the_stubs_have_what_is_registered() -> None:
    fix = "run: python tests/meta/table_stub.py"
    assert seen(table_stub.STUB.read_text("utf-8")) == seen(table_stub.stub()), fix
    assert seen(table_stub.FUNCTIONS.read_text("utf-8")) == seen(table_stub.stub_of_functions()), (
        fix
    )


def test_functions_of_the_stub_are_those_of_the_package() -> None:
    assert set(table_stub.functions()) == set(function_names()) <= set(dir(hoodoo))
    assert {"convert", "session", "write"} <= set(table_stub.functions())


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
    try:
        session = hoodoo.session(tables={"rides": table})
        print(session.sql("SELECT 1"), hoodoo.catalog("lake").tables())
        hoodoo.convert("old", record_key="id").upsert([{"id": 1}])
    except hoodoo.errors.HoodooError as error:
        print(error.fix)
"""
WRONG = """
    import hoodoo

    table = hoodoo.open("rides")
    table.cluster(colums=["fare"])
    table.savepoint(7)
    table.compact().instnt
    table.compct()
    hoodoo.sesion()
    hoodoo.convert("old", record_kye="id", to=5)
    hoodoo.catalog("lake").tabels()
    table.to_polars().colums
    table.read().to_polars().heigt
    hoodoo.scan_polars("rides").colect()
    table.read().to_duckdb().filtr("a")
    table.read().to_spark().selct("a")
    number: int = table.read().limit(5).to_pylist()
"""


def test_a_type_checker_finds_wrong_calls_of_what_plugins_bring(tmp_path: Path) -> None:
    for library in ("mypy", "polars", "duckdb", "pyspark"):
        pytest.importorskip(library)
    of_reads = "".join(f"    table.read().{name}\n" for name in function_names(OF_READS))
    (tmp_path / "right.py").write_text(textwrap.dedent(RIGHT + of_reads), "utf-8")
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
    assert numbers == [*range(5, 18)] and not any("right" in line for line in lines), done.stdout

"""The promises between distributions and between the rooms of core."""

from __future__ import annotations

import ast
import configparser
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest

REPO = Path(__file__).parents[2]
CORE = REPO / "core/src/hoodoo"
DISTRIBUTIONS = {
    "hoodoo": REPO,
    "hoodoo-core": REPO / "core",
    "hoodoo-rows": REPO / "plugins/rows",
    "hoodoo-cli": REPO / "plugins/cli",
    "hoodoo-metadata": REPO / "plugins/metadata",
    "hoodoo-standard": REPO / "plugins/standard",
    "hoodoo-formats": REPO / "plugins/formats",
    "hoodoo-services": REPO / "plugins/services",
    "hoodoo-clustering": REPO / "plugins/clustering",
    "hoodoo-history": REPO / "plugins/history",
    "hoodoo-frames": REPO / "plugins/frames",
    "hoodoo-serve": REPO / "plugins/serve",
    "hoodoo-hashing": REPO / "plugins/hashing",
    "hoodoo-publishing": REPO / "plugins/publishing",
    "hoodoo-versions": REPO / "plugins/versions",
    "hoodoo-erasure": REPO / "plugins/erasure",
    "hoodoo-copies": REPO / "plugins/copies",
    "hoodoo-ingest": REPO / "plugins/ingest",
    "hoodoo-catalogs": REPO / "plugins/catalogs",
    "hoodoo-vectors": REPO / "plugins/vectors",
    "hoodoo-variant": REPO / "plugins/variant",
    "hoodoo-blob": REPO / "plugins/blob",
    "hoodoo-bootstrap": REPO / "plugins/bootstrap",
    "hoodoo-statements": REPO / "plugins/statements",
    "hoodoo-cloud": REPO / "plugins/cloud",
    "hoodoo-spark": REPO / "plugins/spark",
}
# A room imports only rooms before it (docs/architecture.md).
ROOMS = (
    "errors",
    "log",
    "calls",
    "options",
    "model",
    "storage",
    "timeline",
    "hookspecs",
    "kernel",
    "participants",
    "actions",
    "table",
    "testing",
)
# The package itself is no room: it may see all, none sees it.
OUTSIDE = {"__init__", "__main__"}
# What is never there after an import of core. (Not rich: structlog imports it where it is installed.)
FOREIGN = (
    "pyspark",
    "pandas",
    "hoodoo_rows",
    "hoodoo_cli",
    "hoodoo_metadata",
    "hoodoo_standard",
    "hoodoo_formats",
    "hoodoo_services",
    "hoodoo_clustering",
    "hoodoo_hashing",
    "hoodoo_publishing",
    "hoodoo_versions",
    "hoodoo_erasure",
    "hoodoo_copies",
    "hoodoo_ingest",
    "hoodoo_catalogs",
    "hoodoo_vectors",
    "hoodoo_variant",
    "hoodoo_blob",
    "hoodoo_bootstrap",
    "hoodoo_statements",
    "hoodoo_history",
    "hoodoo_frames",
    "hoodoo_spark",
    "typer",
    "pytest",
)
# Modules whose purpose is a library that core does not need.
NEEDS = {
    "hoodoo.testing.contracts": ("pytest",),
}


def _modules() -> list[str]:
    found = []
    for path in sorted(CORE.rglob("*.py")):
        parts = path.relative_to(CORE.parent).with_suffix("").parts
        found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_hoodoo_loads_no_plugin_and_no_engine() -> None:
    code = "import json, sys, hoodoo; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.partition(".")[0] for name in json.loads(_python(code))}
    assert not loaded & set(FOREIGN)
    assert "hoodoo" in loaded


def _added(code: str) -> set[str]:
    """The modules that ``code`` imports beside those of pyarrow."""
    listing = "import json, sys; import pyarrow; before = set(sys.modules); "
    return set(
        json.loads(
            _python(f"{listing}{code}; print(json.dumps(sorted(set(sys.modules) - before)))")
        )
    )


def test_importing_the_package_is_cheap() -> None:
    """Modules, not seconds, which the machine decides: the package, and nothing that it would need later."""
    added = _added("import hoodoo")
    assert {name for name in added if name.partition(".")[0] == "hoodoo"} == {"hoodoo"}
    assert len(added) <= 5, added


def test_discovery_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding all our plugins imports registrations and hookspecs: no engine, no index, no library of either."""
    found = {e.dist.name for e in metadata.entry_points(group="hoodoo") if e.dist is not None}
    monkeypatch.setenv("HOODOO_DISABLE", ",".join(found - set(DISTRIBUTIONS)))
    added = _added("import hoodoo; from hoodoo.kernel.registry import kernel; kernel()")
    rooms = {name.split(".")[1] for name in added if name.startswith("hoodoo.")}
    assert rooms.isdisjoint({"actions", "clustering", "table", "metadata"})
    heavy = {"structlog", "rich", "typer", "pyspark", "pandas", "polars", "duckdb", "pytest"}
    assert heavy.isdisjoint(name.partition(".")[0] for name in added)
    plugins = [n for n in added if n.startswith("hoodoo_") and ".hookspecs" not in n]
    # Of each distribution: the package, its registrations and its options, besides the families that it brings.
    assert len(plugins) <= 3 * len(DISTRIBUTIONS), plugins


def test_a_first_upsert_imports_no_parser(tmp_path: Path) -> None:
    """A write looks at every action, and may be the only thing that a process does."""
    rows = "pyarrow.table({'id': [1], 'v': [2]})"
    created = f"hoodoo.create({str(tmp_path / 't')!r}, {rows}.schema, record_key='id')"
    code = f"import hoodoo; {created}.upsert({rows})"
    added = {name.partition(".")[0] for name in _added(code)}
    assert "hoodoo_statements" in added
    assert added.isdisjoint({"sqlglot", "rich", "typer", "pyspark", "polars", "duckdb"})


def test_a_first_upsert_imports_no_index_and_no_format_that_the_table_lacks(tmp_path: Path) -> None:
    rows = "pyarrow.table({'id': [1], 'v': [2]})"
    created = f"hoodoo.create({str(tmp_path / 't')!r}, {rows}.schema, record_key='id')"
    _python(f"import hoodoo, pyarrow; {created}")
    added = _added(f"import hoodoo; hoodoo.open({str(tmp_path / 't')!r}).upsert({rows})")
    assert added.isdisjoint({"hoodoo_metadata.hfile", "hoodoo_metadata.partitions.known"})
    assert added.isdisjoint({"hoodoo_publishing.iceberg", "hoodoo_erasure.erase"})
    # This number only goes down.
    assert len([n for n in added if n.startswith("hoodoo")]) <= 550


def test_a_first_read_imports_little(tmp_path: Path) -> None:
    """Reading a small table may be the only thing that a process does. pyarrow imports pandas, where there is one, at
    its first array of Python values: a third of a second."""
    rows = pa.table({"id": [1], "v": [2]})
    hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id").upsert(rows)
    code = f"import hoodoo; hoodoo.open({str(tmp_path / 't')!r}, engine='local').read().to_arrow()"
    added = _added(code)
    assert {n.partition(".")[0] for n in added}.isdisjoint({"pandas", "sqlglot", "pyspark"})
    assert "numpy.ma" not in added
    # Of the metadata table what says that there is none; nothing that merges rows, nothing that writes.
    assert added.isdisjoint(
        {"hoodoo_metadata.hfile", "hoodoo_rows.merge.slice", "hoodoo_formats.parquet.in_place"}
    )
    # This number only goes down.
    assert len([n for n in added if n.startswith("hoodoo")]) <= 352


def test_a_first_point_read_imports_no_index_that_the_table_lacks(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b"], "v": [1, 2]})
    hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id").upsert(rows)
    opened = f"t = hoodoo.open({str(tmp_path / 't')!r}, engine='local')"
    asked = "assert t.read(where=field('id') == 'b').to_arrow().num_rows == 1"
    added = _added(f"import hoodoo; from pyarrow.compute import field; {opened}; {asked}")
    ours = {name for name in added if name.startswith("hoodoo")}
    assert ours.isdisjoint({"hoodoo_metadata.hfile", "hoodoo_metadata.pruner"})
    # This number only goes down.
    assert len(ours) <= 356


@pytest.mark.sampled
@pytest.mark.parametrize("part", range(4))
def test_every_core_module_imports_alone(part: int) -> None:
    """Each module first among core's: a cycle that depends on the order of imports shows here.

    One interpreter, core's modules forgotten before each import; what a module drags in is noted.
    """
    code = """
import importlib, json, sys, traceback
foreign = sys.argv[1].split(",")
answer = {}
for module in sys.argv[2:]:
    for name in [n for n in sys.modules if n == "hoodoo" or n.startswith("hoodoo.")]:
        del sys.modules[name]
    for name in [n for n in sys.modules if n.partition(".")[0] in foreign]:
        del sys.modules[name]
    try:
        importlib.import_module(module)
    except BaseException:
        answer[module] = traceback.format_exc()
        continue
    answer[module] = sorted({n.partition(".")[0] for n in sys.modules} & set(foreign))
print(json.dumps(answer))
"""
    modules = _modules()[part::4]
    assert len(modules) > 30
    answer = json.loads(_python(code, ",".join(FOREIGN), *modules))
    wrong = {}
    for module, found in answer.items():
        allowed = {
            lib
            for start, libs in NEEDS.items()
            if f"{module}.".startswith(f"{start}.")
            for lib in libs
        }
        if isinstance(found, str) or set(found) - allowed:
            wrong[module] = found
    assert not wrong, "\n".join(f"{module}: {found}" for module, found in wrong.items())


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, in functions too; not what only a type checker sees."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide the room"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _room(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


def test_rooms_import_only_rooms_above_them() -> None:
    wrong = []
    for path in sorted(CORE.rglob("*.py")):
        where = path.relative_to(CORE)
        room = where.parts[0].removesuffix(".py")
        assert room in ROOMS or room in OUTSIDE, f"{where}: no room of the architecture"
        for line, name in _imports(path):
            top = name.partition(".")[0]
            if top.startswith("hoodoo_") or top in ("pyspark", "pandas"):
                wrong.append(f"{where}:{line}: core imports {name}")
            if top != "hoodoo" or room in OUTSIDE:
                continue
            other = _room(name)
            if other in ("__version__", "hookimpl"):  # what the package itself may be asked for
                other = "hookspecs"
            if other != room and (other not in ROOMS or ROOMS.index(other) > ROOMS.index(room)):
                wrong.append(f"{where}:{line}: {room} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_the_rule_about_rooms_can_fail(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from hoodoo.table.table import hidden\n"
        "def f():\n    from hoodoo.timeline import view\n    import hoodoo.table.verbs\n"
    )
    names = [name for _, name in _imports(source)]
    assert sorted(names) == ["hoodoo.table.verbs", "hoodoo.timeline.view", "typing.TYPE_CHECKING"]
    assert ROOMS.index(_room("hoodoo.table.verbs")) > ROOMS.index("storage")


def _setup(directory: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(directory / "setup.cfg", encoding="utf-8")
    return parser


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_entry_points_are_installed_as_written(name: str) -> None:
    """A new entry point is invisible to an environment that was made before it, which stays green."""
    setup = _setup(DISTRIBUTIONS[name])
    assert setup["metadata"]["name"] == name
    written = set()
    if setup.has_section("options.entry_points"):
        for group, lines in setup["options.entry_points"].items():
            for line in lines.strip().splitlines():
                key, _, value = line.partition("=")
                written.add((group, key.strip(), value.strip()))
    installed = {(p.group, p.name, p.value) for p in metadata.distribution(name).entry_points}
    assert installed == written, "install the distributions again (pip install -e)"


def test_versions_are_equal() -> None:
    written = {}
    for name, directory in DISTRIBUTIONS.items():
        version = _setup(directory)["metadata"]["version"]
        if version.startswith("attr:"):
            package = version.removeprefix("attr:").strip().partition(".")[0]
            tree = ast.parse((directory / "src" / package / "__init__.py").read_text("utf-8"))
            version = next(
                ast.literal_eval(node.value)
                for node in tree.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
            )
        written[name] = version
    assert len(set(written.values())) == 1, written
    installed = {name: metadata.version(name) for name in DISTRIBUTIONS}
    assert installed == written


PLUGINS = (
    "hoodoo_rows",
    "hoodoo_cli",
    "hoodoo_clustering",
    "hoodoo_hashing",
    "hoodoo_publishing",
    "hoodoo_versions",
    "hoodoo_erasure",
    "hoodoo_copies",
    "hoodoo_ingest",
    "hoodoo_catalogs",
    "hoodoo_vectors",
    "hoodoo_variant",
    "hoodoo_blob",
    "hoodoo_bootstrap",
    "hoodoo_history",
    "hoodoo_frames",
    "hoodoo_formats",
    "hoodoo_metadata",
    "hoodoo_services",
    "hoodoo_spark",
    "hoodoo_standard",
    "hoodoo_statements",
    "hoodoo_keep_first",
)


def test_core_names_no_plugin() -> None:
    """Not by an import that is hidden in a string either: plugins are found, never known."""
    found = [
        f"{path.relative_to(CORE)}:{number}"
        for path in CORE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(rf"\b({'|'.join(PLUGINS)})\b", line)
    ]
    assert not found

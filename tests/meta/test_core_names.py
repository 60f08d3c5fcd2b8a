"""Core knows no plugin by its name.

Names of actions are names of files on the timeline, too (`timeline/`), and words of families (`hookspecs/`,
`kernel/`): there they are the format's. Elsewhere a trait of the action says it better.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from hoodoo.hookspecs import FAMILIES
from hoodoo.kernel.registry import kernel

kernel()  # knows the families that distributions bring

CORE = Path(__file__).parents[2] / "core/src/hoodoo"
JAVA = "org.apache.hudi."
# Names of registrations that are also words of the format, or names of columns, fields and members: said in core,
# they mean these.
WORDS = {
    "HOODIE_LOG",
    "PARQUET",
    "arrow",
    "avro",
    "file",
    "files",
    "pyspark",
    "parquet",
    "DATA_BEFORE",
    "DATA_BEFORE_AFTER",
    "OP_KEY_ONLY",
    "bucket",
    "column_ranges",
    "key_range",
    "locate",
    "record_keys",
    "size",
    "table",
}
# Families whose members are called by their names from methods of the same name.
BY_METHOD = {"command", "function", "report"}

# What actions are called in files of the timeline, and families of plugins: in these rooms the words are the format's.
FORMAT = {"clean", "clustering", "compaction", "logcompaction", "restore", "savepoint"}
MERGE_MODES = "options/table.py"
ROOMS = ("timeline/", "hookspecs/", "kernel/", "model/action.py")

# Values of `hoodie.record.merge.mode`, which the specification has; each built-in merger has one as an alias.
MODES = {"COMMIT_TIME_ORDERING", "CUSTOM", "EVENT_TIME_ORDERING"}


def _names() -> set[str]:
    """Names and aliases, Java classes among them, of everything that plugins other than core's own offer."""
    offers = (offer for f in FAMILIES if f not in BY_METHOD for offer in kernel().offers(f))
    own: set[str] = set()
    theirs: set[str] = set()
    for offer in offers:
        found = own if offer.plugin.distribution == "hoodoo-core" else theirs
        found |= {offer.name, *offer.registration.aliases}
    return theirs - own - WORDS - {""}


def _texts(source: str) -> Iterator[str]:
    """The texts of a module that are values: no docstrings."""
    tree = ast.parse(source)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, kinds))
    said = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def named(source: str, names: set[str]) -> set[str]:
    """The names of ``names``, and of Hudi's Java classes, that a module has among its values."""
    return {text for text in _texts(source) if text in names or text.startswith(JAVA)}


def _found() -> Mapping[str, set[str]]:
    names = _names()
    paths = (p for p in sorted(CORE.rglob("*.py")) if "testing" not in p.relative_to(CORE).parts)
    found = {}
    for path in paths:
        room = str(path.relative_to(CORE))
        words = FORMAT if room.startswith(ROOMS) else MODES if room == MERGE_MODES else set()
        found[room] = named(path.read_text("utf-8"), names - words)
    return {path: names for path, names in found.items() if names}


def test_core_names_no_plugin() -> None:
    found = {path: sorted(names) for path, names in _found().items()}
    assert not found, f"names of plugins in core (let the plugin say it by a member): {found}"


def test_the_rule_can_fail() -> None:
    source = '"""zorder"""\n\ndef f(x):\n    """hilbert"""\n    return x in ("zorder", "a", "org.apache.hudi.X")\n'
    assert named(source, {"zorder", "hilbert"}) == {"zorder", "org.apache.hudi.X"}
    assert {"zorder", "record_index"} & _names()
    assert "org.apache.hudi.keygen.SimpleKeyGenerator" in _names()


if __name__ == "__main__":
    for path, names in _found().items():
        print(f"    {path!r}: {{{', '.join(map(repr, sorted(names)))}}},")

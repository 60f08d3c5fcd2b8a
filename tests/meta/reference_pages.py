"""docs/reference: pages of what a program calls, made of signatures and docstrings.
``python tests/meta/reference_pages.py`` writes them.

Methods of a table and of a read are functions over what stands behind them, many of them in plugins: which there are is
known to a running Python only. So these pages are made, and mkdocstrings shows the classes that stand in one place.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
from hoodoo.kernel.functions import OF_READS, function, function_names
from hoodoo.kernel.registry import kernel
from hoodoo_rows.read.scan import Scan
from hoodoo_rows.write.commit import Commit

sys.path.append(str(Path(__file__).parents[2]))  # as a script, too

from tests.meta.reference_examples import (
    ANSWERS,
    ARGUMENTS,
    BEGIN,
    ERRORS,
    EXAMPLES,
    METHODS,
    ON_THE_PAGE,
)

kernel()  # knows the families that distributions bring

FOLDER = Path(__file__).parents[2] / "docs/reference"
_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")
# Where a page tells more of it: shown below the docstring.
GUIDES = {
    "table.upsert": "writing.md",
    "table.insert": "writing.md",
    "table.append": "writing.md",
    "table.bulk_insert": "writing.md",
    "table.insert_overwrite": "writing.md",
    "table.insert_overwrite_table": "writing.md",
    "table.delete_partitions": "writing.md",
    "table.delete": "statements.md",
    "table.update": "statements.md",
    "table.merge": "statements.md#merge",
    "table.alter": "statements.md",
    "table.read": "reading.md",
    "table.query": "reading.md",
    "table.incremental": "reading.md#what-has-changed-since",
    "table.changes": "reading.md#what-each-commit-did",
    "table.compact": "merge-on-read.md#compaction",
    "table.cluster": "clustering.md",
    "table.clean": "maintenance.md#clean",
    "table.vacuum": "maintenance.md#clean",
    "table.optimize": "clustering.md",
    "table.resize_buckets": "indexes.md#another-number-of-buckets",
    "table.history": "reading.md#time-travel",
    "table.archive": "maintenance.md#archive",
    "table.savepoint": "maintenance.md#undo",
    "table.restore": "maintenance.md#undo",
    "table.rollback": "maintenance.md#undo",
    "table.rebuild_index": "indexes.md",
    "table.switch_index": "indexes.md#from-one-index-to-another",
    "table.compare_indexes": "indexes.md#from-one-index-to-another",
    "table.locate": "indexes.md#where-keys-are-stored",
    "table.location_changes": "indexes.md#what-changed",
    "table.drop_index": "metadata-table.md#getting-one",
    "table.rewrite": "maintenance.md#rewrite-files",
    "table.rewrite_keys": "virtual-keys.md#an-existing-table",
    "table.enable_virtual_keys": "virtual-keys.md#an-existing-table",
    "table.upgrade": "table-versions.md#convert-a-table",
    "table.downgrade": "table-versions.md#convert-a-table",
    "table.erase": "erasure.md",
    "table.backup": "copies.md#backups",
    "table.clone": "copies.md#clones",
    "table.tag": "copies.md#tags",
    "table.report": "command-line.md#from-python",
    "table.stats": "command-line.md#stats",
    "table.publish": "open-formats.md",
    "table.search": "vector-search.md",
    "table.read_blob": "vectors-and-blobs.md",
    "table.blob_bytes": "vectors-and-blobs.md",
    "table.verify": "command-line.md#verify",
    "hoodoo.create": "quickstart.md",
    "hoodoo.write": "quickstart.md#in-one-line",
    "hoodoo.aio": "reading.md#from-async-code",
    "hoodoo.catalog": "catalogs.md",
    "table.sync": "catalogs.md#what-is-updated-and-when",
    "hoodoo.convert": "converting.md",
    "hoodoo.bootstrap": "bootstrap.md",
    "hoodoo.plan_bootstrap": "bootstrap.md",
    "hoodoo.ingest": "ingest.md",
    "hoodoo.session": "session.md",
    "hoodoo.sql": "statements.md#sql",
    "hoodoo.scan_polars": "reading.md#in-data-frames",
    "hoodoo.spark_view": "spark-source.md",
    "hoodoo.hookimpl": "plugins/guide.md",
    "hoodoo.variant": "variants.md",
    "hoodoo.variants": "variants.md",
    "scan.to_spark": "spark.md#reading",
    "scan.search": "vector-search.md",
    "scan.read_blob": "vectors-and-blobs.md",
    "hoodoo.vector": "vectors-and-blobs.md",
    "hoodoo.blob": "vectors-and-blobs.md",
    "scan.to_dataset": "reading.md#in-data-frames",
}
_PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")
# Examples of a docstring: the page has one that runs.
_SESSION = re.compile(r"\n\n>>> (?:.+\n?)*")
# A docstring that leaves the arguments to another call of the page.
_TWIN = re.compile(r"arguments are those of ``(\w+)``")
_CLASS = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)
MADE = "<!-- Made by tests/meta/reference_pages.py: change the docstrings. -->"


def public(of: Any) -> list[str]:
    return [name for name in dir(of) if not name.startswith("_")]


def methods_of_a_read() -> list[str]:
    return sorted({*public(Scan), *function_names(OF_READS)})


def functions() -> list[str]:
    return sorted(name for name in dir(hoodoo) if name not in ("Table", "__version__"))


def groups() -> Iterator[tuple[str, list[str]]]:
    """What the methods of a table are for, and their names."""
    left = public(hoodoo.Table)
    for title, names in METHODS.items():
        found = [name for name in names.split() if name in left]
        left = [name for name in left if name not in found]
        yield title, found
    if left:
        yield "others", left


def entry(call: str, member: Any, level: str = "###") -> list[str]:
    """Heading, how it is called, and what its docstring says."""
    lines = ["", f"{level} {call.partition('.')[2]}", ""]
    shown = inspect.unwrap(member.fget if isinstance(member, property) else member)
    name = call.partition(".")[2]
    said = inspect.getdoc(member) or inspect.getdoc(shown) or _FIELDS.get(name, "")
    if name == "hookimpl":  # pluggy's own docstring speaks to others
        said = _FIELDS[name]
    owner = call.partition(".")[0]
    first = _first.setdefault((owner, name if len(said.split()) < 9 else "", said), name)
    if first != name:
        return lines + _another_name(first, call)
    if callable(shown):
        lines += ["```py", usage(call, shown, isinstance(member, property)), "```", ""]
    lines.append(_plain(_SESSION.sub("", said).rstrip()))
    lines += more(
        call, shown if callable(shown) and not isinstance(member, property) else None, said
    )
    if call in GUIDES and f"docs/{GUIDES[call]}" not in said:
        page = GUIDES[call]
        lines += ["", f"More: [{page.partition('.')[0]}](../{page})."]
    return lines


def _another_name(first: str, call: str) -> list[str]:
    """A second name of one function."""
    return [f"Another name of [{first}](#{first}).", *example(call)]


def member(owner: str, name: str) -> Any:
    """The function behind a name of a page, or None for a property and a field."""
    if owner == "hoodoo":
        return inspect.unwrap(getattr(hoodoo, name))
    kind = {"table": hoodoo.Table, "scan": Scan, "commit": Commit}[owner]
    found: Any = inspect.getattr_static(kind, name, None)
    if found is None:
        return function(OF_READS + name)
    if isinstance(found, property) or inspect.ismemberdescriptor(found) or isinstance(found, str):
        return None
    return inspect.unwrap(getattr(kind, name))


def more(call: str, function: Callable[..., Any] | None, said: str) -> list[str]:
    """Arguments and errors that the docstring does not name, and an example that runs."""
    lines: list[str] = []
    if function is not None:
        left = _unsaid(call, function, said)
        texts = [(one, ARGUMENTS.get(f"{call}.{one}") or ARGUMENTS[one]) for one in left]
        explained = [] if _TWIN.search(" ".join(said.split())) else _explained(call, texts)
        lines += ["", *explained] if explained else []
    if ERRORS.get(call, "Raises no error.") not in ("Raises no error.", *ON_THE_PAGE):
        lines += ["", _errors(call)]
    return lines + example(call)


def _unsaid(call: str, function: Callable[..., Any], said: str) -> list[str]:
    """Arguments that a docstring does not name; of ``engine`` the page says it once."""
    left = [one for one in arguments(call, function) if not re.search(rf"``{one}\b", said)]
    return [one for one in left if one != "engine" or not call.startswith("table.")]


def _explained(call: str, texts: list[tuple[str, str]]) -> list[str]:
    """A text of several words that an earlier call has is left out; where calls have little in common, it is a link."""
    owner, _, name = call.partition(".")
    said: dict[str, list[str]] = {}
    for one, text in texts:
        first = _first.setdefault((owner, one, text), name)
        new = first == name or (len(text.split()) < 6 and not text.startswith("as in"))
        if new or owner == "hoodoo":
            link = text if new else f"as in [{first}](#{first})"
            said.setdefault(link, []).append(f"`{one}`")
    return [f"- {', '.join(args)}: {text}." for text, args in said.items()]


def _errors(call: str) -> str:
    owner, _, name = call.partition(".")
    first = _first.setdefault((owner, "", ERRORS[call]), name)
    if first == name or len(ERRORS[call].split()) < 10:
        return ERRORS[call]
    return f"Raises the errors of [{first}](#{first})."


# Owner, argument (errors: none) and text -> the first call of the page that has it.
_first: dict[tuple[str, str, str], str] = {}


def example(call: str) -> list[str]:
    code = EXAMPLES[call]
    info = "python spark" if code.startswith("#!spark") else "python"
    return ["", f"```{info}", code.removeprefix("#!spark\n"), "```"]


def arguments(call: str, function: Callable[..., Any]) -> list[str]:
    """The names of the arguments, without the table or the read."""
    names = list(inspect.signature(function).parameters)
    bound = getattr(function, "__self__", None) is not None or call.startswith("hoodoo.")
    return names if bound else names[1:]


def usage(call: str, what: Callable[..., Any], is_property: bool) -> str:
    found = inspect.signature(what)
    answer = ANSWERS.get(call) or _type(found.return_annotation)
    if is_property:
        return f"{call}: {answer}"
    if getattr(what, "__self__", None) is not None:  # a class method
        found = found.replace(parameters=[_CLASS, *found.parameters.values()])
    parameters = list(found.parameters.values())
    if parameters and not call.startswith("hoodoo."):  # the handle, the read
        parameters = parameters[1:]
    parts, star = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = _type(one.annotation)
        if one.default is None:  # says that it may be None
            kind = kind.removesuffix(" | None")
        text = f"{mark}{one.name}: {kind}"
        if one.name == "engine" and call.startswith("table."):  # the page says it once
            parts.append("engine=None")
        else:
            parts.append(text if one.default is one.empty else f"{text} = {_default(one.default)}")
    line = f"{call}({', '.join(parts)}) -> {answer}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{call}(", *(f"    {part}," for part in parts), f") -> {answer}"])


def _default(value: Any) -> str:
    text = repr(value)
    return text if " object at " not in text and "<" not in text else "..."


def _type(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return "Any"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")


def _plain(text: str) -> str:
    linked = _PAGE.sub(r"[\1](../\1.md)", _ROLE.sub(r"`\1`", text))
    return linked.replace("``", "`").replace("Raises no error.", "").rstrip()


def begin(page: str) -> list[str]:
    return ["", "The examples of this page use:", "", "```python", BEGIN[page].rstrip("\n"), "```"]


def table_page() -> str:
    lines = [
        "# Table",
        "",
        MADE,
        "",
        _plain(inspect.getdoc(hoodoo.Table) or ""),
        "",
        "All errors are in [the list](types.md#errors), and [explained](../errors.md). A method with the argument `engine` runs on",
        "the engine of its data, unless you give the argument: [Spark](../spark.md). Times are instants, datetimes with a time",
        "zone, or ISO 8601 texts with a time zone. Sizes are in bytes. An argument that is not explained is that of the methods",
        "before it. A call raises StorageError if the store fails, and a read CorruptTableError if a file that a commit names is",
        "lost or damaged.",
        *begin("table.md"),
    ]
    for what, names in groups():
        lines += ["", f"## {what}"]
        for name in names:
            member = inspect.getattr_static(hoodoo.Table, name)
            if not isinstance(member, property):
                member = getattr(hoodoo.Table, name)
            lines += entry(f"table.{name}", member)
    return "\n".join(lines) + "\n"


def scan_page() -> str:
    lines = [
        "# Scan",
        "",
        MADE,
        "",
        _plain(inspect.getdoc(Scan) or ""),
        "",
        ON_THE_PAGE[0],
        *begin("scan.md"),
    ]
    for name in methods_of_a_read():
        member: Any = inspect.getattr_static(Scan, name, None)
        if member is None:
            member = function(OF_READS + name)
        elif not isinstance(member, property):
            member = getattr(Scan, name)
        if inspect.ismemberdescriptor(member) or isinstance(member, str):
            lines += ["", f"### {name}", "", _FIELDS[name], *example(f"scan.{name}")]
        else:
            lines += entry(f"scan.{name}", member)
    return "\n".join(lines) + "\n"


# Fields, which have no docstring.
_FIELDS = {
    "source": "The table at the time of this read: store, properties, timeline, options.",
    "plan": "The plan of the read: file slices, columns, filter, skipped files. `print(scan.plan)` shows it.",
    "read_ahead": "The number of files that are read at the same time.",
    "call_hint": "A sentence for the error if you call a method of another library.",
    "schema": "The columns of the rows that this read returns.",
    "step": "The same read as a step for an engine's tasks.",
    "of": "For code that implements writes or reads; programs get one as a result.",
    "hookimpl": "Marks a function in the module of a plugin as the implementation of the hook with the same name.",
    "instant": "The instant of the commit, as text of 17 digits; empty if there was nothing to write.",
    "action": "The action on the timeline: `commit`, `deltacommit` or `replacecommit`.",
    "operation": "The operation: `upsert`, `insert`, `delete`, and so on.",
    "unmerged": "Of the updated and deleted rows those in log files, which are counted as they are written.",
    "inserted": "Number of new rows.",
    "updated": "Number of rows that replaced stored rows.",
    "deleted": "Number of deleted rows.",
    "files": "Paths of the new files, relative to the table.",
    "completed": "The time when the commit was completed; None in table version 6, which does not store it.",
    "notes": "Sentences that say what a clustering left out.",
    "figures": "The same counts with the names of [events](../monitoring.md).",
}


def commit_page() -> str:
    lines = ["# Commit", "", MADE, "", _plain(inspect.getdoc(Commit) or ""), *begin("commit.md")]
    for name in public(Commit):
        member = inspect.getattr_static(Commit, name)
        if inspect.ismemberdescriptor(member):
            lines += ["", f"### {name}", "", _FIELDS[name], *example(f"commit.{name}")]
        else:
            member = getattr(Commit, name) if not isinstance(member, property) else member
            lines += entry(f"commit.{name}", member)
    return "\n".join(lines) + "\n"


def functions_page() -> str:
    lines = [
        "# Functions",
        "",
        MADE,
        "",
        "The package `hoodoo` contains the class [`Table`](table.md), the text `__version__`, and these functions. Some of them are",
        "in other distributions, which `pip install hoodoo` installs; if one is missing, the error names it.",
        *begin("functions.md"),
    ]
    for name in functions():
        lines += entry(f"hoodoo.{name}", getattr(hoodoo, name))
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "functions.md": functions_page,
    "table.md": table_page,
    "scan.md": scan_page,
    "commit.md": commit_page,
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), "utf-8")

"""Foreign: what lies where somebody looked for a Hudi table, and how its rows come into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hoodoo.hookspecs.creation import Found
from hoodoo.model.brief import some
from hoodoo.storage.api import Entry, Storage

_PROPERTIES = ".hoodie/hoodie.properties"
_LEVELS = 12
_CHILDREN = 50
_INTO = "; then hoodoo.create(NEW_PATH, rows.schema, record_key=...).bulk_insert(rows)."


def found_at(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    """What is at the root of ``storage``, which holds no Hudi table; ``at`` opens the store at
    another URI."""
    return _file(storage, at) or _directory(storage, at)


def _file(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    above, _slash, name = storage.root.rstrip("/").rpartition("/")
    if not name or above.endswith((":", "/")) or at(above).head(name) is None:
        return None
    if name.endswith(".parquet"):
        rows = f'rows = pyarrow.dataset.dataset("{_plain(storage.root)}")'
        return Found(
            "it is a Parquet file", f"Copy its rows into a new table: {rows}{_INTO}", is_file=True
        )
    return Found("it is a file", "Give the directory of the table.", is_file=True)


def _directory(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    entries = [entry for entry in storage.list("") if entry.name != ".hoodie"]
    path = _plain(storage.root)
    folders = {entry.name for entry in entries if entry.is_dir}
    if "_delta_log" in folders:
        rows = f'rows = deltalake.DeltaTable("{path}").to_pyarrow_dataset()'
        return Found("it is a Delta Lake table", f"Copy its rows into a new table: {rows}{_INTO}")
    if "metadata" in folders and (newest := _iceberg(storage)):
        rows = (
            f'rows = pyiceberg.table.StaticTable.from_metadata("{path}/{newest}").scan().to_arrow()'
        )
        return Found("it is an Iceberg table", f"Copy its rows into a new table: {rows}{_INTO}")
    if "_versions" in folders:
        rows = f'rows = lance.dataset("{path}")'
        return Found("it is a Lance dataset", f"Copy its rows into a new table: {rows}{_INTO}")
    if (table := table_above(storage.root, at)) is not None:
        of = _plain(storage.root)[len(_plain(table)) :].strip("/")
        return Found(
            f"it is the directory {of} of the Hudi table {_plain(table)}",
            f'Open that one: hoodoo.open("{_plain(table)}"); a filter chooses partitions.',
        )
    if below := tables_below(storage):
        return Found(
            f"it is a directory of Hudi tables: {some(below, 5)}",
            f'Open one of them: hoodoo.open("{path}/{below[0]}").',
        )
    if (how := _parquet(storage, entries)) is not None:
        rows = f'rows = pyarrow.dataset.dataset("{path}"{how})'
        return Found(
            "it is a directory of Parquet files",
            f"Copy their rows into a new table: {rows}{_INTO}",
        )
    make = "Check the path, or create a table there with hoodoo.create(...)."
    if entries:
        return Found(f"it holds {some(entry.name for entry in entries)}", make)
    above, _slash, name = storage.root.rstrip("/").rpartition("/")
    there = any(entry.name == name for entry in at(above).list("")) if name else True
    return Found("it is empty" if there else "the path does not exist", make)


def _iceberg(storage: Storage) -> str | None:
    found = [e.path for e in storage.list("metadata") if e.name.endswith(".metadata.json")]
    # By their numbers: v10 comes after v9, 00010-... after 00009-...
    return max(found, key=lambda path: (len(path.split("-")[0].split(".")[0]), path), default=None)


def tables_below(storage: Storage) -> list[str]:
    """Return the paths of Hudi tables below the root of ``storage``, of the directories looked at
    first.

    Looks at no more than 50 directories, those of the upper levels first: a bucket may have
    millions of files. Empty where the root itself is a table."""
    tables, looked, level = [], 0, [""]
    while level and looked < _CHILDREN:
        below = []
        for folder in level[: _CHILDREN - looked]:
            looked += 1
            folders = [entry for entry in storage.list(folder) if entry.is_dir]
            if not any(entry.name == ".hoodie" for entry in folders):
                below += [entry.path for entry in folders]
            elif folder:
                tables.append(folder)
        level = below
    return tables


def table_above(root: str, at: Callable[[str], Storage]) -> str | None:
    for _ in range(_LEVELS):
        root = root.rstrip("/").rpartition("/")[0]
        if not root or root.endswith((":", "/")):
            return None
        if at(root).head(_PROPERTIES) is not None:
            return root
    return None


def _parquet(storage: Storage, entries: Sequence[Entry]) -> str | None:
    """More arguments for the dataset of a directory that holds Parquet files, be it in partitions;
    None where there are none."""
    folder = ""
    for _ in range(_LEVELS):
        if any(e.name.endswith((".parquet", ".pq")) for e in entries if not e.is_dir):
            return ', partitioning="hive"' if "=" in folder else ""
        inner = [e for e in entries if e.is_dir and not e.name.startswith(("_", "."))]
        if not inner:
            return None
        folder = inner[0].path
        entries = storage.list(folder)
    return None


def _plain(root: str) -> str:
    """A URI as people write it."""
    return root.removeprefix("file://")

"""Foreign: what lies where somebody looked for a Hudi table, and how its rows come into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hoodoo.hookspecs.creation import Found
from hoodoo.model.brief import some
from hoodoo.storage.api import Entry, Storage

_PROPERTIES = ".hoodie/hoodie.properties"
_LEVELS = 12
_CHILDREN = 50
_FIRST = 4  # folders of a level that are looked into


def found_at(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    """What is at the root of ``storage``, which holds no Hudi table; ``at`` opens the store at
    another URI."""
    return _file(storage, at) or _directory(storage, at)


def _file(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    above, _slash, name = storage.root.rstrip("/").rpartition("/")
    if not name or above.endswith((":", "/")) or at(above).head(name) is None:
        return None
    if name.endswith(".parquet"):
        rows = f'pyarrow.dataset.dataset("{_plain(storage.root)}")'
        return Found("it is a Parquet file", _copied(rows), is_file=True)
    return Found("it is a file", "Give the directory of the table.", is_file=True)


def rows_of_others(storage: Storage, entries: Sequence[Entry]) -> Found | None:
    """Files with rows at the root of ``storage``, whose ``entries`` are given, that are of no Hudi
    table: readers of a table that is created there would not see these rows."""
    if not entries or any(entry.name == ".hoodie" for entry in entries):
        return None
    return _of_other_format(storage, entries) or _of_parquet(storage, entries)


def _of_other_format(storage: Storage, entries: Sequence[Entry]) -> Found | None:
    path = _plain(storage.root)
    folders = {entry.name for entry in entries if entry.is_dir}
    if "_delta_log" in folders:
        return Found("it is a Delta Lake table", _copied(f'"{path}"'))
    if "metadata" in folders and any(
        entry.name.endswith(".metadata.json") for entry in storage.list("metadata")
    ):
        return Found("it is an Iceberg table", _copied(f'"{path}"'))
    if "_versions" in folders:
        return Found("it is a Lance dataset", _copied(f'lance.dataset("{path}")'))
    return None


def _of_parquet(storage: Storage, entries: Sequence[Entry]) -> Found | None:
    if not _has_parquet(storage, entries):
        return None
    path = _plain(storage.root)
    copied = _copied(f'"{path}"')
    return Found(
        "it is a directory of Parquet files",
        f"{copied} Or let the files stay where they are: "
        f'hoodoo.bootstrap("{path}", NEW_PATH, record_key=...).',
    )


def _directory(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    root = storage.list("")
    entries = [entry for entry in root if entry.name != ".hoodie"]
    path = _plain(storage.root)
    if (found := _of_other_format(storage, entries)) is not None:
        return found
    if (table := table_above(storage.root, at)) is not None:
        of = _plain(storage.root)[len(_plain(table)) :].strip("/")
        return Found(
            f"it is the directory {of} of the Hudi table {_plain(table)}",
            f'Open that one: hoodoo.open("{_plain(table)}"); a filter chooses partitions.',
        )
    if below := tables_below(storage, root):
        return Found(
            f"it is a directory of Hudi tables: {some(below, 5)}",
            f'Open one of them: hoodoo.open("{path}/{below[0]}").',
        )
    if (found := _of_parquet(storage, entries)) is not None:
        return found
    make = "Check the path, or create a table there with hoodoo.create(...)."
    if entries:
        return Found(f"it holds {some(entry.name for entry in entries)}", make)
    above, _slash, name = storage.root.rstrip("/").rpartition("/")
    there = any(entry.name == name for entry in at(above).list("")) if name else True
    return Found("it is empty" if there else "the path does not exist", make)


def _copied(source: str) -> str:
    """How the rows of ``source`` come into a table."""
    return f"Copy its rows into a new table: hoodoo.convert({source}, NEW_PATH, record_key=...)."


def tables_below(storage: Storage, root: Sequence[Entry]) -> list[str]:
    """Return the paths of Hudi tables below the root of ``storage``, whose entries are ``root``, of
    the directories looked at first.

    Looks at no more than 50 directories, those of the upper levels first: a bucket may have
    millions of files. Empty where the root itself is a table."""
    tables, looked, level = [], 0, [""]
    while level and looked < _CHILDREN:
        below = []
        for folder in level[: _CHILDREN - looked]:
            looked += 1
            entries = storage.list(folder) if folder else root
            folders = [entry for entry in entries if entry.is_dir]
            if not any(entry.name == ".hoodie" for entry in folders):
                below += [one.path for one in folders if not one.name.startswith(".")]
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


def _has_parquet(storage: Storage, entries: Sequence[Entry]) -> bool:
    """Whether a directory holds Parquet files, be it in partitions: as far as the first folders of
    each level show it."""
    for _ in range(_LEVELS):
        if any(e.name.endswith((".parquet", ".pq")) for e in entries if not e.is_dir):
            return True
        inner = [e for e in entries if e.is_dir and not e.name.startswith(("_", "."))]
        entries = [e for folder in inner[:_FIRST] for e in storage.list(folder.path)]
        if not entries:
            return False
    return False


def _plain(root: str) -> str:
    """A URI as people write it."""
    return root.removeprefix("file://")

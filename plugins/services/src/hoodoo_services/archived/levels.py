"""Keeping the archived timeline of versions 8 and 9 small in files: levels are merged, old files
go.

Ten files of a level become one of the next, so that a table has a few dozen files whatever it has
been through (Hudi's ``LSMTimelineWriter``). Files that were merged stay while one of the newest
manifests names them: a reader may be at it."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from attrs import frozen
from hoodoo.errors import StorageError
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import new_name
from hoodoo.timeline.instants import order_key

from hoodoo_services.archived import manifest as history
from hoodoo_services.archived.data_files import HistoryWriter, read_batches
from hoodoo_services.archived.manifest import Files, HistoryFile
from hoodoo_services.archived.writer import keys

_DAY = 86_400.0


@frozen
class Levels:
    """``batch`` files of a level become one, if they have no more than ``largest`` bytes together;
    ``manifests`` are kept besides those that one round of merging makes."""

    batch: int = 10
    largest: int = 1000 * 1024 * 1024
    manifests: int = 3


def tidy(storage: Storage, config: TableConfig, levels: Levels = Levels()) -> int:
    """Merge full levels, then delete what no kept manifest names; how many files were made."""
    made = 0
    while True:
        files = [f for f in history.snapshot(storage, config).files if f.level == made]
        chosen = (
            _chosen(history.in_order(tuple(files)), levels) if len(files) >= levels.batch else ()
        )
        if len(chosen) < 2:
            break
        _merge(storage, config, chosen)
        made += 1
    _sweep(storage, config, levels.manifests + made)
    return made


def _chosen(files: Files, levels: Levels) -> Files:
    """The oldest files that may become one."""
    chosen: list[HistoryFile] = []
    size = 0
    for file in files:
        chosen.append(file)
        size += file.size
        if len(chosen) >= levels.batch:
            break
        if size > levels.largest:
            if len(chosen) > 1:
                break
            chosen, size = [], 0  # large enough by itself
    return tuple(chosen)


def _merge(storage: Storage, config: TableConfig, chosen: Files) -> None:
    where = history.folder(config)
    first = min((f.first for f in chosen), key=order_key)
    last = max((f.last for f in chosen), key=order_key)
    level = chosen[0].level + 1
    name = f"{first}_{last}_{level}.parquet"
    local = os.path.join(storage.scratch(), f"history-{new_name()}")
    try:
        with HistoryWriter(local) as writer:
            for file in chosen:
                for batch in read_batches(storage, f"{where}/{file.name}"):
                    writer.write(batch)
        size = os.path.getsize(local)
        merged = HistoryFile(name, size, first, last, level)
        if not storage.put_file_if_absent(f"{where}/{name}", local):
            # An earlier run came as far, or another tool's crash has torn it.
            if keys(storage, config, merged) is None:
                storage.delete(f"{where}/{name}")
                storage.put_file_if_absent(f"{where}/{name}", local)
            found = storage.head(f"{where}/{name}")
            if found is None:
                raise StorageError(
                    f"{storage.root}/{where}/{name}",
                    "was not written: the store says that it exists, and it does not.",
                    "Nothing is lost: the next write archives again.",
                )
            merged = HistoryFile(name, found.size, first, last, level)
    finally:
        with suppress(OSError):
            os.unlink(local)
    gone = {f.name for f in chosen}

    def change(files: Files) -> Files:
        names = {f.name for f in files}
        if not gone <= names:  # another archiver has merged them
            return files
        return (*(f for f in files if f.name not in gone), merged)

    history.publish(storage, config, change)


def _sweep(storage: Storage, config: TableConfig, kept: int) -> None:
    """Delete the manifests before the ``kept`` newest, and what only they name: data files first,
    so that a crash leaves nothing that nobody names. Other files that no manifest names may be
    those of an archiver at work; those of a day ago are not."""
    where = history.folder(config)
    entries = tuple(storage.list(where))
    numbers = history.manifest_numbers(entries)
    named = {number: history.read_manifest(storage, config, number) for number in numbers}
    staying = {f.name for n in numbers[:kept] for f in named[n] or ()}
    going = {f.name for n in numbers[kept:] for f in named[n] or ()} - staying
    limit = time.time() - _DAY
    for entry in entries:
        if HistoryFile.parse(entry.name, entry.size) is None or entry.name in staying:
            continue
        if entry.name in going or entry.modified < limit:
            storage.delete(entry.path)
    for number in numbers[kept:]:
        storage.delete(f"{where}/manifest_{number}")

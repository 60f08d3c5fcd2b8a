"""Services in a thread beside a writer: Hudi's ``hoodie.clustering.async.enabled`` and its like."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from attrs import frozen
from hoodoo.errors import HoodooError, warn
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.together import at_once
from hoodoo.table.after_write import AfterWrites
from hoodoo.table.handle import TableHandle
from hoodoo.table.table import Table
from hoodoo.timeline.timeline import Timeline

from hoodoo_serve import options
from hoodoo_serve.table_services import inline_clustering, without_async

# Actions that follow writes unless an option says that they go beside them.
_FREED = {"clean": options.ASYNC_CLEANING, "archive": options.ASYNC_ARCHIVING}
_lock = threading.Lock()
_running: dict[str, threading.Thread] = {}


@frozen
class ServicesBeside:
    """An action that follows writes: it begins a thread that compacts, clusters, cleans or
    archives, where that is due, while the writer goes on. One thread for each table of a process;
    what comes due while it runs is done by a later one.

    What runs when the process ends is finished by the next writer or service;
    ``table.run("services_beside")`` waits for it."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ServicesBeside:
        return cls()

    def run(self, table: TableHandle, engine: str | Engine | None = None) -> None:
        """Do now what a thread would do, and wait for a thread that does it."""
        wait_for(table.storage.root)
        _run(_opened(table), lambda: table.engine(None, engine or table.default_engine), table)

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        if not _wanted(table):
            return None
        other = _opened(table)
        AfterWrites(other).due()  # wrong options are said before the write

        def begin(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            with _lock:
                there = _running.get(table.storage.root)
                if there is None or not there.is_alive():
                    thread = threading.Thread(
                        target=_run,
                        args=(other, engine, table),
                        name=f"services {table.storage.root}",
                    )
                    _running[table.storage.root] = thread
                    thread.start()
            return False

        instead = tuple(name for name, option in _FREED.items() if option.read(table.options))
        return AfterWrite("services beside the writer", begin, order=1000, instead=instead)


def wait_for(root: str) -> None:
    """Until no thread of this process looks after the table at ``root``."""
    with _lock:
        thread = _running.get(root)
    if thread is not None and thread is not threading.current_thread():
        thread.join()


def _wanted(table: TableHandle) -> bool:
    return any(
        option.read(table.options)
        for option in (options.ASYNC_CLUSTERING, options.ASYNC_COMPACTION, *_FREED.values())
    )


def _opened(table: TableHandle) -> TableHandle:
    """The table, with what is asked for beside the writer as what follows a write, and nothing
    else."""
    given: dict[str, Any] = {
        **table.options,
        "hoodie.clustering.inline": "false",
        "hoodie.compact.inline": "false",
        **inline_clustering(table.options),
    }
    for name, option in _FREED.items():
        if not option.read(table.options):
            given[f"hoodie.{name}.automatic"] = "false"
    if options.ASYNC_COMPACTION.read(table.options):
        given["hoodie.compact.inline"] = "true"
    found = without_async(given)
    return Table(table.storage, table.config, found, table.default_engine, table.overrides).handle


def _run(table: TableHandle, engine: Callable[[], Engine], writer: TableHandle) -> None:
    """``writer`` is told the timeline as this leaves it: its next write takes it for its own."""
    timeline: Timeline | None = None
    for service in AfterWrites(table).due():
        try:
            timeline = timeline or table.timeline()
            if service.run(timeline, engine):
                timeline = None
        except (HoodooError, FileNotFoundError) as error:  # others take files away
            timeline = None
            warn(
                f"table {table.config.name}: the {service.what} beside the writer is not done "
                f"({error}); "
                f"{service.by_hand} finishes it."
            )
        except RuntimeError:
            # Python begins no thread any more while it ends. The next writer finishes what is left.
            if threading.main_thread().is_alive():
                raise
            return
    seen = table.after_writes.seen
    if seen is not None and at_once(table.storage) > 1:
        writer.saw(seen)

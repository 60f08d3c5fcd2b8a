"""A table as the page shows it: reports as plain values, each made once for a state of the
timeline."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import floor, log10
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import asdict, define, evolve, field, frozen
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.table.table import Table
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.plans import clustering_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_cli.reports import plain
from hoodoo_cli.ui import query, ranges, services
from hoodoo_cli.ui.opened import SECRET, commit_of, rows_shown
from hoodoo_cli.ui.read_only import ReadOnlyStorage

# A report that took one second is not made again for nine: looking costs a tenth of the time at
# most.
_PAUSE = 9.0
_KEPT = 64  # values of pages and columns
_MOST_ROWS = 1000
_MOST_FOOTERS = 500  # base files whose commit is archived; more are not opened to count rows
_MOST_RANGES = 2000  # file groups whose footers are read for their ranges
_SMALLEST = 20
_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
_ORDERS = ("partition", "rows", "bytes", "file_groups", "small_files", "log_bytes")


@frozen
class _Kept:
    mark: str
    value: Any
    made: float
    took: float


@define
class ShownTable:
    """The table at ``path``. Every method answers values for JSON, and raises what Hoodoo raises.
    Safe in threads.

    ``mark`` in the answers names the state of the timeline they were made of: the page asks again
    when :meth:`live` says another one.
    """

    path: str
    given: Mapping[str, str] = field(factory=dict)
    health: tuple[services.Health, ...] = ()
    clock: Callable[[], float] = time.monotonic
    _opened: Table | None = field(default=None, init=False)
    _kept: OrderedDict[tuple[Any, ...], _Kept] = field(factory=OrderedDict, init=False)
    _looking: threading.Lock = field(factory=threading.Lock, init=False)
    _making: threading.Lock = field(factory=threading.Lock, init=False)

    # --- what changes every few seconds -----------------------------------------------------------
    def live(self) -> dict[str, Any]:
        """One listing of the timeline, and what runs."""
        table, timeline, mark = self._look()
        storage = table.handle.storage
        newest = timeline.instants[-1] if timeline.instants else None
        return {
            "mark": mark,
            "instants": len(timeline.instants),
            "newest": None
            if newest is None
            else {
                "requested": newest.requested,
                "action": newest.action,
                "state": newest.state.value.lower(),
            },
            "pending": services.pending(Snapshot(storage, timeline)),
            "pending_total": len(timeline.pending()),
            "locks": services.locks(storage),
            "health": [one.asked() for one in self.health],
        }

    # --- what a commit changes --------------------------------------------------------------------
    def table(self) -> dict[str, Any]:
        """What it is: names, properties, columns, indexes."""
        return self._made(("table",), self._table)

    def timeline(self, limit: int = 50, archived: bool = False) -> dict[str, Any]:
        """The newest instants, with ``began`` and ``ended`` in seconds since 1970."""
        limit = _within(limit, "limit")

        def make(table: Table, timeline: Timeline) -> dict[str, Any]:
            page = table.report("timeline", limit=limit, every=archived)
            zone = timeline.config.timezone
            rows = [
                {
                    **row,
                    "began": _seconds(row["requested"], zone),
                    "ended": _seconds(row["completed"], zone),
                }
                for row in plain.of_timeline(page.rows)
            ]
            return {"rows": rows, "total": page.total}

        return self._made(("timeline", limit, archived), make)

    def stats(self) -> dict[str, Any]:
        """As ``hoodoo stats --json``."""
        return self._made(
            ("stats",), lambda t, _: plain.of_stats(t.report("stats", footers=_MOST_FOOTERS))
        )

    def files(self) -> dict[str, Any]:
        """A histogram of base files and of the log files of a slice, and the smallest base
        files."""

        def make(table: Table, timeline: Timeline) -> dict[str, Any]:
            rows = table.report("files")
            bases = [row for row in rows if row.base_file]
            logs = [row.log_bytes for row in rows if row.log_files]
            smallest = sorted(bases, key=lambda row: row.base_bytes)[:_SMALLEST]
            bins = _histogram([row.base_bytes for row in bases], logs)
            return {"slices": len(rows), "bins": bins, "smallest": plain.of_files(smallest)}

        return self._made(("files",), make)

    def partitions(
        self, order: str = "partition", limit: int = 50, offset: int = 0, prefix: str = ""
    ) -> dict[str, Any]:
        """A page of the partitions: by path, or the greatest first."""
        if order not in _ORDERS:
            raise ConfigError(f"order {order!r}", "is none.", f"Give one of {', '.join(_ORDERS)}.")
        limit, offset = _within(limit, "limit"), max(0, offset)
        rows = self._made(
            ("partitions",), lambda t, _: {"rows": t.report("partitions", footers=_MOST_FOOTERS)}
        )
        found = [row for row in rows["rows"] if row.partition.startswith(prefix)]
        if order != "partition":
            found.sort(key=lambda row: getattr(row, order) or 0, reverse=True)
        shown = [{**asdict(row), "bytes": row.bytes} for row in found[offset : offset + limit]]
        largest = max((row.bytes for row in found), default=0)
        return {"mark": rows["mark"], "rows": shown, "total": len(found), "largest": largest}

    def layout(self, column: str, partition: str | None = None) -> dict[str, Any]:
        """The ranges of a column in each file."""

        def make(table: Table, timeline: Timeline) -> dict[str, Any]:
            config = table.handle.config
            if "column_stats" not in config.metadata_partitions:
                count = len(table.report("files", partition=partition))
                if count > _MOST_RANGES:
                    raise ConfigError(
                        f"table {config.name}",
                        f"there are no statistics of columns, and {count:,} file groups: too many "
                        "footers to read.",
                        "Name one partition, or give the table column statistics: "
                        "hoodoo rebuild-index PATH column_stats.",
                    )
            only = None if partition is None else [partition]
            return ranges.bars(table.report("layout", columns=[column], partitions=only))

        return self._made(("layout", column, partition), make)

    # --- what somebody opens ----------------------------------------------------------------------
    def commit(self, instant: str, action: str) -> dict[str, Any]:
        """The files of an instant."""
        table, timeline, _ = self._look()
        return commit_of(table, timeline, instant, action)

    def rows(self, limit: int = 20, where: str = "") -> dict[str, Any]:
        """Some rows."""
        return rows_shown(self._look()[0], limit, where)

    def sql(self, text: str) -> dict[str, Any]:
        """The rows of a query."""
        return query.answer(self.path, self.given, text)

    # --- how --------------------------------------------------------------------------------------
    def _table(self, table: Table, timeline: Timeline) -> dict[str, Any]:
        config = table.handle.config
        schema = table.handle.schema_at(timeline)
        columns = [
            {"name": f.name, "type": str(f.type), "ordered": not pa.types.is_nested(f.type)}
            for f in schema
        ]
        return {
            "name": config.name,
            "path": table.path,
            "table_type": config.table_type,
            "table_version": config.version,
            "record_key": list(config.record_key_fields),
            "partition_by": list(config.partition_fields),
            "ordering": list(config.ordering_fields),
            "columns": columns,
            "metadata_partitions": list(config.metadata_partitions),
            "layout_column": self._layout_column(table, timeline, columns),
            "properties": {
                key: "(hidden)" if SECRET.search(key) else value
                for key, value in sorted(config.properties.items())
            },
        }

    def _layout_column(
        self, table: Table, timeline: Timeline, columns: list[dict[str, Any]]
    ) -> str | None:
        """What the table is clustered by, as options or its newest clustering say; else ordering,
        key, any column."""
        config = table.handle.config
        wanted = [table.handle.options.get(_SORT_COLUMNS) or config.get(_SORT_COLUMNS) or ""]
        newest = next((i for i in reversed(timeline.writes()) if i.traits.replaces), None)
        # Its requested file has the name of the service, and in version 6 that of the write.
        for one in () if newest is None else (evolve(newest, action="clustering"), newest):
            try:
                plan = clustering_plan(Snapshot(table.handle.storage, timeline), one)
            except (HoodooError, FileNotFoundError):
                continue
            wanted.append("" if plan is None else plan.params.get(_SORT_COLUMNS) or "")
        names = [column["name"] for column in columns if column["ordered"]]
        each = [name.strip() for text in wanted for name in text.split(",")]
        each += [*config.ordering_fields, *config.record_key_fields, *names]
        return next((name for name in each if name in names), None)

    def _look(self) -> tuple[Table, Timeline, str]:
        """The table, its timeline now, and the mark of both. Raises NotATableError where it has
        gone."""
        with self._looking:
            if self._opened is None:
                found = hoodoo.open(self.path, dict(self.given))
                handle = found.handle
                safe: Any = ReadOnlyStorage(handle.storage)
                self._opened = Table(safe, handle.config, handle.options)
            table = self._opened
            table.handle.refresh()
            timeline = table.handle.load_timeline()
        text: list[Any] = [sorted(table.handle.config.properties.items())]
        text += [(i.requested, i.action, i.state.value, i.completed) for i in timeline.instants]
        return table, timeline, hashlib.sha256(repr(text).encode()).hexdigest()[:16]

    def _made(
        self, name: tuple[Any, ...], make: Callable[[Table, Timeline], dict[str, Any]]
    ) -> dict[str, Any]:
        """What ``make`` says of the table now, or has said of this state of it, or has said a
        moment ago."""
        table, timeline, mark = self._look()
        with self._making:  # one at a time: a second page asks for the same
            kept = self._kept.get(name)
            if kept is not None and (
                kept.mark == mark or self.clock() - kept.made < _PAUSE * kept.took
            ):
                self._kept.move_to_end(name)
                return {"mark": kept.mark, **kept.value}
            began = self.clock()
            try:
                value = make(table, timeline)
            except FileNotFoundError:  # a clean took away what was listed: look again
                table, timeline, mark = self._look()
                value = make(table, timeline)
            kept = _Kept(mark, value, self.clock(), 0.0)
            self._kept[name] = evolve(kept, took=kept.made - began)
            self._kept.move_to_end(name)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return {"mark": mark, **value}


def _within(number: int, name: str) -> int:
    if not 1 <= number <= _MOST_ROWS:
        raise ConfigError(
            f"{name} {number}", "is out of bounds.", f"Give a number from 1 to {_MOST_ROWS}."
        )
    return number


def _seconds(instant: str | None, zone: str) -> float | None:
    try:
        return None if instant is None else to_datetime(instant, zone).timestamp()
    except HoodooError:
        return None


def _histogram(bases: list[int], logs: list[int]) -> list[dict[str, int]]:
    """How many sizes lie from ``low`` to below ``high``: steps of 1, 2, 5, 10, ... as far as there
    are any."""
    found: dict[int, list[int]] = {}
    for at, sizes in enumerate((bases, logs)):
        for size in sizes:
            found.setdefault(_step(size), [0, 0])[at] += 1
    if not found:
        return []
    return [
        {"low": _edge(n), "high": _edge(n + 1), "base": counts[0], "logs": counts[1]}
        for n in range(min(found), max(found) + 1)
        for counts in (found.get(n, [0, 0]),)
    ]


def _edge(step: int) -> int:
    return int((1, 2, 5)[step % 3] * 10 ** (step // 3))


def _step(size: int) -> int:
    """The number of the step that ``size`` bytes are in; those below 1,000 are in the first."""
    step = 3 * floor(log10(max(1000, size)))
    while _edge(step + 1) <= size:
        step += 1
    return step

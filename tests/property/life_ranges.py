"""What incremental and change reads must say of a random stretch of a table's life."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
from attrs import define
from hoodoo.errors import ConfigError
from life_points import Point, Points
from table_checks import compare, one_ordering_column
from table_model import Model, Setup, Values


@define
class Ranges:
    """``is_there``: whether nothing is gone that the table had at a point; ``is_active``: whether it is on
    the active timeline."""

    table: hoodoo.Table
    path: Path
    setup: Setup
    points: Points
    is_there: Callable[[Point], bool]
    is_active: Callable[[Point], bool]
    where: str
    told: str = ""

    def check(self, draw: random.Random, hudi: bool) -> None:
        """One range, from one known point (or the beginning) to another one (or now)."""
        last = len(self.points.all)
        ends = sorted([draw.randint(0, last), draw.randint(0, last)])
        opened = draw.random() < 0.3
        self._range(ends[0], last if opened else ends[1], opened, draw.random() < 0.5, hudi)

    def check_all(self, hudi: bool) -> None:
        last = len(self.points.all)
        for end in range(last + 1):
            for begin in range(end + 1):
                for opened in {False, end == last}:
                    self._range(begin, end, opened, opened, hudi)

    def _range(self, first: int, last: int, opened: bool, named: bool, hudi: bool) -> None:
        """``named``: the point where it begins is given by its instant."""
        found = [self.points.first, *self.points.by_place()]
        if last == 0:
            return
        between = found[first : last + 1]
        self.told = f"{self.where}: from {first} to {last} of {len(found) - 1}, open: {opened}"
        since = between[0].instant if named else between[0].place
        since = "earliest" if first == 0 else since
        until = None if opened else between[-1].place
        self._incremental(since, until, between, last == len(found) - 1, hudi)
        self._changes(since, until, between)

    # --- rows that were written -------------------------------------------------------------------
    def _incremental(
        self, since: str, until: str | None, between: list[Point], newest: bool, hudi: bool
    ) -> None:
        end = between[-1]
        model = self.points.at_place(end)
        must = newest or (self._is_there(end) and (model is end.seen))
        try:
            found = self.table.incremental(since, until, meta=True).to_arrow()
        except ConfigError as error:
            self._refused(error, must, "incremental")
            return
        written = {p.instant for p in between[1:] if p.changes}
        rows = {place: row for place, row in model.rows.items() if row.instant in written}
        schema = self._schema(between)
        expected = Model(self.setup, rows)
        compare(found, schema, expected, f"{self.told}: incremental")
        # It does not look into the archive.
        known = all(p is self.points.first or self.is_active(p) for p in between)
        # Of tables with virtual keys it gives all rows of the file groups that were written.
        if hudi and must and known and not self.setup.virtual:
            self._theirs(between[0].place, end.place, schema, expected)

    def _is_there(self, point: Point) -> bool:
        """Cleans go by requests: they may take files that a service replaced which had been requested before
        ``point``, though it completed only after it, and a range that ends there needs these files."""
        overtaken = any(
            p.place > point.place and p.instant < point.instant and (p.replaces or not p.changes)
            for p in self.points.all
        )
        return not overtaken and self.is_there(point)

    def _theirs(self, since: str, until: str, schema: pa.Schema, expected: Model) -> None:
        read = hudi.HudiReadOptions().with_query_type(hudi.HudiQueryType.Incremental)
        read = read.with_start_timestamp(since).with_end_timestamp(until)
        try:
            with one_ordering_column(self.path):
                batches = hudi.HudiTableBuilder.from_base_uri(str(self.path)).build().read(read)
        except Exception as error:
            if not (self.setup.merge_on_read and "partial-update column" in str(error)):
                raise
            return  # as of a snapshot: log rows from before a change of the schema
        theirs = pa.Table.from_batches(batches) if batches else None
        if theirs is not None and self.setup.merge_on_read and self.setup.event_time:
            theirs = theirs.filter(_among(theirs, expected))  # it gives rows of logs that lost, too
        compare(theirs, schema, expected, f"{self.told}: `hudi`, incremental", exact=False)

    def _schema(self, between: list[Point]) -> pa.Schema:
        """The table's at the end: of what had completed then, the write with the last request."""
        if self.setup.version == 6:
            return between[-1].schema
        known = [p for p in self.points.all if p.place <= between[-1].place]
        return max(known, key=lambda p: p.instant).schema

    # --- changes ----------------------------------------------------------------------------------
    def _changes(self, since: str, until: str | None, between: list[Point]) -> None:
        """Each change fits the rows before it, and all of them lead to the rows at the end."""
        must = all(
            p is self.points.first or (self._is_there(p) and self.points.at_place(p) is p.seen)
            for p in between
        )
        try:
            found = self.table.changes(since, until).to_arrow().to_pylist()
        except ConfigError as error:
            self._refused(error, must, "changes")
            return
        if any(p.shifts for p in between[1:]) and self.setup.version > 6:
            return  # a compaction, which is no change, merged in another order
        schema = self._schema(between)
        state = self._images(self.points.at_place(between[0]), schema)
        order = {p.instant: n for n, p in enumerate(between)}
        last = 0
        for change in found:
            op, before, after = change["op"], change["before"], change["after"]
            told = f"{self.told}: {change}"
            assert last <= order[change["instant"]], told
            last = order[change["instant"]]
            assert (op == "insert") == (before is None), told
            assert (op == "delete") == (after is None), told
            if before is not None:
                key = self._key(before)
                assert key in state and _text(state.pop(key)) == _text(before), told
            if after is not None:
                key = self._key(after)
                assert key not in state, told
                state[key] = after
        wanted = self._images(self.points.at_place(between[-1]), schema)
        assert {k: _text(v) for k, v in state.items()} == {
            k: _text(v) for k, v in wanted.items()
        }, f"{self.told}: changes"

    def _images(self, model: Model, schema: pa.Schema) -> dict[Any, Values]:
        """Its rows as a reader gives them."""
        keys = [r.key if self.setup.is_global else (r.path, r.key) for r in model.rows.values()]
        rows = [{n: r.values.get(n) for n in schema.names} for r in model.rows.values()]
        return dict(zip(keys, pa.Table.from_pylist(rows, schema).to_pylist(), strict=True))

    def _key(self, values: Values) -> Any:
        key = self.setup.record_key(values)
        return key if self.setup.is_global else (self.setup.partition_path(values), key)

    def _refused(self, error: ConfigError, must: bool, what: str) -> None:
        assert not must, f"{self.told}: {what}: {error}"
        assert "clean" in str(error) or "archived" in str(error), f"{self.told}: {error}"


def _text(values: Values) -> str:
    return repr(sorted(values.items()))


def _among(found: pa.Table, expected: Model) -> pa.Array:
    keys = [found["_hoodie_partition_path"].to_pylist(), found["_hoodie_record_key"].to_pylist()]
    return pa.array([place in expected.rows for place in zip(*keys, strict=True)], pa.bool_())

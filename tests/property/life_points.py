"""What a table was: a point for each completed write, and which of them must still be there."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from attrs import define
from table_model import Model
from table_model_mor import LogModel

Seqnos = dict[tuple[str, str], tuple[str, str]]
FIRST = "0" * 17


@define
class Point:
    """A completed write. ``raw``: the table when it completed. ``seen``: the table up to its request,
    as of now; differs from ``raw`` once a compaction has run that was pending then, which may merge in
    another order. ``place``: what orders it in incremental reads. ``changes``: it is no compaction.

    ``wanted``: no clean has come to it. ``shifts``: a compaction that gave other rows than before.
    ``then``: the table when it was requested, if others have written until it completed.
    """

    instant: str
    place: str
    schema: pa.Schema
    raw: Model
    seen: Model
    seqnos: Seqnos
    changes: bool = True
    replaces: bool = False
    shifts: bool = False
    wanted: bool = True
    then: Model | None = None

    def planned(self) -> None:
        """A compaction has been planned, and this is what is there if all that comes now is undone."""
        if self.seen is self.raw or self.seen is self.then:
            for model in (self.raw, self.then):
                if isinstance(model, LogModel):
                    model.schedule()


@define
class Points:
    """``all``: in the order of completion. ``first``: the table before there was a write."""

    version: int
    first: Point
    all: list[Point]

    def by_request(self) -> list[Point]:
        return sorted(self.all, key=lambda p: p.instant)

    def by_place(self) -> list[Point]:
        """As incremental reads order them: in version 6 by request."""
        return sorted(self.all, key=lambda p: (p.place, p.instant))

    def newest(self) -> Point:
        return max(self.all, key=lambda p: p.instant, default=self.first)

    def at_place(self, point: Point) -> Model:
        """The rows that an incremental read up to ``point`` is about."""
        return point.seen if self.version == 6 else point.raw

    def find(self, instant: str) -> Point | None:
        return next((p for p in self.all if p.instant == instant), None)

    def back_to(self, instant: str) -> None:
        """Everything requested after ``instant`` is undone. A service that completed behind some of it, although it
        was planned before, is now behind nothing but what is left: the rows at its place are those of now."""
        gone = [p.place for p in self.all if p.instant > instant]
        self.all = [p for p in self.all if p.instant <= instant]
        newest, before = self.newest(), self.first
        for point in self.by_place():
            if any(place < point.place for place in gone):
                point.raw = newest.seen if point is newest else newest.seen.copy()
                point.shifts = before.raw.rows != point.raw.rows
            before = point

    def compacted(self, instant: str) -> None:
        """The compaction requested at ``instant`` has run: what was written since is seen through it."""
        for point in self.all:
            then = point.then or point.raw
            if point.instant > instant and isinstance(then, LogModel):
                seen = then.copy()
                seen.compact()
                point.seen = seen

    def not_compacted(self, instant: str) -> None:
        for point in self.all:
            if point.instant > instant:
                point.seen = point.then or point.raw

    # --- cleaning ---------------------------------------------------------------------------------
    def kept_by_writes(self, retained: int) -> None:
        """What the last ``retained`` writes made stays, and what was the newest before them."""
        self._keep(self.by_request()[-retained - 1 :])

    def kept_by_versions(self, retained: int) -> None:
        """As many versions of each file group stay, and a group that was replaced goes at once."""
        last = self.by_request()[-retained:]
        while any(p.replaces for p in last[1:]):
            last = last[1:]
        self._keep(last)

    def _keep(self, kept: Sequence[Point]) -> None:
        names = {p.instant for p in kept}
        for point in self.all:
            point.wanted = point.wanted and point.instant in names

"""Checks: what a read gives for a predicate is what plain Python leaves of the whole read.

Of each predicate p three reads partition the rows (ternary logic partitioning): where p is true, where it is
false and where it is null. Each has to give just the rows for which plain Python says so, and pyarrow's own
filter on the whole read has to leave them, too (as NoREC compares what was optimized with what was not).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import hoodoo
import predicates as ast
import pyarrow as pa
import pyarrow.dataset as ds
from attrs import define, field, frozen
from draw_predicates import Columns
from hoodoo.errors import ConfigError
from predicates import Predicate, Row, Truth, Unknown
from render_arrow import arrow

TRUTHS: tuple[Truth, ...] = (True, False, None)


class Source(Protocol):
    """A table to be read. ``identity``: a column that tells rows apart; ``often``: columns that predicates
    should be about; ``story``: how to come by the table, for a report."""

    path: str
    seed: Any
    setup: Any
    story: list[str]
    writes: list[str]

    @property
    def identity(self) -> str: ...

    @property
    def often(self) -> tuple[str, ...]: ...

    @property
    def is_merged(self) -> bool: ...


@define
class Tally:
    """What was checked in this run, by kind of read and by kind of predicate. A check is one filtered read,
    or another engine's answers for all rows, compared with what plain Python says."""

    checks: int = 0
    reads: Counter[str] = field(factory=Counter)
    predicates: Counter[str] = field(factory=Counter)

    def add(self, read: str, p: Predicate, checks: int = 1) -> None:
        self.checks += checks
        self.reads[read] += checks
        for kind in ast.kinds(p):
            self.predicates[kind] += checks


TALLY = Tally()


@frozen(eq=False)
class Read:
    """One kind of read of one table. ``plan(columns, where)`` gives the scan; ``whole`` is all of it."""

    kind: str
    text: str
    table: Source
    plan: Callable[[Sequence[str] | None, Any], Any]
    whole: pa.Table
    rows: tuple[Row, ...]
    columns: Columns
    of_changes: bool = False
    known: dict[Any, list[Row]] = field(factory=dict)  # of a key that is there twice, equal rows

    @classmethod
    def of(
        cls,
        kind: str,
        text: str,
        table: Source,
        plan: Callable[..., Any],
        changes: bool = False,
    ) -> Read:
        whole = plan(None, None).to_arrow()
        rows = tuple(whole.to_pylist())
        schema, images = whole.schema, rows
        if changes:
            schema = pa.schema(list(whole.schema.field("after").type))
            images = tuple(r[side] for r in rows for side in ("before", "after") if r[side])
        columns = Columns.of(schema, images, table.often)
        found = cls(kind, text, table, plan, whole, rows, columns, changes)
        for row in rows:
            found.known.setdefault(found.identity(row), []).append(row)
        return found

    @property
    def id(self) -> str:
        return self.table.identity

    def identity(self, row: Row) -> Any:
        if not self.of_changes:
            return row[self.id]
        images = [row[side] and row[side][self.id] for side in ("before", "after")]
        return (row["op"], row["instant"], *images)

    def truth(self, p: Predicate, row: Row) -> Truth:
        """Of a change: true where one of its images matches; no more is asked of it."""
        if not self.of_changes:
            return p.truth(row)
        return any(row[s] is not None and p.truth(row[s]) is True for s in ("before", "after"))

    def expected(self, p: Predicate) -> Counter[Any]:
        return Counter(self.identity(r) for r in self.rows if self.truth(p, r) is True)


def reads(table: Source, rng: random.Random, most: int) -> list[Read]:
    """The newest state, and others of the table, ``most`` in all. Raises what a read of all rows raises."""
    t = hoodoo.open(table.path)
    found = [Read.of("snapshot", "read({})", table, lambda c, w: t.read(c, w, meta=c is None))]
    points = list(table.writes)
    kinds = ["as_of"] * 3 + ["incremental"] * 3
    # Images have no meta columns, which the identity may be one of.
    kinds += ["changes"] * 2 if not table.identity.startswith("_hoodie_") else []
    kinds += ["read_optimized"] * 2 if table.is_merged else []
    for _ in range(most - 1):
        try:
            found.append(_other(table, t, rng, rng.choice(kinds), points))
        except ConfigError as error:
            if "clean" not in str(error):  # files of that point are gone, and the read says so
                raise
    return found


def _other(
    table: Source, t: hoodoo.Table, rng: random.Random, kind: str, points: list[str]
) -> Read:
    at = rng.choice(points)
    if kind == "as_of":
        return Read.of(
            kind,
            f"read({{}}, as_of={at!r})",
            table,
            lambda c, w: t.read(c, w, as_of=at, meta=c is None),
        )
    if kind == "read_optimized":
        return Read.of(
            kind,
            f"read({{}}, mode={kind!r})",
            table,
            lambda c, w: t.read(c, w, mode=kind, meta=c is None),
        )
    since = rng.choice(["earliest", *points])
    last = [p for p in points if since == "earliest" or p > since]
    until = rng.choice([None, *last])
    text = f"{kind}({since!r}, {until!r}, {{}})"
    if kind == "incremental":
        return Read.of(kind, text, table, lambda c, w: t.incremental(since, until, c, w, c is None))
    return Read.of(kind, text, table, lambda c, w: t.changes(since, until, c, w), changes=True)


def three(p: Predicate) -> list[tuple[Truth, Predicate]]:
    """``p``, and what says where it is false and where it is null."""
    return [(True, p), (False, ast.Not(p)), (None, Unknown(p))]


def check_local(read: Read, p: Predicate, rng: random.Random) -> None:
    """Three reads by the local engine, and pyarrow's filter on the whole one."""
    failed = difference(read, p, rng)
    if failed is not None:
        _fail(read, p, rng, failed, difference)
    TALLY.add(read.kind, p, 3)


def difference(read: Read, p: Predicate, rng: random.Random) -> str | None:
    for _truth, q in three(p):
        expected = read.expected(q)
        where = arrow(q)
        if not read.of_changes:
            filtered = Counter(
                ds.dataset(read.whole).to_table([read.id], where)[read.id].to_pylist()
            )
            assert filtered == expected, f"plain Python and pyarrow disagree about {where}"
        columns = _projection(read, rng)
        found = read.plan(columns, where).to_arrow()
        told = _compare(read, expected, found.to_pylist(), f"columns={columns}, where={where}")
        if told:
            return told
        counted = read.plan([read.id], where).count() if rng.random() < 0.2 else None
        if counted is not None and counted != sum(expected.values()):
            return f"count() of where={where} is {counted}, not {sum(expected.values())}"
    return None


def _projection(read: Read, rng: random.Random) -> list[str] | None:
    """None, or some columns, whatever the predicate is about."""
    if rng.random() < 0.1:
        return None
    schema = read.whole.schema
    names = [f.name for f in schema.field("after").type] if read.of_changes else schema.names
    chosen = {read.id, *rng.sample(names, rng.randint(0, 3))}
    return sorted(chosen, key=lambda n: rng.random())


def _compare(read: Read, expected: Counter[Any], found: list[Row], text: str) -> str | None:
    """What differs: which rows there are, and their values."""
    there = Counter(read.identity(row) for row in found)
    if there != expected:
        return (
            f"{text}\n  missing: {sorted((expected - there).elements(), key=repr)}"
            f"\n  too many: {sorted((there - expected).elements(), key=repr)}"
        )
    for row in found:
        known = read.known[read.identity(row)]
        if not any(_is_part(row, whole) for whole in known):
            return f"{text}\n  gives {row}\n  of     {known}"
    return None


def _is_part(row: Any, whole: Any) -> bool:
    """Whether each value of ``row`` is that of ``whole``; of changes, each value of their images."""
    for name, value in row.items():
        if name in ("before", "after") and value is not None:
            if not _is_part(value, whole[name]):
                return False
        elif value is not whole[name] and repr(value) != repr(whole[name]):
            return False
    return True


def _fail(
    read: Read,
    p: Predicate,
    rng: random.Random,
    told: str,
    differ: Callable[[Read, Predicate, random.Random], str | None],
) -> None:
    """The smallest part of ``p`` that fails, too, and how to come by the table."""
    smaller: Predicate | None = p
    while smaller is not None:
        p, smaller = smaller, None
        for part in ast.parts(p):
            differs = differ(read, part, rng)
            if differs is not None:
                smaller, told = part, differs
                break
    raise AssertionError(report(read, p, told))


def report(read: Read, p: Predicate, told: str) -> str:
    story = "\n".join(f"  {line}" for line in read.table.story)
    return f"seed {read.table.seed}, {read.text}, {p}\n{told}\ntable {read.table.setup}\n{story}"

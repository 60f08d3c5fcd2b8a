"""Sized files: rows are cut into files of a given size on disk, whatever they are compressed to.

What is put into a file can be measured; what waits can only be bounded: by its size in memory. So
the parts (row groups) that a file is made of are never larger, in memory, than what may still come
to it, and become smaller as it fills up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

import pyarrow as pa
from attrs import define, frozen

# Relative to the target. Files may be 10 % larger.
_MOST, _FULL = 1.09, 0.01
_PLANNED = 1.07  # rows come into as many files as were planned if each has at most this on average
_SPREAD = 1.03  # rows come into so few files that each has at most this
_ALL = 1.05  # what is expected to be left goes into one file up to here
# A file takes the rest where that would be a small file; up to this size, as estimates may be
# wrong.
_REST, _LARGEST = 0.25, 1.3
_FIRST = 0.5  # of the first part, when nothing is known of how rows are compressed
_PART = 0.01  # a part is not smaller
_SMALLEST = 0.25  # what a file comes to at least, for the sake of the number that was planned
# In the footer, for each row: the bloom filter's share.
_FOOTER = 8

Done = TypeVar("Done", covariant=True)


class Output(Protocol[Done]):
    """A file under construction."""

    def write(self, rows: pa.Table) -> None: ...

    def flush(self) -> int:
        """End a part of the file; its bytes if it ended here."""

    def close(self) -> Done: ...

    def size(self) -> int:
        """Bytes of the closed file."""


@frozen
class Sizes:
    """Bytes. ``target``: of a file; ``part``: the most that a part of it has in memory. ``rows``:
    how many come in all, None where nobody knows. ``files``: how many are planned; rows that take
    less room than was thought come into smaller files, so that one file less, or one more, comes
    out."""

    target: int
    part: int = 128 << 20
    rows: int | None = None
    files: int | None = None


@define
class _Rates:
    """Bytes on disk for each row: of all files so far, and of the last part."""

    size: int = 0
    rows: int = 0
    last: float = 0.0

    @property
    def all(self) -> float:
        return self.size / self.rows if self.rows else self.last


def sized(
    blocks: Iterable[pa.Table], sizes: Sizes, begin: Callable[[int, int | None], Output[Done]]
) -> Iterator[Done]:
    """Yield ``blocks`` in files of at most about ``sizes.target`` bytes, all of about the same
    size, so that no small file remains. Where the number of rows is not known, files have the
    target's size, and the last one has the rest. ``begin`` gets the number of a file, and about how
    many rows it will have. No rows: no file."""
    rates, files, seen = _Rates(), 0, 0
    cutter: _Cutter[Done] | None = None
    for block in blocks:
        rest = block
        while rest.num_rows:
            if cutter is None:
                expected = int(sizes.target / rates.all) if rates.all else None
                cutter = _Cutter(sizes, rates, begin(files, expected), seen, files)
                files += 1
            taken = cutter.take(rest)
            seen += taken
            rest = rest.slice(taken)
            if cutter.full:
                yield cutter.close()
                cutter = None
    if cutter is not None:
        yield cutter.close()


@define
class _Cutter(Generic[Done]):
    """One file. ``seen``: rows up to here, of all files; ``before``: files before it."""

    sizes: Sizes
    rates: _Rates
    output: Output[Done]
    seen: int
    before: int = 0
    rows: int = 0
    written: int = 0
    waiting_rows: int = 0
    waiting: float = 0.0
    full: bool = False
    last: bool = False

    def take(self, rows: pa.Table) -> int:
        """Write the first of ``rows``; how many."""
        each = rows.nbytes / rows.num_rows + _FOOTER
        room = self._room() - self.waiting
        count = max(1, min(rows.num_rows, int(room / each), self._wanted() - self.waiting_rows))
        self.output.write(rows.slice(0, count))
        self.rows += count
        self.seen += count
        self.waiting_rows += count
        self.waiting += count * each
        if self.waiting + each > self._room() or self.waiting_rows >= self._wanted():
            self._flush()
        return count

    def close(self) -> Done:
        done = self.output.close()
        self.rates.size += self.output.size()
        self.rates.rows += self.rows
        return done

    def _flush(self) -> None:
        before, self.written = self.written, self.output.flush()
        self.rates.last = (self.written - before) / self.waiting_rows
        self.waiting, self.waiting_rows = 0.0, 0
        goal = self._goal()
        self.last = goal is None
        if goal is None:
            goal = _LARGEST * self.sizes.target
        self.full = goal - self.written < _FULL * self.sizes.target

    def _room(self) -> float:
        """Bytes in memory of the part that waits, at most: as many as the file has room for if
        nothing is saved by compressing them."""
        target = self.sizes.target
        if self.last:
            return float(self.sizes.part)
        most = (_MOST if self.rates.last else _FIRST) * target - self.written
        return min(float(self.sizes.part), max(most, _PART * target))

    def _wanted(self) -> int:
        """Rows of the part that waits, at most, if they are compressed as the last ones were."""
        goal = self._goal()
        if not self.rates.last or goal is None:
            return 1 << 62
        return max(1, int((goal - self.written) / self.rates.last))

    def _goal(self) -> float | None:
        """What this file is to come to; None: all that is left fits."""
        target, planned = self.sizes.target, (self.sizes.files or 0) - self.before
        if self.sizes.rows is None or not self.rates.last:
            return float(target)
        total = self._beside_plan(self._total(self.sizes.rows), self.sizes.rows)
        if self.last or (
            planned <= 1 and total <= _ALL * target
        ):  # once decided, an estimate doesn't change it
            return None
        files = int(total // target)
        if planned > 1 and total <= _PLANNED * planned * target:
            files = planned
        elif total > _SPREAD * files * target:
            files += 1
        goal = max(_SMALLEST * target, total / files)
        small = total - max(goal, self.written) < _REST * goal
        return None if small and total <= _LARGEST * target else goal

    def _total(self, rows: int) -> float:
        """What this file and all after it are expected to come to."""
        left = max(0, rows - self.seen + self.waiting_rows)
        return self.written + left * self._rate()

    def _beside_plan(self, total: float, rows: int) -> float:
        """``total``, as the rows so far let expect it, beside what was planned. Rows that are
        sorted may take little room at first and much later: the fewer of them were written, the
        more the plan counts."""
        if not self.sizes.files or self.sizes.files < 2:
            return total
        share = (rows - self.seen + self.rows) / rows
        planned = (self.sizes.files - 0.5) * self.sizes.target * share
        if planned <= total:
            return total
        known = 0.25 + 0.75 * min(1.0, self.seen / rows)
        return known * total + (1 - known) * planned

    def _rate(self) -> float:
        """Of the rows to come: files so far and this one, as far as it is written."""
        rows = self.rates.rows + self.rows - self.waiting_rows
        return (self.rates.size + self.written) / rows if rows else self.rates.last

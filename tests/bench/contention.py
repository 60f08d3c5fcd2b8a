"""2, 8 and 32 processes upsert into one table: how many attempts a write takes, and how long it takes.

Optimistic writers of the same rows, all of which try again at once, succeed with 1 of N attempts. Each
write is numbered by its writer, in rows that nobody else writes: what was acknowledged and is not there
at the end is seen.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from tests.bench.contenders import CONTENDERS, SCHEMA, Contender, Refused, Tally
from tests.bench.measure import Figure, Report

# Writers -> writes of each.
WRITERS = {2: 20, 8: 10, 32: 5}
SAME, OWN, PARTED = "the same rows", "own rows, one file group", "own partitions"
CASES = (SAME, OWN, PARTED)
ROWS = 4
# Seconds after which a writer begins no other write, and a caller tries no more.
LIMIT = 90.0
_WAIT = 600.0
_barrier: Any = None


@frozen
class Told:
    """What one process says: of each acknowledged write the seconds, and when it began and ended."""

    writer: int
    seconds: tuple[float, ...]
    began: float
    ended: float
    tally: Tally


def rows_of_writer(case: str, writer: int, n: int) -> pa.Table:
    """The ``n``-th write of a writer; with n = 0 what is there before. The last row is its own."""
    own = [f"own {writer:02} {i}" for i in range(1 if case == SAME else ROWS)]
    ids = [*(f"shared {i}" for i in range(ROWS if case == SAME else 0)), *own]
    part = f"p{writer:02}" if case == PARTED else "all"
    size = len(ids)
    return pa.table([ids, [part] * size, [writer] * size, [n] * size], schema=SCHEMA)


def _begin(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _work(
    contender: Contender, path: str, warm: str, case: str, writer: int, writes: int, limit: float
) -> Told:
    """In a process of its own: a write into another table, so that all is imported; then all together."""
    if not os.path.exists(warm):
        contender.create(warm, rows_of_writer(case, writer, 0), False)
        contender.writer(warm)(rows_of_writer(case, writer, 1), Tally(), time.monotonic() + _WAIT)
    write = contender.writer(path)
    tally, seconds = Tally(), []
    _barrier.wait(_WAIT)
    began = time.monotonic()
    for n in range(1, writes + 1):
        begun = time.monotonic()
        if begun > began + limit:
            break
        try:
            write(rows_of_writer(case, writer, n), tally, began + limit)
        except Refused:
            break
        seconds.append(round(time.monotonic() - begun, 4))
    return Told(writer, tuple(seconds), began, time.monotonic(), tally)


def _check(found: pa.Table, case: str, told: list[Told]) -> tuple[int, int, int]:
    """Acknowledged writes that are not there, keys that are there twice, and shared rows that are not
    all of one write."""
    twice = found.num_rows - len(pc.unique(found.column("id")))
    lost = 0
    for each in told:
        own = found.filter(pc.starts_with(found.column("id"), f"own {each.writer:02} "))
        newest = own.column("n").to_pylist() or [0]
        lost += max(0, len(each.seconds) - min(newest))
    shared = found.filter(pc.starts_with(found.column("id"), "shared "))
    mixed = len(set(zip(*(shared.column(c).to_pylist() for c in ("writer", "n")), strict=True)))
    return lost, twice, max(0, mixed - 1)


def _contend(
    report: Report, pool: ProcessPoolExecutor, contender: Contender, folder: str, case: str,
    writers: int, writes: int, limit: float,
) -> None:  # fmt: skip
    name = f"{contender.name}, {case}, {writers} writers"
    path = f"{folder}/{name.replace(' ', '-').replace(',', '')}"
    first = pa.concat_tables([rows_of_writer(case, w, 0) for w in range(writers)])
    keys = first.column("id").to_pylist()
    contender.create(path, first.take([keys.index(k) for k in dict.fromkeys(keys)]), case == PARTED)
    jobs = [
        pool.submit(_work, contender, path, f"{path}-warm-{w}", case, w, writes, limit)
        for w in range(writers)
    ]
    told = [job.result(_WAIT) for job in jobs]
    seconds = [s for each in told for s in each.seconds]
    attempts = sum(each.tally.attempts for each in told)
    lost, twice, mixed = _check(contender.read(path), case, told)
    whole = max(t.ended for t in told) - min(t.began for t in told)
    figure = Figure(name, seconds, {})
    figure.notes = {
        "commits": len(seconds),
        "wanted": writers * writes,
        "commits_per_second": round(len(seconds) / whole, 2),
        "attempts": attempts,
        "calls": sum(each.tally.calls for each in told),
        "success_per_attempt": round(len(seconds) / max(1, attempts), 3),
        "one_of_n": round(1 / writers, 3),
        "p50": round(statistics.median(seconds), 3) if seconds else 0.0,
        "p95": round(_quantile(seconds, 0.95), 3),
        "lost": lost,
        "twice": twice,
        "mixed": mixed,
    }
    report.figures[name] = figure
    print(_line(figure), flush=True)
    if contender.name.startswith("hoodoo"):
        assert (lost, twice, mixed) == (0, 0, 0), figure.notes
        assert len(seconds) == writers * writes, figure.notes


def _quantile(seconds: list[float], share: float) -> float:
    ordered = sorted(seconds) or [0.0]
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _line(figure: Figure) -> str:
    n = figure.notes
    text = (
        f"{figure.name:<58} {n['commits']:4g} of {n['wanted']:4g} commits "
        f"{n['commits_per_second']:7.2f}/s  success per attempt {n['success_per_attempt']:5.2f} "
        f"(1/N {n['one_of_n']:.2f})  p50 {n['p50']:.2f} s  p95 {n['p95']:.2f} s"
    )
    wrong = [f"{int(n[what])} {what}" for what in ("lost", "twice", "mixed") if n[what]]
    return text + (f"  WRONG: {', '.join(wrong)}" if wrong else "")


def run(report: Report, folder: str, scale: float) -> None:
    """``scale`` below 1: fewer writes of each writer."""
    context = multiprocessing.get_context("spawn")
    for writers, most in WRITERS.items():
        writes = max(2, int(most * min(scale, 1)))
        for contender in CONTENDERS:
            barrier = context.Barrier(writers)
            # The barrier lets none go before each process has one job.
            with ProcessPoolExecutor(
                writers, mp_context=context, initializer=_begin, initargs=(barrier,)
            ) as pool:
                for case in CASES:
                    _contend(report, pool, contender, folder, case, writers, writes, LIMIT)

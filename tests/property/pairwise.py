"""Runs pairwise histories, and says how often each cell of docs/combinations.md was drawn.

    python tests/property/pairwise.py 5000 --seed 1 --processes 2

Ends with an error where a history differs from the dictionary: its seed and configuration are printed.
``--replay SEED-NUMBER`` runs one of them again; ``--count LOG...`` adds up the logs of several runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import pair_space as space
from pair_cover import Cover, cells
from pair_history import history, try_refused

_MEMORY = "/dev/shm"
# Every so many histories a table is tried that has to be refused.
_REFUSED = 25


def configurations(seed: str, engine: str = "local") -> Iterator[dict[str, str]]:
    """Without end; the same for the same seed."""
    factors = {**space.FACTORS, "engine": (engine,)}
    cover = Cover(factors, space.broken, random.Random(seed))
    while True:
        yield cover.next()


def run(seed: str, number: int, config: dict[str, str], drawn: Counter[str], steps: int = 6) -> str:
    """One history; what is wrong with it, or nothing. ``drawn`` counts the cells that were compared."""
    below = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-pairs-", dir=below))
    taken: Counter[str] = Counter()

    def cell(kind: str, now: dict[str, str]) -> None:
        taken.update({f"{kind} | {name} = {value}" for name, value in now.items()})

    try:
        if number % _REFUSED == 0:
            _refused(f"{seed}-{number}", folder / "refused", drawn)
        history(config, folder, f"{seed}-{number}", steps, cell=cell)
    except AssertionError as error:
        return str(error)
    finally:
        shutil.rmtree(folder)
    drawn.update(" | ".join(f"{name} = {value}" for name, value in pair) for pair in cells(config))
    drawn.update(taken.keys())
    return ""


def _refused(seed: str, folder: Path, drawn: Counter[str]) -> None:
    draw = random.Random(seed)
    rule = draw.choice(space.REFUSALS)
    config = {name: values[0] for name, values in space.FACTORS.items()}
    config |= {name: draw.choice(values) for name, values in rule.where.items()}
    folder.mkdir()
    try_refused(config, folder)
    drawn[f"refused: {rule.says}"] += 1


def _part(job: tuple[str, int]) -> tuple[int, int, Counter[str]]:
    seed, histories = job
    drawn: Counter[str] = Counter()
    wrong = 0
    start, processor = time.time(), time.process_time()
    for number, config in enumerate(islice(configurations(seed), histories)):
        said = run(seed, number, config, drawn)
        if said:
            wrong += 1
            print(f"DIFFERENCE in {seed}-{number}: {said}\n", flush=True)
        if number % 50 == 49:
            minutes, used = (time.time() - start) / 60, time.process_time() - processor
            print(
                f"{seed}: {number + 1} histories, {wrong} with differences; {minutes:.1f} minutes, "
                f"{used / (number + 1):.2f} s of the processor each",
                flush=True,
            )
    return histories, wrong, drawn


def summary(histories: int, wrong: int, drawn: Counter[str]) -> str:
    pairs = {c: n for c, n in drawn.items() if c.count(" = ") == 2}
    steps = {c: n for c, n in drawn.items() if c.count(" = ") == 1}
    seldom = sorted((n, c) for c, n in {**pairs, **steps}.items() if n < 3)
    lines = [f"{histories} histories, {wrong} with differences."]
    for name, found in (("pairs of values", pairs), ("steps and values", steps)):
        least = min(found.values(), default=0)
        lines.append(f"{len(found)} cells of {name}, each drawn at least {least} times.")
    refused = [f"{n} x {c}" for c, n in sorted(drawn.items()) if c.startswith("refused")]
    lines += [f"fewer than three: {n} x {c}" for n, c in seldom] + refused
    return "\n".join(lines)


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("histories", nargs="?", type=int, default=5000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cells", type=Path, help="a file for the count of each cell")
    parser.add_argument("--replay", help="SEED-NUMBER of one history")
    parser.add_argument("--count", nargs="*", type=Path, help="files of --cells, added up")
    wanted = parser.parse_args(given)
    if wanted.replay:
        seed, _, number = wanted.replay.rpartition("-")
        config = next(islice(configurations(seed), int(number), None))
        said = run(seed, int(number), config, Counter())
        print(said or "no difference")
        return 1 if said else 0
    if wanted.count:
        told = [json.loads(path.read_text()) for path in wanted.count]
        drawn = sum((Counter(t["cells"]) for t in told), Counter())
        histories, wrong = (sum(t[name] for t in told) for name in ("histories", "wrong"))
        print(summary(histories, wrong, drawn))
        return 1 if wrong else 0
    each = -(-wanted.histories // wanted.processes)
    jobs = [(f"{wanted.seed}.{n}", each) for n in range(wanted.processes)]
    histories, wrong, drawn = 0, 0, Counter[str]()
    with get_context("spawn").Pool(wanted.processes) as pool:
        for done, failed, counted in pool.imap_unordered(_part, jobs):
            histories, wrong, drawn = histories + done, wrong + failed, drawn + counted
    if wanted.cells:
        content = {"histories": histories, "wrong": wrong, "cells": dict(sorted(drawn.items()))}
        wanted.cells.write_text(json.dumps(content, indent=0))
    print(summary(histories, wrong, drawn))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

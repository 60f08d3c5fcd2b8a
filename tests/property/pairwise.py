"""Runs pairwise histories, and says how often each cell of tests/combinations.md was drawn.

    python tests/property/pairwise.py 5000 --seed 1 --processes 2

Ends with an error where a history differs from the dictionary: its seed and configuration are printed. At the end stands
how often each cell was drawn; cells that can't be drawn with the reason, and those that were drawn less than three times.
``--spark`` of the histories run on Spark, in one session beside the ``--processes`` of the others. With ``--minutes`` no
history begins later than that, and what was run until then is counted.
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
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import combinations, islice, product
from multiprocessing import get_context
from pathlib import Path

import pair_space as space
from pair_cover import Cover, cells
from pair_history import STEPS, history, try_refused

_MEMORY = "/dev/shm"
# Every so many histories a table is tried that has to be refused.
_REFUSED = 25


_SPARK = ".spark"
_HAS_LANCE = all(find_spec(name) is not None for name in ("hoodoo_lance", "lance"))
# A cell is to be drawn so often.
_LEAST = 3


def configurations(seed: str, only: str = "") -> Iterator[dict[str, str]]:
    """Without end; the same for the same seed, which says the engine. ``only``: ``FACTOR=VALUE`` of all. The value of space.STEP is a step that the
    history takes for sure."""
    engine = "spark" if seed.endswith(_SPARK) else "local"
    factors = {**space.FACTORS, "engine": (engine,), space.STEP: tuple(STEPS)}
    if not _HAS_LANCE:
        files = factors["base files"]
        factors["base files"] = tuple(one for one in files if one != space.LANCE)
    name, _, value = only.partition("=")
    factors |= {name: (value,)} if name else {}
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
            _refused(seed, number, folder / "refused", drawn)
        engine = "spark" if config["engine"] == "spark" else None
        history(config, folder, f"{seed}-{number}", steps, engine, cell)
    except AssertionError as error:
        return str(error)
    finally:
        shutil.rmtree(folder)
    own = {name: value for name, value in config.items() if name != space.STEP}
    drawn.update(map(_pair, cells(own)))
    drawn.update(taken.keys())
    drawn[f"histories on {config['engine']}"] += 1
    return ""


def _pair(pair: Iterable[tuple[str, str]]) -> str:
    return " | ".join(f"{name} = {value}" for name, value in sorted(pair))


def all_cells() -> Iterator[tuple[str, str]]:
    """Each cell, and why no history can have it, or nothing."""
    for one, other in combinations(space.FACTORS, 2):
        for values in product(space.FACTORS[one], space.FACTORS[other]):
            cell = dict(zip((one, other), values, strict=True))
            yield _pair(cell.items()), _why_not(cell)
    for step, (name, values) in product(STEPS, space.FACTORS.items()):
        for value in values:
            yield f"{step} | {name} = {value}", _why_not({space.STEP: step, name: value})


def _why_not(cell: dict[str, str]) -> str:
    if space.LANCE in cell.values() and not _HAS_LANCE:
        return "hoodoo-lance is not installed"
    return space.why_not(cell)


def _refused(seed: str, number: int, folder: Path, drawn: Counter[str]) -> None:
    draw = random.Random(f"{seed}-{number}")
    rule = space.REFUSALS[number // _REFUSED % len(space.REFUSALS)]
    config = {name: values[0] for name, values in space.FACTORS.items()}
    config |= {name: draw.choice(values) for name, values in rule.where.items()}
    folder.mkdir()
    try_refused(config, folder)
    drawn[f"refused: {rule.says}"] += 1


def _session() -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").appName("pairwise")
    made = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    made.getOrCreate().sparkContext.setLogLevel("OFF")


def _part(job: tuple[str, int, float, str]) -> tuple[int, int, Counter[str]]:
    seed, histories, minutes, only = job
    drawn: Counter[str] = Counter()
    wrong = done = 0
    if seed.endswith(_SPARK):
        _session()
    start, processor = time.time(), time.process_time()
    for number, config in enumerate(islice(configurations(seed, only), histories)):
        if minutes and time.time() - start > 60 * minutes:
            break
        said = run(seed, number, config, drawn)
        done += 1
        if said:
            wrong += 1
            print(f"DIFFERENCE in {seed}-{number}: {said}\n", flush=True)
        if number % 50 == 49:
            passed, used = (time.time() - start) / 60, time.process_time() - processor
            print(
                f"{seed}: {number + 1} histories, {wrong} with differences; {passed:.1f} minutes, "
                f"{used / (number + 1):.2f} s of the processor each",
                flush=True,
            )
    return done, wrong, drawn


def summary(histories: int, wrong: int, drawn: Counter[str]) -> str:
    lines = [f"{histories} histories, {wrong} with differences."]
    lines += [f"{n} {c}" for c, n in sorted(drawn.items()) if c.startswith("histories on")]
    reasons = Counter[str]()
    seldom: list[tuple[int, str]] = []
    for name, signs in (("pairs of values", 2), ("steps and values", 1)):
        counts = []
        for cell, why in all_cells():
            if cell.count(" = ") != signs:
                continue
            if why:
                reasons[why] += 1
                continue
            counts.append(drawn[cell])
            if drawn[cell] < _LEAST:
                seldom.append((drawn[cell], cell))
        enough = sum(n >= _LEAST for n in counts)
        lines.append(
            f"{len(counts)} cells of {name}: {enough} drawn at least {_LEAST} times, the least {min(counts)} times."
        )
    lines += [f"not drawn: {n} cells: {why}" for why, n in sorted(reasons.items())]
    lines += [f"fewer than {_LEAST}: {n} x {c}" for n, c in sorted(seldom)]
    tried = {f"refused: {rule.says}": 0 for rule in space.REFUSALS}
    tried |= {c: n for c, n in drawn.items() if c.startswith("refused: ")}
    lines += [f"tried {n} times, {c}" for c, n in sorted(tried.items())]
    return "\n".join(lines)


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("histories", nargs="?", type=int, default=5000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--spark", type=int, default=40, help="how many of them on Spark")
    parser.add_argument("--minutes", type=float, default=0, help="no history begins later")
    parser.add_argument("--cells", type=Path, help="a file for the count of each cell")
    parser.add_argument(
        "--only", default="", help="FACTOR=VALUE, of all histories, such as 'base files=LANCE'"
    )
    parser.add_argument("--replay", help="SEED-NUMBER of one history")
    parser.add_argument("--count", nargs="*", type=Path, help="files of --cells, added up")
    wanted = parser.parse_args(given)
    if wanted.replay:
        seed, _, number = wanted.replay.rpartition("-")
        if seed.endswith(_SPARK):
            _session()
        config = next(islice(configurations(seed, wanted.only), int(number), None))
        said = run(seed, int(number), config, Counter())
        print(said or "no difference")
        return 1 if said else 0
    if wanted.count:
        told = [json.loads(path.read_text()) for path in wanted.count]
        drawn = sum((Counter(t["cells"]) for t in told), Counter())
        histories, wrong = (sum(t[name] for t in told) for name in ("histories", "wrong"))
        print(summary(histories, wrong, drawn))
        return 1 if wrong else 0
    on_spark = min(wanted.spark, wanted.histories)
    each = -(-(wanted.histories - on_spark) // wanted.processes)
    seeds = [f"{wanted.seed}.{n}" for n in range(wanted.processes) if each]
    how = wanted.minutes, wanted.only
    jobs = [(f"{wanted.seed}{_SPARK}", on_spark, *how)] if on_spark else []
    jobs += [(seed, each, *how) for seed in seeds]
    histories, wrong, drawn = 0, 0, Counter[str]()
    with get_context("spawn").Pool(len(jobs)) as pool:
        for done, failed, counted in pool.imap_unordered(_part, jobs):
            histories, wrong, drawn = histories + done, wrong + failed, drawn + counted
    if wanted.cells:
        content = {"histories": histories, "wrong": wrong, "cells": dict(sorted(drawn.items()))}
        wanted.cells.write_text(json.dumps(content, indent=0))
    print(summary(histories, wrong, drawn))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A program: so many processes that write to one table.
``process_writers.py TABLE NOTES COUNT WRITES SEED [OPTIONS [END]]``; the options as JSON.

Prints the number of each process, one a line, then waits for all. Writer n keeps its notes, a line of JSON
for each acknowledged write, durably in ``NOTES/n``. With ``END`` they go on after so many writes, until
there is a file of that name, and repeat what others were in the way of.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from itertools import count
from pathlib import Path

import hoodoo
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel import events
from hoodoo.kernel.events import notify
from tables import rows

HOT = 1  # the row that all of them update


def write(
    table_path: str, notes: Path, number: int, writes: int, seed: int, options: dict[str, str],
    end: Path | None = None,
) -> None:  # fmt: skip
    """Each write updates the hot row or leaves it alone, inserts a key that all insert, and one of its
    own."""
    chance = random.Random(f"{seed} {number}")
    attempts = 0

    def told_of(event: Event) -> None:
        nonlocal attempts
        attempts += event.kind == "write.requested"
        notify(event)

    events.notify = told_of  # type: ignore[assignment]
    with open(notes / str(number), "w") as file:
        table = hoodoo.open(table_path, options)
        for turn in range(writes) if end is None else count():
            if end is not None and turn >= writes and end.exists():
                break
            text, own = f"{number}-{turn}", own_key(number, turn)
            hot = {HOT: "a", 1000 + turn: "a"} if chance.random() < 0.7 else {}
            attempts = 0
            data = rows({**hot, own: "ab"[number % 2]}, text, 5)
            while True:
                try:
                    commit = table.upsert(data)
                    break
                except CommitConflictError:  # it has lost as often as it tries by itself
                    if end is None:
                        raise
            told = {
                "own": own, "text": text, "hot": bool(hot), "instant": commit.instant,
                "attempts": attempts,
            }  # fmt: skip
            file.write(json.dumps(told) + "\n")
            file.flush()
            os.fsync(file.fileno())


def own_key(number: int, turn: int) -> int:
    return 100_000 * (number + 1) + turn


def main() -> int:
    table, notes = sys.argv[1], Path(sys.argv[2])
    processes, writes, seed = (int(text) for text in sys.argv[3:6])
    options = json.loads(sys.argv[6]) if len(sys.argv) > 6 else {}
    end = Path(sys.argv[7]) if len(sys.argv) > 7 else None
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                write(table, notes, number, writes, seed, options, end)
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
        print(child, flush=True)
    codes = [os.waitpid(child, 0)[1] for child in children]
    return 0 if all(code in (0, 9) for code in codes) else 1


if __name__ == "__main__":
    sys.exit(main())

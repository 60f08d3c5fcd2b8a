"""How many trials there were of each sort: a line of each in the file that HOODOO_COUNTS names, for who reports them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path


def count(what: str, trials: int = 1) -> None:
    path = os.environ.get("HOODOO_COUNTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{trials}\t{what}\n")


def counts(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        trials, _, what = line.partition("\t")
        found[what] += int(trials)
    return found

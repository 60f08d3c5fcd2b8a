"""Random histories by the number, and what was in them: ``python count_histories.py 100 local moto versitygw``.

Each history is one of ``test_wide_histories.py``: a table of a drawn type, index, version, shape of key and past is
erased from, and all its files are looked through without Hoodoo's readers. The first one that fails ends it.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import hoodoo
from test_wide_histories import SERVERS, check
from wide import CASES, Past


class Counted(Past):
    """A past that notes what it did."""

    seen: Counter[str] = Counter()

    def made(self, path: str, store: object) -> tuple[hoodoo.Table, list[str]]:
        table, done = super().made(path, store)  # type: ignore[arg-type]
        self.seen["steps"] += len(done)
        self.seen.update(step for step in done if not step.startswith("("))
        self.seen[f"version {self.version}"] += 1
        self.seen[f"key {self.shape}"] += 1
        self.seen.update(name for name in ("savepoints", "tags") if getattr(table, name)())
        self.seen["other formats"] += "hoodoo.open.formats" in self.options
        self.seen["virtual keys"] += "hoodie.populate.meta.fields" in self.options
        return table, done


def run(count: int, stores: list[str], seed: int) -> None:
    """``count`` histories on each store, the types and indexes by turns."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        for store in stores:
            root, options = folder, dict[str, str]()
            if store != "local":
                home = Path(folder, f"server-{store}")
                home.mkdir()
                server = servers.enter_context(SERVERS[store](home))
                root, options = server.bucket(f"b-{uuid4().hex}"), server.options
            Counted.seen, kinds, begun = Counter(), Counter[str](), time.monotonic()
            for number, (kind, index) in zip(range(count), itertools.cycle(CASES), strict=False):
                check(f"{root}/t{number}", options, Counted.drawn(seed + number, kind, index))
                kinds[f"{kind} {index}"] += 1
            took = time.monotonic() - begun
            print(
                f"{store}: {count} histories, {len(kinds)} types and indexes, {took:.0f} s: no byte"
            )
            print(f"  {dict(sorted((+Counted.seen).items()))}", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), sys.argv[2:] or ["local"], int(os.environ.get("HOODOO_SEED") or 0))

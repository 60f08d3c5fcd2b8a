"""Backups beside writers and backups that are killed, by the number: ``python count_trials.py 20 local versitygw``.

As ``test_written_meanwhile.py`` does them: that many histories of each store, types and indexes by turns, then one
table of each type whose backup is killed at every operation, of the table and of the copy, and a restore of it at every
operation. HOODOO_ONLY=restore leaves out the rest. The first one that fails ends it.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from test_written_meanwhile import (
    KINDS,
    WHEN,
    Killed,
    Restored,
    history,
    killed_at_every_operation,
)

sys.path.append(str(Path(__file__).resolve().parents[2] / "cloud/tests"))

from servers import SERVERS


def run(count: int, stores: list[str]) -> None:
    """Everything on each store."""
    whens = os.environ.get("HOODOO_WHEN", ",".join(WHEN)).split(",")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        for store in stores:
            root, options = folder, dict[str, str]()
            if store != "local":
                home = Path(folder, f"server-{store}")
                home.mkdir()
                server = servers.enter_context(SERVERS[store](home))
                root, options = server.bucket(f"b-{uuid4().hex}"), server.options
            begun = time.monotonic()
            for number, kind in zip(range(count), itertools.cycle(KINDS), strict=False):
                history(root, number, *kind, options)
            took = time.monotonic() - begun
            print(f"{store}: {count} histories of 3 backups each, {took:.0f} s", flush=True)
            for kind in (KINDS[0], KINDS[-3]):
                begun = time.monotonic()
                found = Killed.prepared(f"{root}/{kind[0]}", *kind, options)
                if os.environ.get("HOODOO_ONLY") != "restore":
                    trials = killed_at_every_operation(found, whens)
                    took = time.monotonic() - begun
                    print(f"{store}: {kind}: killed {trials} times, {took:.0f} s", flush=True)
                begun = time.monotonic()
                made = Restored.prepared(found, f"{root}/{kind[0]}/r")
                trials = made.killed_at_every_operation(whens)
                took = time.monotonic() - begun
                print(f"{store}: {kind}: restore killed {trials} times, {took:.0f} s", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), sys.argv[2:] or ["local"])

"""Hundreds of small tables below one place: how long their list and their figures take, and how
much memory ``hoodoo serve --from`` needs.

``python tests/bench/many_tables.py make FOLDER 500`` makes them, ``... copy FOLDER s3://...``
copies them into a store, and ``... measure PLACE -o ...`` measures.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import hoodoo
import pyarrow as pa

COMMAND = [sys.executable, "-m", "hoodoo"]
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
KINDS = ("cow", "mor", "lagging", "planned")


def template(path: Path, kind: str) -> None:
    """A table of ten to thirty commits."""
    table = hoodoo.create(
        str(path),
        SCHEMA,
        name=path.name,
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type="COPY_ON_WRITE" if kind == "cow" else "MERGE_ON_READ",
        options={"hoodie.compact.inline": "false"},
    )
    for ts in range(30 if kind == "lagging" else 10):
        first = ts * 10 if kind == "cow" else 0  # updates of a table merged on read go to log files
        ids = range(first, first + 100)
        cities = [("oslo", "paris", "rome")[i % 3] for i in ids]
        table.upsert(pa.table([list(ids), cities, [ts] * 100], SCHEMA))
    if kind == "planned":
        table.schedule("compaction")


def make(folder: Path, count: int) -> None:
    """``count`` tables in ten folders: copies of one of each kind."""
    first = folder.parent / f"{folder.name}-first"
    for kind in KINDS:
        if not (first / kind).exists():
            template(first / kind, kind)
    for number in range(count):
        target = folder / f"team{number % 10}" / f"t{number:03}"
        if not target.exists():
            shutil.copytree(first / KINDS[number % len(KINDS)], target)


def to_store(folder: Path, place: str, options: dict[str, str]) -> None:
    """The same in an object store."""
    from hoodoo.storage.together import together
    from hoodoo.table.settings import open_storage, typed_options

    storage = open_storage(place, typed_options(options))
    files = [path for path in folder.rglob("*") if path.is_file()]
    for at in range(0, len(files), 64):
        puts = [
            lambda path=path: storage.put(str(path.relative_to(folder)), path.read_bytes())
            for path in files[at : at + 64]
        ]
        together(storage, *puts)


def timed(*arguments: str) -> dict[str, object]:
    begun = time.monotonic()
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)
    took = round(time.monotonic() - begun, 1)
    tables = len(json.loads(done.stdout)) if done.stdout.startswith("[") else 0
    return {"command": arguments[0], "seconds": took, "exit": done.returncode, "tables": tables}


def served(place: str, more: list[str], seconds: float) -> dict[str, object]:
    """The largest memory of a server until each table was looked at twice, or ``seconds``."""
    command = [*COMMAND, "serve", "--from", place, "--port", "0", "--every", "20", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = next(found[0] for line in process.stdout if (found := re.search(r"http\S+", line)))
        parts, begun, first = urlsplit(url), time.monotonic(), None
        rounds = 0
        while time.monotonic() - begun < seconds:
            time.sleep(2)
            where = f"{parts.scheme}://{parts.netloc}/metrics"
            text = urllib.request.urlopen(where, timeout=60).read().decode()
            counts = re.findall(r"^hoodoo_service_rounds_total\{.*\} (\S+)$", text, re.M)
            rounds = int(sum(map(float, counts)))
            known = len(re.findall(r"^hoodoo_service_last_round", text, re.M))
            if first is None and rounds and rounds >= known >= tables(text):
                first = round(time.monotonic() - begun, 1)
            if first and rounds >= 2 * tables(text):
                break
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+) kB", status)
        threads = re.search(r"Threads:\s+(\d+)", status)
        assert peak and threads
        process.terminate()
        process.communicate()
    return {
        "command": "serve",
        "tables": tables(text),
        "rounds": rounds,
        "first_of_all": first,
        "peak_mb": int(peak[1]) // 1000,
        "threads": int(threads[1]),
        "metrics_kb": len(text) // 1000,
    }


def tables(metrics: str) -> int:
    """How many tables the server says that it has."""
    found = re.search(r"^hoodoo_served_tables (\S+)$", metrics, re.M)
    return int(float(found[1])) if found else 1


def main(what: str, place: str, *more: str) -> None:
    if what == "make":
        make(Path(place), int(more[0]))
    elif what == "copy":  # FOLDER PLACE -o ...
        to_store(Path(place), more[0], dict(one.split("=", 1) for one in more[1:] if one != "-o"))
    else:
        for command in ("ls", "stats"):
            print(timed(command, place, "--json", *more), flush=True)
        print(timed("verify", place, "--quick", "--json", *more), flush=True)
        print(served(place, list(more), 240.0), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

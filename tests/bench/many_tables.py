"""Hundreds of small tables below one place: how long their list and their figures take, and how
much memory ``hoodoo serve --from`` needs.

``python tests/bench/many_tables.py run [500] [local moto versitygw]`` makes them, copies them into
stores on this machine, measures each, and ends with 1 if a limit is passed. In steps:
``... make FOLDER 500``, ``... copy FOLDER s3://... -o ...``, ``... measure PLACE -o ...``.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import hoodoo
import pyarrow as pa

COMMAND = [sys.executable, "-m", "hoodoo"]
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
KINDS = ("cow", "mor", "lagging", "planned")
MOST_SECONDS = 10.0  # for `hoodoo ls`, by the clock
MOST_MB = 400  # for `hoodoo serve`, which is one process
SERVED = 1200.0  # seconds in which a server has looked at each table twice


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


def timed(*arguments: str, times: int = 1) -> dict[str, object]:
    """By the clock, the shortest of so many ``times``: others may use the machine, too."""
    took, processor = [], []
    for _ in range(times):
        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)
        took.append(round(time.monotonic() - begun, 1))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(round(after.ru_utime - before.ru_utime, 1))
    tables = len(json.loads(done.stdout)) if done.stdout.startswith("[") else 0
    return {
        "command": arguments[0],
        "seconds": min(took),
        "processor": min(processor),
        "exit": done.returncode,
        "tables": tables,
    }


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


def measured(place: str, more: list[str], seconds: float) -> list[dict[str, object]]:
    found = []
    for command in (["ls"], ["stats"], ["verify", "--quick"]):
        found.append(timed(*command, place, "--json", *more, times=5 if command == ["ls"] else 1))
        print(found[-1], flush=True)
    found.append(served(place, more, seconds))
    print(found[-1], flush=True)
    return found


def too_much(found: list[dict[str, object]], count: int) -> list[str]:
    """What is beyond the limits, in words."""
    listed, server = found[0], found[-1]
    seconds, mb = float(str(listed["seconds"])), int(str(server["peak_mb"]))
    passed = [
        (listed["exit"] != 0 or listed["tables"] != count, f"ls has {listed['tables']} tables"),
        (seconds >= MOST_SECONDS, f"ls took {seconds} s: the limit is {MOST_SECONDS} s"),
        (server["tables"] != count, f"serve has {server['tables']} tables"),
        (not server["first_of_all"], "serve has not looked at each table"),
        (mb >= MOST_MB, f"serve took {mb} MB: the limit is {MOST_MB} MB"),
    ]
    return [sentence for failed, sentence in passed if failed]


def run(count: int, stores: tuple[str, ...]) -> None:
    """Everything, on this machine; `SystemExit` if a limit is passed."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins/cloud/tests"))
    from servers import SERVERS

    failed = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        lake = Path(folder, "lake")
        make(lake, count)
        for store in stores:
            place, options = str(lake), dict[str, str]()
            if store != "local":
                home = Path(folder, store)
                home.mkdir()
                server = servers.enter_context(SERVERS[store](home))
                place, options = server.bucket("lake"), server.options
                begun = time.monotonic()
                to_store(lake, place, options)
                print(f"{store}: copied in {time.monotonic() - begun:.0f} s", flush=True)
            print(f"{store}, {count} tables:", flush=True)
            more = [text for pair in options.items() for text in ("-o", "=".join(pair))]
            found = measured(place, more, SERVED)
            failed += [f"{store}: {sentence}" for sentence in too_much(found, count)]
    print("\n".join(failed) or "no limit is passed", flush=True)
    raise SystemExit(bool(failed))


def main(what: str, place: str = "500", *more: str) -> None:
    if what == "run":
        run(int(place), more or ("local", "versitygw"))
    elif what == "make":
        make(Path(place), int(more[0]))
    elif what == "copy":  # FOLDER PLACE -o ...
        to_store(Path(place), more[0], dict(one.split("=", 1) for one in more[1:] if one != "-o"))
    else:
        measured(place, list(more), 240.0)


if __name__ == "__main__":
    main(*sys.argv[1:])

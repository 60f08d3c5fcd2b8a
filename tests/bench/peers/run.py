"""`tox -e bench-spark`: Hoodoo, Spark Hudi, Delta Lake and Iceberg on the same rows, by turns on two cores.

    python -m tests.bench.peers.run [--scale 1] [--runs 3] [--only NAMES] [--steps NAMES] [--small 100] [--parted]
                                    [--store]

Each contender is a process with a Spark session of its own (PySpark 3.5, which all of them support). What the
tables hold is compared after each step: those that differ are named, and the command ends with 1. With ``--store``
tables are on a server of S3, and the requests of each step are counted (its times say little: the server is a test's).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.bench.peers import inputs, store
from tests.bench.peers.child import MARKER
from tests.bench.peers.contenders import ALL

SECONDS = 3600  # for one contender's run
KINDS = ("put", "list", "get", "head", "delete")


def one_run(
    name: str, order: dict[str, Any], scratch: str, child: str = "tests.bench.peers.child"
) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="peers-", dir=scratch))
    try:
        given = folder / "order.json"
        given.write_text(json.dumps(order))
        command = [sys.executable, "-m", child, name, str(folder), str(given)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SECONDS)
        lines = [line for line in done.stdout.splitlines() if line.startswith(MARKER)]
        if not lines:
            raise RuntimeError(f"{name} ended with {done.returncode}, and said nothing")
        found: dict[str, Any] = json.loads(lines[-1].removeprefix(MARKER))
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def different(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Steps after which two contenders do not have the same rows."""
    seen: dict[str, dict[str, str]] = {}
    for name, runs in results.items():
        for step, said in runs[0].items():
            if "table" in said or "rows" in said:
                seen.setdefault(step, {})[name] = said.get("table") or f"{said['rows']} rows"
    return [
        f"{step}: {', '.join(f'{name} has {text}' for name, text in by.items())}"
        for step, by in seen.items()
        if len(set(by.values())) > 1
    ]


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Medians: seconds by the clock; of processor time, of all processes. A column for each contender."""
    names = list(results)
    steps = dict.fromkeys(s for runs in results.values() for s in runs[0] if not s.startswith("@"))
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for step in steps:
        cells = []
        for name in names:
            took = [run[step] for run in results[name] if "seconds" in run.get(step, {})]
            failed = any("error" in run.get(step, {}) for run in results[name])
            both = (statistics.median(said[what] for said in took) for what in ("seconds", "processor") if took)  # fmt: skip
            cells.append("; ".join(f"{value:.1f}" for value in both) or ("failed" if failed else "–"))  # fmt: skip
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    for title, what, unit, one in (
        ("written in all, MiB", "written", 1 << 20, sum),
        ("files written in all", "files", 1, sum),
        ("most memory, MiB", "memory", 1, max),
    ):
        cells = []
        for name in names:
            each = [
                one([said.get(what, 0) for said in run.values()] or [0]) for run in results[name]
            ]
            cells.append(f"{statistics.median(each) / unit:.0f}")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def requests(results: dict[str, list[dict[str, Any]]]) -> str:
    """Medians: requests to the store that write, list, read, and ask for an object's size; deletes."""
    names = list(results)
    steps = dict.fromkeys(step for runs in results.values() for step, said in runs[0].items() if "requests" in said)  # fmt: skip
    lines = [f"| requests: {', '.join(KINDS)} | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]  # fmt: skip
    for step in steps:
        cells = []
        for name in names:
            each = [
                run[step]["requests"] for run in results[name] if "requests" in run.get(step, {})
            ]
            medians = [
                statistics.median(one.get(kind, 0) for one in each) for kind in KINDS if each
            ]
            cells.append(f"{sum(medians):.0f}: " + ", ".join(f"{n:.0f}" for n in medians) if each else "–")  # fmt: skip
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (default 1)")
    parser.add_argument("--runs", type=int, default=3, help="of each contender (medians count)")
    parser.add_argument("--only", default=",".join(ALL), help="contenders, comma separated")
    parser.add_argument("--steps", default="", help="steps, comma separated (default all)")
    parser.add_argument("--small", type=int, default=100, help="how many small commits")
    parser.add_argument("--parted", action="store_true", help="by ship mode; rows move, too")
    parser.add_argument("--store", action="store_true", help="tables on a server of S3; count requests")  # fmt: skip
    parser.add_argument("--scratch", default=tempfile.gettempdir(), help="where tables are made")
    parser.add_argument("--json", default="bench-spark.json", help="where the figures go")
    chosen = parser.parse_args()
    order: dict[str, Any] = {
        "inputs": inputs.made(chosen.scale, chosen.small),
        "parted": chosen.parted,
        "only": [step for step in chosen.steps.split(",") if step],
    }
    names = [name for name in ALL if name in chosen.only.split(",")]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with ExitStack() as stack:
        if chosen.store:
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=chosen.scratch))
            order["store"] = stack.enter_context(store.running(Path(folder))).order
        for run in range(chosen.runs):
            for name in names:
                print(f"run {run + 1} of {chosen.runs}: {name}", file=sys.stderr, flush=True)
                results[name].append(one_run(name, order, chosen.scratch))
                Path(chosen.json).write_text(json.dumps(results, indent=1))
    print(table(results))
    if chosen.store:
        print(requests(results))
    wrong = different(results)
    print("\n".join(wrong) or "rows: the same after every step")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

"""`tox -e bench-tpcds`: LHBench's TPC-DS load and refresh, LST-Bench's longevity and resilience, at a scale that fits.

    python -m tests.bench.peers.tpcds [--scale 0.1] [--only lhbench,lst] [--contenders NAMES] [--merge store_sales]

LHBench: all 24 tables are loaded, five queries run (medians), ten refreshes of 3 % are merged, the queries run again,
tables are compacted, the queries run again. Its tables have partitions by date; at this scale a partition would have
some hundred rows, so these have none.

LST-Bench, on the two tables of the store channel: WP1, queries and data maintenance (sales of some days go, new ones
come) by turns, and the degradation rate, the mean of the relative changes from one phase of queries to the next; WP2,
the same with more and more changes, where tables are compacted before queries run again.

What tables hold and what queries answer is compared: those that differ are named, and the command ends with 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.peers import tpcds_rows
from tests.bench.peers.contenders import ALL
from tests.bench.peers.run import different, one_run, table

CONTENDERS = [name for name in ALL if not name.endswith("record_index")]


def degradation(values: list[float]) -> float:
    """LST-Bench: the mean of (M[i] - M[i-1]) / M[i-1]; 0 where there is one value only."""
    changes = [now / before - 1 for before, now in zip(values, values[1:], strict=False)]
    return sum(changes) / len(changes) if changes else 0.0


def rates(results: dict[str, list[dict[str, Any]]]) -> str:
    """A line for each contender: without compaction (WP1), and with it (WP2), by the clock and by processor time."""
    lines = ["| degradation rate | WP1 | WP1, processor time | WP2 | WP2, processor time |", "|---|---|---|---|---|"]  # fmt: skip
    for name, runs in results.items():
        cells = []
        for phases in (r"lst: single_user \d+", r"lst: single_user \d+o"):
            for what in ("seconds", "processor"):
                values = [said[what] for step, said in runs[0].items() if re.fullmatch(phases, step) and what in said]  # fmt: skip
                cells.append(f"{degradation(values):+.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-DS scale factor")
    parser.add_argument("--only", default="lhbench,lst", help="parts, comma separated")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help="comma separated")
    parser.add_argument("--merge", default="store_sales", help="tables that refreshes change; all: the seven of LHBench")  # fmt: skip
    parser.add_argument("--refreshes", type=int, default=10, help="of LHBench")
    parser.add_argument("--longevity", type=int, default=5, help="rounds of LST-Bench's WP1")
    parser.add_argument("--resilience", type=int, default=3, help="rounds of LST-Bench's WP2")
    parser.add_argument("--turns", type=int, default=3, help="of queries (medians count)")
    parser.add_argument("--queries", default=",".join(map(str, tpcds_rows.SINGLE_USER)), help="their numbers")  # fmt: skip
    parser.add_argument("--few", action="store_true", help="load only what the queries read")
    parser.add_argument("--cold", action="store_true", help="no queries of plain Parquet first")
    parser.add_argument("--scratch", default=tempfile.gettempdir(), help="where tables are made")
    parser.add_argument("--json", default="bench-tpcds.json", help="where the figures go")
    chosen = parser.parse_args()
    count = 2 * chosen.longevity + sum(range(2, chosen.resilience + 1))
    if count > tpcds_rows.MAINTENANCES or chosen.refreshes > tpcds_rows.REFRESHES:
        parser.error(
            f"there are {tpcds_rows.REFRESHES} refreshes and {tpcds_rows.MAINTENANCES} data maintenances"
            f" ({count} are asked for: two for each round of WP1, and 2, 3, ... from the second round of WP2)"
        )
    facts = list(tpcds_rows.FACTS)
    order = {
        "rows": str(tpcds_rows.made(chosen.scale)),
        "merge": facts if chosen.merge == "all" else chosen.merge.split(","),
        "only": chosen.only.split(","),
        "queries": [int(number) for number in chosen.queries.split(",")],
        "few": chosen.few,
        "warm": not chosen.cold,
        **{
            name: getattr(chosen, name)
            for name in ("refreshes", "longevity", "resilience", "turns")
        },
    }
    results: dict[str, list[dict[str, Any]]] = {}
    for name in [name for name in ALL if name in chosen.contenders.split(",")]:
        print(name, file=sys.stderr, flush=True)
        results[name] = [one_run(name, order, chosen.scratch, "tests.bench.peers.tpcds_child")]
        Path(chosen.json).write_text(json.dumps(results, indent=1))
    print(table(results))
    if "lst" in order["only"]:
        print(rates(results))
    wrong = different(results)
    print("\n".join(wrong) or "rows and answers: the same after every step")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

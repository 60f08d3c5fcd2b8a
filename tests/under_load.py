"""A program: the Spark and concurrency tests, again and again, beside processes that do nothing but work.

``python tests/under_load.py [--busy 4] [--times 20] [--minutes 0] [PYTEST ARGUMENT ...]``

Tests that wait for a time, or count on one, fail here. Prints a line for each run of pytest, the tests that
failed, and a sum; ends with 1 if there was a failure. The output of a run that failed is kept, its place
printed. ``--minutes``: no round begins later than that. Arguments of pytest take the place of both
selections.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SELECTIONS = (
    ("-m", "spark", "plugins/spark/tests", "tests/golden", "tests/meta", "tests/integration", "tests/property",
     "plugins/rows/tests", "plugins/formats/tests", "plugins/metadata/tests"),
    ("-m", "not spark", "tests/concurrency", "tests/integration/test_beside_each_other.py",
     "plugins/standard/tests/test_locks.py", "core/tests/test_heartbeat.py"),
)  # fmt: skip
FAILED = re.compile(r"^(?:FAILED|ERROR) .*$", re.MULTILINE)
COUNTED = re.compile(r"(\d+) (passed|failed|errors?)\b")


# Ends with this program, also where that is killed.
BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that never pause; the block ends them, and no other ones."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
        assert all(process.poll() is None for process in running), "the load has ended by itself"
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(arguments: Sequence[str], log: Path) -> tuple[dict[str, int], list[str]]:
    """One run of pytest: how many tests passed or failed, and what it says of each that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *arguments]
    with log.open("w") as out:
        code = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode
    text = log.read_text(errors="replace")
    counts = {"passed": 0, "failed": 0}
    for number, what in COUNTED.findall(text.strip().splitlines()[-1] if text.strip() else ""):
        counts["passed" if what == "passed" else "failed"] += int(number)
    failed = FAILED.findall(text)
    if code and not failed:
        failed = [f"pytest ended with {code}"]
        counts["failed"] += 1
    return counts, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, default=4, help="busy processes beside the tests")
    parser.add_argument("--times", type=int, default=20, help="rounds")
    parser.add_argument("--minutes", type=float, default=0, help="begin no round after this time")
    options, selected = parser.parse_known_args()
    selections = (tuple(selected),) if selected else SELECTIONS
    logs = Path(tempfile.mkdtemp(prefix="under-load-"))
    began, rounds, passed, failures = time.monotonic(), 0, 0, 0
    with busy(options.busy):
        for number in range(1, options.times + 1):
            if options.minutes and time.monotonic() - began > 60 * options.minutes:
                break
            for which, arguments in enumerate(selections, 1):
                start, log = time.monotonic(), logs / f"round-{number}-{which}.log"
                counts, failed = run(arguments, log)
                passed += counts["passed"]
                failures += counts["failed"]
                seconds = time.monotonic() - start
                print(
                    f"round {number}, {' '.join(arguments)[:40]}: {counts['passed']} passed, "
                    f"{counts['failed']} failed in {seconds:.0f} s",
                    *(f"  {line}" for line in failed),
                    *([f"  {log}"] if failed else []),
                    sep="\n", flush=True,
                )  # fmt: skip
                if not failed:
                    log.unlink()
            rounds += 1
    print(
        f"{rounds} rounds beside {options.busy} busy processes: {passed} tests passed, "
        f"{failures} failed"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

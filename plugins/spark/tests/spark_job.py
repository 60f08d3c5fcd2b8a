"""A script with a Spark session, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def said(job: Path, home: Path, *arguments: object, seconds: int) -> list[dict[str, Any]]:
    """The lines of JSON that ``job``, given ``home`` and ``arguments``, prints. It may take so many seconds."""
    others = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, str(job), str(home), *map(str, arguments)],
        cwd=home,
        env={**others, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

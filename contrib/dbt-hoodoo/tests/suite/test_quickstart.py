"""The quick start of docs/dbt.md, as pasted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[4] / "docs/dbt.md"


def test_it_works_as_pasted(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"^```bash\n(pip install dbt-hoodoo.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S
    )
    lines = text.splitlines()
    assert len(lines) <= 13, "ten lines and two files"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines[1:])],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS=2" in done.stdout and "{'id': 2, 'city': 'rome', 'fare': 25.0}" in done.stdout

"""What the histories have counted is printed."""

from __future__ import annotations

import sys
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for module in list(sys.modules.values()):
        counts = getattr(module, "COUNTS", None)
        if getattr(module, "__name__", "").endswith("test_sqlite_histories") and counts:
            said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            terminalreporter.write_line(f"histories of the sqlite index: {said}")

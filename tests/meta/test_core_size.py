"""Core is small, and gets smaller."""

from __future__ import annotations

from pathlib import Path

CORE = Path(__file__).parents[2] / "core/src/hoodoo"
# Lines of Python without hoodoo.testing. It only goes down.
LIMIT = 19_567


def test_core_has_no_more_lines() -> None:
    files = [p for p in CORE.rglob("*.py") if "testing" not in p.relative_to(CORE).parts]
    assert len(files) > 100
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in files)
    assert lines <= LIMIT, f"core has {lines} lines: move what is a feature into a distribution"

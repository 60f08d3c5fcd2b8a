"""Which slices a read has merged by numbers of rows, and which by keys."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo_rows.merge import log_rows, slice


def met_by_number(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each slice with log rows that is read in this process from now on, whether they met by number."""
    found: list[bool] = []
    real = log_rows.read_log_rows

    def noted(*args: Any, **more: Any) -> Any:
        rows = real(*args, **more)
        if rows.waiting is not None:
            found.append(log_rows.POSITION in rows.waiting.rows.schema.names)
        return rows

    monkeypatch.setattr(slice, "read_log_rows", noted)
    return found

"""What needs dbt has settings of its own: tox run -e dbt."""

from __future__ import annotations

collect_ignore = ["suite"]

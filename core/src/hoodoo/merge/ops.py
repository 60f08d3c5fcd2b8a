"""What a travelling row asks for: the column `__op`, RFC-84's operation type."""

from __future__ import annotations

OP = "__op"

# Values of `__op`.
PUT = 0
DELETE = 1  # asked for by key: wins over anything that came before
DELETE_ROW = 2  # a row marked `_hoodie_is_deleted`: takes part in the ordering like any other row

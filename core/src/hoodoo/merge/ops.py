"""What a travelling row asks for: the column `_hoodie__op`, RFC-84's operation type."""

from __future__ import annotations

# Columns of Hoodoo beside those of a table start with `_hoodie_`, which no column of a table may. (Debezium names a column `__op`.)
OP = "_hoodie__op"

# Values of `_hoodie__op`.
PUT = 0
DELETE = 1  # asked for by key: wins over anything that came before
DELETE_ROW = 2  # a row marked as deleted: takes part in the ordering like any other row

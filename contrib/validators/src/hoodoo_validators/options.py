"""The options, by Hudi's own names (HoodiePreCommitValidatorConfig)."""

from __future__ import annotations

from hoodoo.options import NAMES, Option

_PREFIX = "hoodie.precommit.validators"
TABLE = "<TABLE_NAME>"

VALIDATORS = Option(
    _PREFIX,
    "Checks of the rows of a write before it is committed, by name or Java class, separated by "
    "commas.",
    kind=NAMES,
)
EQUAL = Option(
    f"{_PREFIX}.equality.sql.queries",
    "Queries that must answer the same before and after the write, separated by semicolons; "
    f"{TABLE} is the table.",
)
UNEQUAL = Option(
    f"{_PREFIX}.inequality.sql.queries",
    "Queries that must not answer the same before and after the write, separated by semicolons; "
    f"{TABLE} is the table.",
)
SINGLE = Option(
    f"{_PREFIX}.single.value.sql.queries",
    "Queries with the one value that each must answer after the write: query#value;query#value.",
)

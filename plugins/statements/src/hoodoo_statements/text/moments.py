"""Moments: ``TIMESTAMP AS OF`` and ``VERSION AS OF`` of a table in a query, as ``table.read``
takes them."""

from __future__ import annotations

import re
from datetime import datetime

from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT

# With a space or T in the middle, and without a zone.
_LOCAL = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.](\d{1,9}))?)?")


def moment(version: exp.Version, name: str) -> str | int:
    """What ``as_of`` is for ``version`` of the table ``name``.

    A text without a zone means the zone of the table's timeline, and a day means its begin, both as
    in Spark Hudi. A version is the number of a commit, or an instant. Raises ConfigError for
    anything that is not a literal.
    """
    node, is_time = version.expression, version.name == "TIMESTAMP"
    if version.args.get("kind") != "AS OF":
        raise _refused(version, name)
    if isinstance(node, exp.Cast) and node.to.this in (*exp.DataType.TEMPORAL_TYPES,):
        node = node.this
    sign = -1 if isinstance(node, exp.Neg) else 1
    node = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(node, exp.Literal) or (is_time and sign < 0):
        raise _refused(version, name)
    text = str(node.this).strip()
    if not is_time and text.isdecimal() and len(text) < 14:
        return sign * int(text)
    return instant_of(text) if is_time else text


def instant_of(text: str) -> str:
    """``text`` as an instant in the zone of the table, if it has no zone; else as it is."""
    found = _LOCAL.fullmatch(text)
    if found is None:
        return text.replace(" ", "T", 1) if re.match(r"\d{4}-\d\d-\d\d \d", text) else text
    day, clock, fraction = found.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{clock or '00:00'}")
    except ValueError:
        return text  # the read says what is wrong with it
    return f"{at:%Y%m%d%H%M%S}" + (fraction[:3].ljust(3, "0") if fraction else "")


def _refused(version: exp.Version, name: str) -> ConfigError:
    return ConfigError(
        f"table {name}",
        f"has {version.sql(DIALECT)}, which is no literal.",
        f"Write TIMESTAMP AS OF '2026-01-31 12:00:00' or VERSION AS OF 3, or pass a read of that "
        f'time: tables={{"{name}": table.read(as_of=...)}}.',
    )

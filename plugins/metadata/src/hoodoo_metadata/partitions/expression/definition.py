"""Definition: what an expression index is of, as ``index.json`` says.

Source: ``HoodieExpressionIndex``, ``SparkHoodieExpressionIndex``, ``ExpressionIndexSupport`` of
Hudi 1.2. Values are those of Spark SQL in the time zone of the session, which nobody notes. So
bounds of moments are stored wide enough for each zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.range_values import Raw

from hoodoo_metadata.partitions.column_stats.value_types import is_stored, widest
from hoodoo_metadata.table.layout import BLOOM_FILTERS, COLUMN_STATS

_ZONES = timedelta(hours=14)  # no zone is further from UTC
_EPOCH, _DAYS = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"
# Texts of these parts, in this order, are in the order of time.
_PARTS = ("yyyy", "MM", "dd", "HH", "mm", "ss")
_PYTHON = dict(zip(_PARTS, ("{:%Y}", "{:%m}", "{:%d}", "{:%H}", "{:%M}", "{:%S}"), strict=True))
_MOMENT = 1_000_000  # microseconds in a second
_TEXTS = (
    "date_format from_unixtime substring upper lower trim ltrim rtrim regexp_replace regexp_extract"
)
# Function -> the type of its values; None: that of the column.
_ANSWERS: Mapping[str, pa.DataType | None] = {
    "identity": None,
    **dict.fromkeys(("year", "month", "day", "hour", "length"), pa.int32()),
    **dict.fromkeys(("to_date", "date_add", "date_sub"), pa.date32()),
    "unix_timestamp": pa.int64(),
    **dict.fromkeys(_TEXTS.split(), pa.string()),
}
FUNCTIONS = tuple(sorted(_ANSWERS))
# What Hudi calls the arguments behind the column.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("date_format", "from_unixtime", "to_date", "unix_timestamp"), ("format",)),
    **dict.fromkeys(("date_add", "date_sub"), ("days",)),
    "substring": ("pos", "len"),
    "regexp_replace": ("pattern", "replacement"),
    "regexp_extract": ("pattern", "idx"),
}
_CALL = re.compile(r"(?s)(?P<function>\w+)\s*\(\s*(?P<column>`[^`]+`|\w+)(?P<rest>.*)\)")
_NAME = r"(?:(?P<name>\w+)\s*=>\s*)?"
_LITERAL = re.compile(rf"\s*,\s*{_NAME}(?:'(?P<text>[^'\\]*)'|(?P<number>-?\d+))")
# Of these a value is null only where the column is.
_TOTAL = frozenset({"identity", "upper", "lower", "trim", "ltrim", "rtrim", "substring", "length"})
# Of texts that are no dates these are null, too.
_OF_DAYS = frozenset({"year", "month", "day", "hour", "date_add", "date_sub"})
_TOTAL |= _OF_DAYS


@frozen
class Expression:
    """The index of ``function`` of ``column``, whose type is ``kind``. ``stored``: the name of what
    is stored of it, ``column_stats`` or ``bloom_filters``."""

    column: str
    kind: pa.DataType
    function: str
    options: Mapping[str, str]
    stored: str

    @classmethod
    def of(cls, defined: Any, schema: pa.Schema, version: int) -> Expression | None:
        """None for one that is defined in a way which Hoodoo does not know."""
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            (column,) = defined["sourceFields"]
            options = dict(defined["indexOptions"])
            function = options.get("expr") or defined["indexFunction"] or "identity"
            kind, stored = schema.field(column).type, defined["indexType"]
            if function in ("date_add", "date_sub"):
                int(options["days"])
            found = cls(column, kind, function, options, stored)
            if function in _ANSWERS and stored in (COLUMN_STATS, BLOOM_FILTERS):
                # What the range of a floating column is beside NaN, engines disagree about.
                floating = pa.types.is_floating(found.answer)
                return found if is_stored(found.answer, version) and not floating else None
        return None

    @classmethod
    def parsed(cls, text: str, schema: pa.Schema, version: int) -> Expression | None:
        """Of SQL such as ``from_unixtime(ts, 'yyyy-MM-dd')``; None if it is no expression that can
        be indexed."""
        called = _CALL.fullmatch(text.strip())
        if called is None:
            return None
        function = called["function"].lower()
        given = list(_LITERAL.finditer(called["rest"]))
        names = _OPTIONS.get(function, ())
        if len(given) > len(names) or _LITERAL.sub("", called["rest"]).strip():
            return None
        pairs = list(zip(names, given, strict=False))
        if any((one["name"] or name) != name for name, one in pairs):
            return None
        options = {"expr": function, **{n: one["number"] or one["text"] for n, one in pairs}}
        defined = {
            "sourceFields": [called["column"].strip("`")],
            "indexOptions": options,
            "indexFunction": function,
            "indexType": COLUMN_STATS,
        }
        return cls.of(defined, schema, version)

    @property
    def answer(self) -> pa.DataType:
        """The type of the values."""
        return _ANSWERS[self.function] or self.kind

    def of_file(self, found: ColumnRange) -> ColumnRange | None:
        """The range of the expression in a file whose column is in the range ``found``; None if
        nothing narrower is known than what the type holds."""
        if found.is_deleted or not found.is_known:
            return None
        if found.nulls >= found.values and self._is_total:
            return evolve(found, kind=None, least=None, greatest=None)
        ends = self._ends(found)
        return None if ends is None else self._ranged(found, *ends)

    def of_any(self, found: ColumnRange) -> ColumnRange:
        """The same, with bounds that hold whatever there is."""
        return self.of_file(found) or self._ranged(found, *widest(self.answer))

    def _ranged(self, found: ColumnRange, least: Raw, greatest: Raw) -> ColumnRange:
        more = 0 if self._is_total else 1  # it may be null where the column is not
        return evolve(
            found,
            least=least,
            greatest=greatest,
            kind=self.answer,
            values=found.values + more,
            nulls=found.nulls + more,
            is_tight=False,
        )

    @property
    def _is_total(self) -> bool:
        of_text = pa.types.is_string(self.kind) or pa.types.is_large_string(self.kind)
        return self.function in _TOTAL and not (of_text and self.function in _OF_DAYS)

    def _ends(self, found: ColumnRange) -> tuple[Raw, Raw] | None:
        """Of functions that keep the order of values."""
        least, greatest = found.least, found.greatest
        if least is None or greatest is None:
            return None
        if self.function == "identity":
            return least, greatest
        if self.function in ("date_add", "date_sub") and pa.types.is_date32(self.kind):
            days = int(self.options["days"]) * (1 if self.function == "date_add" else -1)
            return int(least) + days, int(greatest) + days
        make = self._of_moment()
        moment = _moments(self.kind, seconds=self.function == "from_unixtime")
        if make is None or moment is None:
            return None
        around = timedelta(0) if pa.types.is_date32(self.kind) else _ZONES
        with suppress(OverflowError, ValueError):
            return make(moment(int(least)) - around), make(moment(int(greatest)) + around)
        return None

    def _of_moment(self) -> Callable[[datetime], Raw] | None:
        if self.function == "year":
            return lambda moment: moment.year
        if self.function == "to_date" and not self.options.get("format"):
            return lambda moment: moment.toordinal() - _DAYS
        if self.function not in ("date_format", "from_unixtime"):
            return None
        return _formatted(self.options.get("format") or _DEFAULT_FORMAT)


def _moments(kind: pa.DataType, seconds: bool) -> Callable[[int], datetime] | None:
    """How a raw value is read as a moment."""
    if pa.types.is_date32(kind):
        return lambda raw: _EPOCH + timedelta(days=raw)
    if pa.types.is_integer(kind) and seconds:
        return lambda raw: _EPOCH + timedelta(seconds=raw)
    if pa.types.is_timestamp(kind) and kind.unit in ("ms", "us"):
        ticks = _MOMENT if kind.unit == "us" else 1000
        return lambda raw: _EPOCH + timedelta(microseconds=raw * (_MOMENT // ticks))
    return None


def _formatted(pattern: str) -> Callable[[datetime], Raw] | None:
    """Texts of moments; None for a ``pattern`` whose texts are not in the order of time."""
    python, rest = "", pattern
    parts = [part for part in _PARTS if part in pattern]
    if tuple(parts) != _PARTS[: len(parts)] or not parts:
        return None
    for part in parts:
        before, _, rest = rest.partition(part)
        python += before.replace("{", "{{").replace("}", "}}") + _PYTHON[part]
        if any(c.isalpha() or c == "'" for c in before):
            return None
    if any(c.isalpha() or c == "'" for c in rest):
        return None
    count = len(parts)
    text = python + rest.replace("{", "{{").replace("}", "}}")

    def made(moment: datetime) -> Raw:
        if not 1000 <= moment.year <= 9998:  # texts of other years are longer, or shorter
            raise ValueError(moment)
        return text.format(*[moment] * count)

    return made

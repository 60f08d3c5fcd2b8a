"""Partition paths from times: what Hudi's timestamp key generator makes of its column.

Source: ``TimestampBasedAvroKeyGenerator`` and ``HoodieDateTimeParser`` of Hudi 1.2. Where a table
says no time zone Hudi takes that of its JVM; here it is UTC, and tables made here say so
(:meth:`properties`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import field, frozen
from hoodoo.errors import DataError, SchemaError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard import options
from hoodoo_standard.keygen.joda_format import format_instants
from hoodoo_standard.keygen.joda_parse import Parser, parse_instants
from hoodoo_standard.keygen.joda_pattern import Token, pattern_tokens, slashes
from hoodoo_standard.keygen.joda_zone import UTC, Longs, Zone
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.paths import Paths, UnsaidPaths
from hoodoo_standard.keygen.record_key import column
from hoodoo_standard.keygen.timestamp_settings import (
    LARGE,
    SMALL,
    lacks,
    only_given,
    patterns_of,
    said,
    unit_of,
    zones_of,
)

_READ = ("DATE_STRING", "MIXED")
_PARSER = "org.apache.hudi.keygen.parser.HoodieDateTimeParser"
_FARTHEST = 8_000_000_000_000_000_000  # ms; beyond, a time zone's offset would not fit any more


def time_paths(settings: Settings, name: str) -> Paths:
    """Those of column ``name``, also where the table does not say how they are made."""
    for option in (options.TIME_TYPE, options.OUTPUT_FORMAT):
        if not said(settings, option):
            shape = PartitionPaths.from_settings(settings, (name,))
            return UnsaidPaths((name,), lacks(option, name), shape.logical_timestamps)
    return TimestampPaths.from_settings(settings, name)


@frozen
class TimestampPaths:
    """How the time in column ``name`` becomes a path. ``unit``: of numbers; None: texts are read,
    by ``parsers``. ``null``: the text that stands for null, where texts are read."""

    name: str
    output: tuple[Token, ...]
    unit: str | None
    parsers: tuple[Parser, ...] = ()
    null: str = ""
    input_zone: Zone | None = None
    output_zone: Zone | None = None
    shape: PartitionPaths = field(factory=PartitionPaths)  # hive style, URL encoding
    given: tuple[tuple[str, str], ...] = ()  # settings that the table does not have

    @classmethod
    def from_settings(cls, settings: Settings, name: str) -> TimestampPaths:
        """ConfigError for settings that are missing or can't be followed exactly."""
        shape = PartitionPaths.from_settings(settings, (name,))
        kind, output = said(settings, options.TIME_TYPE), said(settings, options.OUTPUT_FORMAT)
        said(settings, options.TIME_PARSER)  # another one is an error
        input_zone, output_zone = zones_of(settings)
        parsers: tuple[Parser, ...] = ()
        null = ""
        if kind in _READ:
            patterns = patterns_of(settings, name)
            key = options.INPUT_FORMAT.key
            parsers = tuple(Parser.of(pattern_tokens(p, key, parsing=True)) for p in patterns)
            first = pattern_tokens(patterns[0], key)
            zone, instant = input_zone or output_zone or UTC, np.ones(1, np.int64)
            null = format_instants(instant, zone.offsets(instant), first)[0].as_py()
        return cls(
            name,
            pattern_tokens(output, options.OUTPUT_FORMAT.key),
            unit_of(kind, settings),
            parsers,
            null,
            input_zone,
            output_zone,
            shape,
            only_given(settings),
        )

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def logical_timestamps(self) -> bool:
        return self.shape.logical_timestamps

    @property
    def levels(self) -> int:
        """How many directories a path is."""
        return 1 if self.shape.url_encode else 1 + slashes(self.output)

    def properties(self) -> Mapping[str, str]:
        """What a new table notes: all settings, and zones, so that no JVM's matters. Where texts
        tell their offsets, and paths follow them, there is no zone to note."""
        noted = dict(self.given)
        zone = self.input_zone or UTC
        if self.parsers and self.input_zone is None and any(p.has("Z") for p in self.parsers):
            return noted
        if self.parsers and self.input_zone is None:
            noted[options.INPUT_ZONE.key] = zone.name
        if self.output_zone is None:
            noted[options.OUTPUT_ZONE.key] = zone.name if self.parsers else UTC.name
        return noted

    def paths(self, batch: pa.RecordBatch) -> pa.StringArray:
        """The partition path of each row; null is the time 1 of the column's unit, as in Hudi.

        MissingColumnError; SchemaError for a column that can't hold times; DataError for a text
        that is none of the formats, a time that is out of range, or a path that is none."""
        coded = self._paths(batch)
        return coded.dictionary.take(coded.indices)

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """Nothing: a path is a formatted time."""

    def values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """None: a path holds a span of times, and no value is certain."""
        return None

    def _paths(self, batch: pa.RecordBatch) -> pa.DictionaryArray:
        values = column(batch, self.name)
        if pt.is_dictionary(values.type):
            values = values.dictionary_decode()
        rows = None
        if self._is_text(values.type):
            # Reading a text costs much: once for each distinct one.
            told = pc.fill_null(values.cast(pa.string()), self.null).dictionary_encode()
            rows = told.indices
            millis, offsets = parse_instants(
                told.dictionary, self.parsers, self.input_zone, self.name
            )
        else:
            millis = self._numbers(values)
            offsets = np.zeros(len(millis), np.int64)
        if self.output_zone is not None:
            offsets = self.output_zone.offsets(millis)
        texts = format_instants(millis, offsets, self.output)
        indices = texts.indices if rows is None else texts.indices.take(rows)
        return pa.DictionaryArray.from_arrays(
            indices, self.shape.named(self.name, texts.dictionary)
        )

    def _is_text(self, kind: pa.DataType) -> bool:
        return bool(self.parsers) and (_text(kind) or pt.is_null(kind))

    def _numbers(self, values: pa.Array) -> Longs:
        """Instants in ms. Java's conversions: towards zero, from whatever number the column has."""
        kind = values.type
        if pt.is_timestamp(kind) and self.logical_timestamps and kind.tz is not None:
            micros = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
            millis = _divided(_longs(micros), 1000)
            return np.where(np.asarray(pc.is_null(values)), self._null(), millis)
        if pt.is_date(kind):
            values = values.cast(pa.date32()).cast(pa.int32())
        elif pt.is_timestamp(kind):
            unit = kind.unit if kind.unit in ("ms", "us") else "us"  # Hudi stores these two
            values = values.cast(pa.timestamp(unit, kind.tz), safe=False).cast(pa.int64())
        elif pt.is_time(kind):
            values = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        elif pt.is_floating(kind) or pt.is_decimal(kind):
            values = _whole(values, self.name)
        elif _text(kind):
            values = _digits(values.cast(pa.string()), self.name)
        elif not (pt.is_integer(kind) or pt.is_null(kind)):
            raise SchemaError(
                f"partition column {self.name!r}",
                f"has type {kind}, which holds no time.",
                "partition by a column of numbers, texts, dates or timestamps.",
            )
        return self._millis(_longs(values))

    def _null(self) -> Longs:
        """The instant that stands for null, as one number."""
        if self.parsers:
            text = pa.array([self.null])
            return parse_instants(text, self.parsers, self.input_zone, self.name)[0]
        return self._millis(np.ones(1, np.int64))

    def _millis(self, numbers: Longs) -> Longs:
        if self.unit is None:
            raise SchemaError(
                f"partition column {self.name!r}",
                "holds no text, and DATE_STRING and MIXED have no unit for numbers.",
                f"create the table with a {options.TIME_TYPE.key} for numbers.",
            )
        if self.unit in SMALL:
            return _divided(numbers, SMALL[self.unit])
        factor = LARGE[self.unit]
        most = _FARTHEST // factor
        if ((numbers > most) | (numbers < -most)).any():
            raise DataError(
                f"partition column {self.name!r}",
                f"has a time beyond {most} {self.unit.lower()}.",
                "correct the data, or the unit of the table.",
            )
        return numbers * factor


def _text(kind: pa.DataType) -> bool:
    return pt.is_string(kind) or pt.is_large_string(kind) or kind == pa.string_view()


def _digits(values: pa.StringArray, name: str) -> pa.Array:
    """Numbers that are told as text: an update by Spark SQL makes a long column so (golden tables),
    and then fails itself over what it made."""
    wrong = values.filter(pc.invert(pc.match_substring_regex(values, pattern=r"^-?\d{1,18}$")))
    if len(wrong.drop_null()):
        raise DataError(
            f"partition column {name!r}",
            f"its value {wrong.drop_null()[0].as_py()!r} is no number, and the table tells no "
            "format of text.",
            f"correct the data, or create the table with {options.TIME_TYPE.key}=DATE_STRING and "
            f"{options.INPUT_FORMAT.key}.",
        )
    return values.cast(pa.int64())


def _longs(values: pa.Array) -> Longs:
    """int64 without nulls: null is 1."""
    return np.asarray(pc.fill_null(values.cast(pa.int64()), 1).to_numpy(zero_copy_only=False))


def _divided(numbers: Longs, by: int) -> Longs:
    """Towards zero, as Java divides. (The least number has no counterpart above zero to divide.)"""
    return np.asarray(numbers // by + ((numbers < 0) & (numbers % by != 0)), np.int64)


def _whole(values: pa.Array, name: str) -> pa.Array:
    """Numbers without what is behind the point; not-a-number is 0."""
    try:
        if pt.is_floating(values.type):
            cut = pc.trunc(values.cast(pa.float64()))
            return pc.if_else(pc.is_nan(cut), 0.0, cut).cast(pa.int64())
        return pc.trunc(values).cast(pa.decimal256(76, 0), safe=False).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"partition column {name!r}",
            f"has a number that is no time ({error}).",
            "correct the data.",
        ) from error

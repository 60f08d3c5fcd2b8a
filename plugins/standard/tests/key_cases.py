"""Keys and paths of Hudi's key generators beside Hoodoo's, and every way in which they may differ.

A :class:`Group` is one key generator with its options, and rows with the strings that Spark Hudi made of
them; :func:`compared` makes ours and names each difference. What has no name in :data:`DIFFERENCES`
is a fault.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from attrs import define, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig

WRITE = "hoodie.datasource.write."
TIME = "hoodie.keygen.timebased."
KEYS, PARTITIONS = WRITE + "recordkey.field", WRITE + "partitionpath.field"
VERSION, ENCODING = "hoodie.write.table.version", "hoodie.write.complex.keygen.new.encoding"
# What the table itself says under another name.
PROPERTIES = {
    KEYS: "hoodie.table.recordkey.fields",
    PARTITIONS: "hoodie.table.partition.fields",
    VERSION: "hoodie.table.version",
}
NESTED = pa.struct(
    [
        ("a", pa.string()),
        ("n", pa.int32()),
        ("deep", pa.struct([("b", pa.string()), ("d", pa.date32())])),
    ]
)
_TYPES = {
    "string": pa.string(), "int64": pa.int64(), "int32": pa.int32(), "int16": pa.int16(),
    "int8": pa.int8(), "float": pa.float32(), "double": pa.float64(), "bool": pa.bool_(),
    "date32[day]": pa.date32(), "binary": pa.binary(), "timestamp[us]": pa.timestamp("us"),
    "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC"),
    "struct<a:string,n:int32,deep:struct<b:string,d:date32>>": NESTED,
}  # fmt: skip


@frozen
class Strings:
    """What became of one row; None: refused."""

    key: str | None
    path: str | None


@define(slots=False)
class Group:
    """``options``: those of a Spark writer. ``wanted``: one for each row; None: Spark has no such
    generator, and then there is one row."""

    generator: str
    options: Mapping[str, str]
    rows: pa.RecordBatch
    wanted: list[Strings | None]

    @cached_property
    def key_fields(self) -> list[str]:
        return _names(self.options.get(KEYS))

    @cached_property
    def partition_fields(self) -> list[str]:
        return [name.split(":")[0] for name in _names(self.options.get(PARTITIONS))]

    @property
    def time_type(self) -> str | None:
        return self.options.get(TIME + "timestamp.type")

    def settings(self) -> Settings:
        said = {KEYS: "", PARTITIONS: "", VERSION: "9", **self.options}
        return Settings(TableConfig({PROPERTIES.get(k, k): v for k, v in said.items()}))


@frozen
class Case:
    """One string. ``what``: ``table``, ``key`` or ``path``; None: refused."""

    group: Group
    row: int
    what: str
    spark: str | None
    ours: str | None

    @property
    def values(self) -> list[tuple[pa.DataType | None, Any]]:
        """Type and value of each column the string is made of; no type: there is no such column."""
        of_key = self.what == "key"
        fields = self.group.key_fields if of_key else self.group.partition_fields
        return [_value(self.group.rows, self.row, field) for field in fields]

    def __str__(self) -> str:
        shown = [value for _type, value in self.values]
        return (
            f"{self.group.generator} {dict(self.group.options)} {self.what} of {shown!r}: "
            f"Spark {self.spark!r}, Hoodoo {self.ours!r}"
        )


def compared(group: Group) -> Iterator[tuple[Case, str | None]]:
    """Each string of ``group`` with ``equal``, the name of its difference, or None for a fault."""
    try:
        made = resolve("key_generator", group.generator, group.settings()).instance
        noted = getattr(made, "table_properties", dict)()  # here, what paths need is missed
        assert all(noted.values())
    except HoodooError:
        for row, strings in enumerate(group.wanted):
            refused = strings is None or strings.key is None or strings.path is None
            spark = None if strings is None or refused else f"{strings.key} {strings.path}"
            yield _judged(Case(group, row, "table", spark, None))
        return
    if group.wanted == [None]:
        yield _judged(Case(group, 0, "table", None, "made"))
        return
    keys, paths = _asked(made.record_keys, group.rows), _asked(made.partition_paths, group.rows)
    for row, strings in enumerate(group.wanted):
        assert strings is not None
        yield _judged(Case(group, row, "key", strings.key, keys[row]))
        yield _judged(Case(group, row, "path", strings.path, paths[row]))


def _judged(case: Case) -> tuple[Case, str | None]:
    if case.ours == case.spark:
        return case, "equal"
    return case, next((name for name, applies in DIFFERENCES.items() if applies(case)), None)


def _asked(ask: Callable[[pa.RecordBatch], pa.Array], rows: pa.RecordBatch) -> list[str | None]:
    """The string of each row: of all rows at once, by halves where one among them is refused."""
    try:
        found: list[str | None] = ask(rows).to_pylist()
    except HoodooError:
        if rows.num_rows == 1:
            return [None]
        half = rows.num_rows // 2
        return _asked(ask, rows.slice(0, half)) + _asked(ask, rows.slice(half))
    assert None not in found and len(found) == rows.num_rows
    return found


# --- the differences --------------------------------------------------------------------------------
_READ = ("DATE_STRING", "MIXED")
_ZONES = [TIME + name for name in ("timezone", "input.timezone", "output.timezone")]
_IN_MS = {
    "UNIX_TIMESTAMP": 1000, "EPOCHMILLISECONDS": 1, "SECONDS": 1000, "MILLISECONDS": 1,
    "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000,
}  # fmt: skip
_EPOCH, _MICROSECOND = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
_SCIENTIFIC = re.compile(r"\d\.\d+E-?\d+")
_LETTERS = re.compile(r"([A-Za-z])\1*")


def _java_digits(case: Case) -> bool:
    """The same numbers, told by other digits."""
    kinds = [
        np.float32 if kind == pa.float32() else np.float64
        for kind, _value in case.values
        if kind in (pa.float32(), pa.float64())
    ]
    if case.spark is None or case.ours is None:
        return False
    if _SCIENTIFIC.sub("#", case.spark) != _SCIENTIFIC.sub("#", case.ours):
        return False
    pairs = zip(_SCIENTIFIC.findall(case.spark), _SCIENTIFIC.findall(case.ours), strict=True)
    with np.errstate(over="ignore"):
        return all(
            a == b or any(0 != abs(kind(a)) < np.inf and kind(a) == kind(b) for kind in kinds)
            for a, b in pairs
        )


def _is_timed(case: Case) -> bool:
    return case.what == "path" and case.group.generator in ("TIMESTAMP", "CUSTOM")


def _digits_as_text(case: Case) -> bool:
    text = [value for kind, value in case.values if kind == pa.string()]
    return (
        _is_timed(case) and case.spark is None and case.group.time_type not in _READ
        and any(re.fullmatch(r"-?\d{1,18}", value or "") for value in text)
    )  # fmt: skip


def _outside(case: Case) -> bool:
    if case.what != "path" or case.ours is not None or not case.spark:
        return False
    parts = case.spark.split("/")
    return "\0" in case.spark or any(p in ("", ".", "..") or p[:7] == ".hoodie" for p in parts)


def _beyond(case: Case) -> bool:
    said = case.group.time_type or ""
    unit = case.group.options.get(TIME + "timestamp.scalar.time.unit", "SECONDS").upper()
    factor = _IN_MS.get(unit if said == "SCALAR" else said)
    most = 2**63 - 1 if factor is None else 8 * 10**18 // factor
    numbers: list[Any] = [
        (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND if isinstance(value, dt.datetime) else value
        for _type, value in case.values
        if isinstance(value, int | float | Decimal | dt.datetime) and not isinstance(value, bool)
    ]  # fmt: skip
    return _is_timed(case) and case.ours is None and any(abs(number) > most for number in numbers)


def _null_of_no_time(case: Case) -> bool:
    texts = case.group.time_type in _READ
    return _is_timed(case) and case.ours is None and any(
        value is None and (kind == pa.bool_() or (texts and kind != pa.string()))
        for kind, value in case.values
    )  # fmt: skip


def _unknown_zone(case: Case) -> bool:
    return case.what == "table" and case.ours is None and any(
        not _is_place(zone) for key in _ZONES if (zone := case.group.options.get(key))
    )  # fmt: skip


def _is_place(zone: str) -> bool:
    try:
        return bool(ZoneInfo(zone))
    except (KeyError, ValueError):
        return zone.startswith("GMT") or (len(zone) == 3 and zone.isupper())


def _letters(case: Case) -> bool:
    def found(option: str) -> set[str]:
        pattern = re.sub(r"'[^']*'", "", case.group.options.get(TIME + option, ""))
        return {letters[0] for letters in _LETTERS.finditer(pattern)}

    written, read = found("output.dateformat"), found("input.dateformat")
    if case.what != "table" or case.ours is not None:
        return False
    said_otherwise = any(letters[0] in "Exwe" or letters == "yy" for letters in read)
    unmapped = any(x[0] in "GCz" or x.startswith("ZZZ") for x in written | read)
    return unmapped or (case.group.time_type in _READ and said_otherwise)


def _one_field(case: Case) -> bool:
    return case.group.generator == "COMPLEX" and len(case.group.key_fields) == 1


# Name -> whether it is this difference. Their reasons: docs/writing.md, "Where strings differ".
DIFFERENCES: dict[str, Callable[[Case], bool]] = {
    "digits of a JVM before 19": _java_digits,
    "digits in a text column that is a time": _digits_as_text,
    "paths outside": _outside,
    "times out of range": _beyond,
    "null in a column of no time": _null_of_no_time,
    "unknown zones": _unknown_zone,
    "words in another case": lambda case: (
        case.spark is None and case.group.options.get(TIME + "timestamp.type", "").islower()
    ),
    "letters of patterns": _letters,
    "structs": lambda case: (
        case.ours is None
        and any(kind is not None and pa.types.is_struct(kind) for kind, _value in case.values)
    ),
    "a field of a struct that is null": lambda case: (
        case.what == "key" and case.spark is None and len(case.group.key_fields) > 1
        and any(_in_null(case.group.rows, case.row, field) for field in case.group.key_fields)
    ),
    "missing columns": lambda case: (
        case.ours is None and any(kind is None for kind, _value in case.values)
    ),
    "`COMPLEX` with one column, form unknown": lambda case: (
        case.what == "key" and case.ours is None and _one_field(case)
        and case.group.options.get(VERSION) in ("6", "8") and ENCODING not in case.group.options
    ),
    "`COMPLEX` with one column, value alone, in version 9": lambda case: (
        case.what == "table" and case.ours is None and _one_field(case)
        and case.group.options.get(VERSION, "9") == "9" and case.group.options[ENCODING] == "true"
    ),
    "`NON_PARTITION` with a partition column": lambda case: (
        case.group.generator == "NON_PARTITION" and case.what == "table"
        and bool(case.group.partition_fields)
    ),
    "`CUSTOM` without a partition column": lambda case: (
        case.group.generator == "CUSTOM" and case.what == "table" and case.spark is None
        and not case.group.partition_fields
    ),
}  # fmt: skip


# --- the recorded strings ---------------------------------------------------------------------------
def recorded(lines: Iterable[str]) -> Iterator[Group]:
    """Groups of recorded lines: ``generator``, ``options``, ``row`` {column: {type, value}}, ``key`` and
    ``partition`` (null: refused); ``row`` is null where the generator could not be made."""
    together: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        found = json.loads(line)
        types = {name: cell["type"] for name, cell in (found["row"] or {}).items()}
        key = json.dumps([found["generator"], found["options"], types, found["row"] is None])
        together.setdefault(key, []).append(found)
    for key, same in together.items():
        generator, options, types, impossible = json.loads(key)
        columns = {"#": pa.array(range(len(same)))}  # rows without columns are rows, too
        for name, text in types.items():
            kind = _type(text)
            cells = [_parsed(kind, line["row"][name]["value"]) for line in same]
            columns[name] = pa.array(cells, kind)
        wanted = [None if impossible else Strings(line["key"], line["partition"]) for line in same]
        yield Group(generator, options, pa.RecordBatch.from_pydict(columns), wanted)


def _type(text: str) -> pa.DataType:
    if text.startswith("decimal"):
        return pa.decimal128(*map(int, re.findall(r"\d+", text)[1:]))
    return _TYPES[text]


def _parsed(kind: pa.DataType, value: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _parsed(field.type, value.get(field.name)) for field in kind}
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(value)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(value)
    if pa.types.is_binary(kind):
        return bytes.fromhex(value)
    return float(value) if pa.types.is_floating(kind) else value


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _in_null(rows: pa.RecordBatch, row: int, field: str) -> bool:
    return "." in field and _value(rows, row, field.rpartition(".")[0])[1] is None


def _value(rows: pa.RecordBatch, row: int, field: str) -> tuple[pa.DataType | None, Any]:
    head, *rest = field.split(".")
    if head not in rows.schema.names:
        return None, None
    kind, value = rows.schema.field(head).type, rows.column(head)[row].as_py()
    for name in rest:
        if name not in [f.name for f in kind]:
            return None, None
        kind, value = kind.field(name).type, None if value is None else value[name]
    return kind, value

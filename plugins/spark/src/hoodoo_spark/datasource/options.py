"""What the options of the data source ask for: own names, and those of Spark Hudi."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import TypeVar

from attrs import field, frozen
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.kernel.options import known_to_hudi
from hoodoo.kernel.resolve import declared_options
from hoodoo.model.writer_keys import WRITER_KEYS
from hoodoo.options.kinds import FLAG, BadValueError, Kind, Size, Whole
from hoodoo.options.write import OVERWRITES

from hoodoo_spark.datasource.others import refuse_others, refuse_several

SNAPSHOT, READ_OPTIMIZED = "snapshot", "read_optimized"
INCREMENTAL, CHANGES = "incremental", "changes"
BATCH, STREAM, ANY = "batch", "stream", "any"
MODES = (SNAPSHOT, READ_OPTIMIZED, INCREMENTAL, CHANGES)
_READ, _WRITE = "hoodie.datasource.read.", "hoodie.datasource.write."
_FORMAT = "hoodie.datasource.query.incremental.format"
# Own name -> the names that Spark Hudi has for it.
NAMES: Mapping[str, tuple[str, ...]] = {
    "path": (),
    "as_of": ("as.of.instant",),
    "mode": ("hoodie.datasource.query.type", "hoodie.datasource.view.type"),
    "begin": (f"{_READ}begin.instanttime", "hoodie.datasource.streaming.startOffset"),
    "end": (f"{_READ}end.instanttime",),
    "columns": (),
    "meta": (),
    "tasks": (),
    "pushdown": (),
    "operation": (f"{_WRITE}operation",),
    "maxFilesPerTrigger": (),
    "maxBytesPerTrigger": (),
}
# What users of Spark Hudi's SQL give tables, and its names in jobs.
OF_TABLES = {
    "primaryKey": f"{_WRITE}recordkey.field",
    "preCombineField": f"{_WRITE}precombine.field",
    "orderingFields": "hoodie.table.ordering.fields",
    "type": f"{_WRITE}table.type",
}
_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
# Beside the options of a table of the catalog, which no user gives.
NOTED = "hoodoo.noted"
# Spark's own, which say nothing here.
_SPARKS = frozenset(
    [
        "checkpointlocation",
        "queryname",
        "outputmode",
        "asyncprogresstrackingenabled",
        "asyncprogresstrackingcheckpointintervalms",
        "provider",
        "comment",
        "owner",
        "external",
        "location",
        "is_managed_location",
        "serialization.format",
        "transient_lastddltime",
        "inputformat",
        "outputformat",
        "serde",
        "paths",
    ]
)
# As Spark Hudi takes a moment: without a zone it is one of the zone of this process.
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")


T = TypeVar("T")


@frozen
class Wanted:
    """The options, read. ``hoodie`` are those that tables are opened, created and written with."""

    path: str
    mode: str = SNAPSHOT
    as_of: str | date | None = None
    begin: str | date | None = None
    end: str | date | None = None
    columns: tuple[str, ...] | None = None
    meta: bool = False
    tasks: int | None = None
    pushdown: bool = False
    operation: str | None = None
    # To overwrite is to overwrite the partition paths of the rows; None where no option says so.
    dynamic: bool | None = None
    max_files: int | None = None
    max_bytes: int | None = None
    hoodie: Mapping[str, str] = field(factory=dict)
    # Spark's catalog says it, with the columns that it noted.
    catalog: bool = field(default=False, eq=False)
    # Column -> type, as the table had them when the catalog noted it.
    noted: Mapping[str, str] = field(factory=dict, eq=False)

    @classmethod
    def of(cls, options: Mapping[str, str], use: str = BATCH) -> Wanted:
        """``use`` is BATCH, STREAM, or ANY where only the schema is asked for, which Spark does
        before it says which.

        Raises ConfigError for options that nobody knows, or that are of another type than theirs,
        and OptionConflictError for such as contradict each other."""
        lowered = {str(key).lower(): str(text) for key, text in options.items()}
        noted: dict[str, str] = json.loads(lowered.pop(NOTED, "{}"))
        found: dict[str, str] = {}
        moments: dict[str, str | date] = {}
        for own, others in NAMES.items():
            said = [
                (name, lowered.pop(name.lower()))
                for name in (own, *others)
                if name.lower() in lowered
            ]
            if not said:
                continue
            (name, text), *more = said
            for other, differs in more:
                if differs != text:
                    raise OptionConflictError(
                        f"option {name}={text!r}",
                        f"says something else than {other}={differs!r}",
                        "give one of them.",
                    )
            found[own] = text.strip()
            moments[own] = found[own] if name == own else _moment(found[own], own)
        kind = lowered.pop(_FORMAT, "latest_state").strip().lower()
        if kind not in ("latest_state", "cdc"):
            raise ConfigError(
                f"option {_FORMAT}={kind!r}", "is no format", "use latest_state or cdc."
            )
        refuse_others(lowered)
        dynamic = OVERWRITES.given({n: lowered.pop(n) for n in OVERWRITES.names if lowered.get(n)})
        if not found.get("path"):
            refuse_several(lowered)
            raise ConfigError(
                'format "hoodoo"',
                "was given no path",
                'say which table: .load("/data/trips"), or option("path", ...).',
            )
        mode = _mode(found, kind == "cdc", use)
        if mode in (INCREMENTAL, CHANGES) and use == BATCH and "begin" not in found:
            raise ConfigError(
                f"mode {mode!r}",
                "needs to know where it begins",
                'give option("begin", instant), or "earliest".',
            )
        return cls(
            path=found["path"],
            mode=mode,
            as_of=moments.get("as_of"),
            begin=moments.get("begin"),
            end=moments.get("end"),
            columns=_columns(found.get("columns")),
            meta=_read("meta", found, FLAG) or False,
            tasks=_read("tasks", found, Whole(1)),
            pushdown=_read("pushdown", found, FLAG) or False,
            operation=found.get("operation"),
            dynamic=dynamic == "dynamic" if dynamic else None,
            max_files=_read("maxFilesPerTrigger", found, Whole(1)),
            max_bytes=_read("maxBytesPerTrigger", found, Size(1)),
            hoodie=_hoodie(lowered),
            catalog="provider" in lowered,
            noted=noted,
        )


def _mode(found: Mapping[str, str], cdc: bool, use: str) -> str:
    stream = use == STREAM
    bounded = "begin" in found or "end" in found
    mode = found.get("mode", "").lower()
    mode = SNAPSHOT if mode == "realtime" else mode  # as older Hudis call it
    if not mode:
        mode = INCREMENTAL if stream or bounded or cdc else SNAPSHOT
    if mode not in MODES:
        raise ConfigError(f"mode {mode!r}", "is no way to read", f"use one of {', '.join(MODES)}.")
    if cdc and mode == INCREMENTAL:
        mode = CHANGES
    if mode not in (INCREMENTAL, CHANGES):
        if stream or bounded or cdc:
            wanted = "a stream" if stream else "begin and end"
            raise OptionConflictError(
                f"mode {mode!r}",
                f"reads one state of the table, and {wanted} asks for what was written since",
                f"use mode {INCREMENTAL!r} or {CHANGES!r}, or leave mode out.",
            )
    elif stream and "end" in found:
        raise OptionConflictError(
            f"end={found['end']!r}",
            "ends a read, and a stream has no end.",
            "Leave it out; for a query that ends use a batch read, or trigger(availableNow=True).",
        )
    elif "as_of" in found:
        raise OptionConflictError(
            f"as_of={found['as_of']!r}",
            f"asks for one state of the table, and mode {mode!r} for what was written",
            "give begin and end, or mode snapshot.",
        )
    return mode


def _moment(text: str, own: str) -> str | date:
    if text == "000" and own != "as_of":  # Spark Hudi's usual way to say from the beginning
        return "earliest"
    return datetime.fromisoformat(text).astimezone() if _MOMENT.fullmatch(text) else text


def _columns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _read(name: str, found: Mapping[str, str], kind: Kind[T]) -> T | None:
    if name not in found:
        return None
    try:
        return kind.parse(found[name])
    except BadValueError as error:
        raise ConfigError(
            f"option {name}={found[name]!r}", f"{error.rule}.", error.nearest
        ) from error


def _hoodie(lowered: Mapping[str, str]) -> dict[str, str]:
    """What is left, by the names as they are declared: Spark knows options in lower case only."""
    found: dict[str, str] = {}
    unknown = []
    tables = {name.lower(): key for name, key in OF_TABLES.items()}
    for key, text in lowered.items():
        if key in tables:
            found.setdefault(tables[key], _TYPES.get(text.strip().lower(), text))
        elif "." in key and key.partition(".")[0] in ("hoodie", "hoodoo", "fs", "s3", "s3a"):
            found[_spelt().get(key, key)] = text
        elif (
            key in _spelt()
        ):  # those of stores, as hoodoo.open takes them: region, aws_access_key_id
            found[_spelt()[key]] = text
        elif (
            key not in _SPARKS
            and not key.startswith(("option.", "spark."))
            # A catalog notes more than its users gave as OPTIONS, which it has under two names.
            and ("provider" not in lowered or f"option.{key}" in lowered)
        ):
            unknown.append(key)
    if unknown:
        names = [*NAMES, *OF_TABLES]
        near = difflib.get_close_matches(unknown[0], [name.lower() for name in names], 1, 0.6)
        hint = f"Did you mean {next(n for n in names if n.lower() == near[0])}? " if near else ""
        raise ConfigError(
            f"option {', '.join(unknown)}",
            'is not an option of format "hoodoo"',
            f"{hint}There are {', '.join(names)}, and all that begin with hoodie.",
        )
    return found


@lru_cache(maxsize=1)
def _spelt() -> Mapping[str, str]:
    names = [name for option in declared_options() for name in option.names]
    return {name.lower(): name for name in (*known_to_hudi(), *WRITER_KEYS, *names)}


def chosen(columns: Sequence[str], wanted: Wanted, table: str) -> tuple[str, ...]:
    """The columns asked for, of those that there are; ConfigError for one that is not."""
    if wanted.columns is None:
        return tuple(columns)
    missing = [name for name in wanted.columns if name not in columns]
    if missing:
        raise ConfigError(
            f"column {', '.join(missing)}", f"is not in {table}", f"it has {', '.join(columns)}."
        )
    return wanted.columns

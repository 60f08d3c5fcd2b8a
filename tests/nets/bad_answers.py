"""Plugins that answer wrongly, in every way that a member can: what the net of bad plugins throws at a table.

:class:`Bad` is a plugin of which one member answers wrongly; ``TWISTS`` are the ways, ``WRONG`` says which of them
are wrong for each member of each Protocol.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.hookspecs.merger import Merged

# How often a bad member was asked in this process: a trial in which nobody did proves nothing.
ASKED = [0]


class Broken(Exception):
    """What a bad plugin raises."""


class Stuck:
    """Something that can't be pickled, and looks like ``inner`` otherwise."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.lock = inner, threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


# --- ways to be wrong: of the good answer another one -------------------------------------------------
def none(good: Any) -> Any:
    return None


def pair(good: Any) -> Any:
    return (good, good)


def text(good: Any) -> Any:
    return "yes"


def number(good: Any) -> Any:
    return 3.5


def below(good: Any) -> Any:
    return -7


def above(good: Any) -> Any:
    return 1 << 40


def empty(good: Any) -> Any:
    return "" if good is None or isinstance(good, str) else type(good)()


def stuck(good: Any) -> Any:
    return Stuck(good)


def raises(good: Any) -> Any:
    raise Broken("no answer today")


def short(good: Any) -> Any:
    """One too few."""
    if isinstance(good, Merged):
        return _merged(good, short)
    if isinstance(good, pa.Buffer):
        return good.slice(0, max(0, len(good) - 1))
    return good[:-1]


def long(good: Any) -> Any:
    """One too many."""
    if isinstance(good, Merged):
        return _merged(good, long)
    if isinstance(good, pa.Table):
        return pa.concat_tables([good, good.slice(0, 1)])
    if isinstance(good, pa.RecordBatch):
        return pa.Table.from_batches([good, good.slice(0, 1)]).combine_chunks().to_batches()[0]
    if isinstance(good, pa.ChunkedArray):
        return pa.chunked_array([*good.chunks, good.chunk(0).slice(0, 1)])
    if isinstance(good, pa.Array):
        return pa.concat_arrays([good, good.slice(0, 1)])
    return [*good, good[0]]


def doubled(good: Any) -> Any:
    if isinstance(good, Merged):
        return _merged(good, doubled)
    if isinstance(good, pa.Table):
        return pa.concat_tables([good, good])
    if isinstance(good, pa.RecordBatch):
        return pa.Table.from_batches([good, good]).combine_chunks().to_batches()[0]
    if isinstance(good, pa.Array):
        return pa.concat_arrays([good, good])
    if isinstance(good, str):
        return good + good
    return [*good, *good]


def nulls(good: Any) -> Any:
    if isinstance(good, Merged):
        return _merged(good, nulls)
    return pa.concat_arrays([pa.nulls(1, good.type), good.slice(1)]) if len(good) else good


def empties(good: Any) -> Any:
    """An empty text among the others."""
    return pa.concat_arrays([pa.array([""]), good.slice(1)]) if len(good) else good


def astray(good: Any) -> Any:
    """Paths that lead out of the table."""
    return pa.array([f"../{n}" for n in range(len(good))])


def negative(good: Any) -> Any:
    return pa.array([-1] * len(good), good.type)


def large(good: Any) -> Any:
    """Numbers out of their range."""
    return pa.array([1 << 30] * len(good), good.type)


def retyped(good: Any) -> Any:
    """Another type, or other columns."""
    if isinstance(good, Merged):
        return _merged(good, retyped)
    if isinstance(good, pa.Table | pa.RecordBatch):
        return good.rename_columns([f"x{name}" for name in good.schema.names])
    if isinstance(good, pa.Schema):
        return pa.schema([("other", pa.int64())])
    if pa.types.is_string(good.type):
        return good.cast(pa.large_string())
    return good.cast(pa.float64())


def listed(good: Any) -> Any:
    return good.to_pylist()


def chunked(good: Any) -> Any:
    return pa.chunked_array([good])


def neither(good: Merged) -> Any:
    return Merged()


def both(good: Merged) -> Any:
    return Merged(pa.array([True]), pa.table({"a": [1]}))


def strange(good: Any) -> Any:
    """Members that were not given, or one that was, of other content."""
    if isinstance(good, tuple | list):
        return [*good, object()]
    return object()


def untold(good: Any) -> Any:
    """Values that are no texts."""
    return {"key": 1}


def nested(good: Any) -> Any:
    """Keys that Arrow does not sort."""
    return [pa.array([[1]] * len(good[0]))]


def _merged(good: Merged, twist: Callable[[Any], Any]) -> Merged:
    if good.newer_wins is not None:
        wins = good.newer_wins
        return Merged(newer_wins=twist(wins.combine_chunks() if hasattr(wins, "chunks") else wins))
    return Merged(rows=twist(good.rows))


def swapped(good: Any) -> Any:
    """Slots for a partition path that nobody asked for, entries of another place."""
    return type(good)(evolve(one, partition_path="elsewhere") for one in good)


def weightless(good: Any) -> Any:
    return type(good)(evolve(one, weight=0) for one in good)


def unknown(good: Any) -> Any:
    return type(good)(evolve(one, file_id="no-such-file-group") for one in good)


def unsorted(good: Any) -> Any:
    return [*reversed(good), *good] if good else [object()]


def lying(good: Any) -> Any:
    """One more than it is."""
    return good + 1


TWISTS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        none, pair, text, number, below, above, empty, stuck, raises, short, long, doubled, nulls, empties,
        astray, negative, large, retyped, listed, chunked, neither, both, strange, untold, nested, swapped,
        weightless, unknown, unsorted, lying,
    )
}  # fmt: skip


# --- ways in which the rows of a stream are wrong ------------------------------------------------------
@frozen
class TwistRows:
    """Step: rows of LOCATIONS_SCHEMA or ROWS_SCHEMA, wrong in the way that is named."""

    how: str
    out_schema: pa.Schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[Any]:
        if self.how == "step_raises":
            raise Broken("a step without an answer")
        for batch in batches:
            if not batch.num_rows:
                continue
            key, path, file_id, *at = batch.columns
            if self.how == "rows_doubled":
                yield batch
            if self.how == "rows_null":
                file_id = pa.nulls(len(file_id), pa.string())
            if self.how == "rows_unknown":
                file_id = pa.array(["no-such-file-group"] * len(file_id))
            if self.how == "rows_elsewhere":
                path = pa.array(["elsewhere"] * len(path))
            if self.how == "rows_table":
                yield pa.Table.from_batches([batch])
                continue
            if self.how == "rows_below":
                at = [negative(at[0])]
            yield pa.record_batch([key, path, file_id, *at], schema=self.out_schema)
            if self.how == "rows_unasked":
                more = pa.array(["nobody-asked"] * len(key))
                yield pa.record_batch([more, path, file_id, *at], schema=self.out_schema)


ROWS = ("rows_doubled", "rows_null", "rows_unknown", "rows_elsewhere", "rows_table", "step_raises")


@frozen
class Case:
    """``member`` of a plugin of ``family``, or of what its member ``via`` makes, answers wrongly by ``twist``."""

    family: str
    member: str
    twist: str
    via: str | None = None


# Members that no built-in plugin has.
EXTRA: dict[str, Any] = {"column_ranges": lambda storage, path, columns: {}}


class Bad:
    """A plugin, or what one makes, of which one member answers wrongly."""

    def __init__(self, inner: Any, case: Case, via: str | None) -> None:
        self.inner, self.case, self.via = inner, case, via

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "case", "via"):
            raise AttributeError(name)
        if name not in (self.via or self.case.member,):
            found = getattr(self.inner, name)
            if name == "settled":  # the generator that writes is bad, too
                return lambda stored: Bad(found(stored), self.case, self.via)
            if name == "on":  # so is the engine that knows its store
                return lambda storage: Bad(found(storage), self.case, self.via)
            return found
        if name == "acquire" and self.via is None:  # a lock that was taken would stay so
            return lambda *args: self._answer((), args)
        good = getattr(self.inner, name, EXTRA.get(name))
        if callable(good) and not isinstance(good, type):
            return lambda *args, **kwargs: self._answer(good(*args, **kwargs), args)
        return self._answer(good, ())

    def _answer(self, good: Any, args: tuple[Any, ...]) -> Any:
        if self.via is not None:
            return None if good is None else Bad(good, self.case, None)
        ASKED[0] += 1
        how = self.case.twist
        if how in (*ROWS, "rows_unasked", "rows_below"):
            return args[1].engine.map(good, TwistRows(how, good.schema))
        if how in ("items_none", "items_short", "items_doubled", "items_raise", "items_retyped"):
            return _items(good, how)
        return TWISTS[how](good)

    def __enter__(self) -> Any:
        self.inner.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.inner.__exit__(*exc)


def _items(good: Any, how: str) -> Iterator[Any]:
    """An iterator of batches that is wrong."""
    for batch in good:
        if how == "items_none":
            yield None
        elif how == "items_short":
            yield batch.slice(1)
        elif how == "items_retyped":
            yield retyped(batch)
        elif how == "items_raise":
            raise Broken("in the middle")
        else:
            yield batch
            yield batch


# --- which of them are wrong ---------------------------------------------------------------------------
_FLAG = ("none", "pair", "text", "number", "raises")
_WHOLE = ("none", "pair", "text", "number", "below", "raises")
_TEXT = ("none", "pair", "number", "empty", "raises")
_NAMES = ("none", "text", "number", "strange", "raises")
_KEYS = (
    "none",
    "pair",
    "short",
    "long",
    "nulls",
    "doubled",
    "retyped",
    "listed",
    "chunked",
    "empties",
    "raises",
)
_NUMBERS = (
    "none",
    "pair",
    "short",
    "long",
    "nulls",
    "doubled",
    "retyped",
    "listed",
    "negative",
    "raises",
)
_STREAM = ("none", "pair", "text", "raises")
_TEXTS = ("none", "pair", "text", "untold", "raises")
_ITEMS = ("none", "text", "number", "strange", "doubled", "raises")
_REASON = ("pair", "number", "empty", "raises")
_MADE = ("none", "pair", "text", "stuck", "raises")
_ROWS = ("none", "pair", "short", "long", "doubled", "retyped", "listed", "raises")
_ONLY = ("raises",)  # it answers nothing

# Protocol -> member -> the twists that are wrong of it. A member of a Protocol that is not here fails the net.
WRONG: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "KeyGenerator": {
        "record_key_fields": _NAMES, "partition_fields": _NAMES, "record_keys": _KEYS,
        "partition_paths": (*(t for t in _KEYS if t != "empties"), "astray"),
        "partition_values": ("pair", "text", "number", "untold", "raises"),
    },
    "GeneratesKeys": {"generated_keys": _KEYS},
    "Settles": {"settled": _MADE},
    "Merger": {
        "merge_mode": _TEXT, "strategy_id": _TEXT, "columns": ("text", "number", "strange", "raises"),
        "merge": ("none", "pair", "short", "long", "nulls", "doubled", "retyped", "neither", "both", "raises"),
    },
    "Index": {"is_global": _FLAG, "moves_partitions": _FLAG},
    "LookupIndex": {"locate": (*_STREAM, *ROWS)},
    "SeesRows": {"locate_rows": (*_STREAM, *ROWS, "rows_below")},
    "Tees": {"first": _STREAM, "second": _STREAM},
    "ComputedIndex": {
        "buckets": (*_WHOLE, "empty"), "bucket": (*_NUMBERS, "large"),
        "file_id": (*_TEXT, "text"), "bucket_of": (*_WHOLE, "above"),
    },
    "KeyHash": {"spread": _NUMBERS},
    "Layout": {
        "plan": ("none", "text", "number", "strange", "empty", "swapped", "weightless", "unknown", "raises"),
    },
    "Serializer": {"name": _TEXT, "bind": _MADE, "open": _STREAM},
    "VersionedSerializer": {"version": (*_WHOLE, "empty")},
    "BoundSerializer": {
        "schema": ("none", "pair", "text", "retyped", "raises"),
        "length": ("none", "pair", "text", "number", "below", "raises"),
        "header": ("none", "pair", "text", "raises"),
        "serialize": ("none", "pair", "text", "short", "raises"), "deserialize": _ROWS,
        "copy": _ROWS, "copy_stream": _WHOLE, "create": (),
    },
    "BaseFileFormat": {
        "extension": _TEXT, "reader": ("none", "pair", "text", "raises"), "writer": ("none", "pair", "text", "raises"),
    },
    "LogFormat": {"reader": ("none", "pair", "text", "raises"), "writer": ("none", "pair", "text", "raises")},
    "NotesRows": {"notes_rows": _FLAG},
    "LogFileReader": {
        "path": ("none", "pair", "raises"), "blocks": ("none", "text", "strange", "raises"),
        "damages": ("none", "text", "strange", "raises"), "rows": ("none", "pair", "text", "raises"),
        "base_rows": ("pair", "text", "number", "listed_numbers", "backwards", "unsigned", "under", "raises"),
        "rows_near": ("pair", "text", "number", "listed_numbers", "backwards", "unsigned", "under", "raises"),
        "rows_at": ("none", "pair", "text", "raises"), "close": (),
    },
    "LogFileWriter": {"at_rows": _ONLY, "data_block": ("none", "pair", "text", "raises"), "close": (*_WHOLE, "lying")},
    "LogBlockFormat": {
        "kind": ("none", "pair", "text", "below", "raises"), "decode": ("none", "pair", "text", "raises"),
        "encode": ("none", "number", "raises", "items_none", "items_raise"),
    },
    "DecodesSome": {"decode_rows": ("none", "pair", "text", "raises")},
    "HasColumnRanges": {"column_ranges": _TEXTS},
    "HasBaseRanges": {"base_ranges": ("none", "pair", "text", "raises")},
    "BaseFileReader": {
        "schema": ("none", "pair", "text", "raises"), "num_rows": (*_WHOLE, "lying"), "metadata": _TEXTS,
        "batches": ("none", "number", "raises", "items_none", "items_short", "items_doubled", "items_raise",
                    "items_retyped"),
        "close": _ONLY,
    },
    "BaseFileWriter": {"write": _ONLY, "written": _WHOLE, "flush": _WHOLE, "close": (*_WHOLE, "lying")},
    "ConflictStrategy": {"conflict": _REASON},
    "Lock": {"acquire": ("pair", "text", "number", "raises")},
    "Held": {"from_dead": _FLAG, "is_held": _FLAG, "release": ()},
    "CompactionStrategy": {"choose": _ITEMS},
    "ClusteringPlanner": {"bounds_of": _NAMES, "group": _ITEMS, "choose": _ITEMS},
    "Clustering": {
        "columns": _NAMES, "sample_rows": _WHOLE, "fitted": _MADE,
        "keys": ("none", "text", "number", "empty", "strange", "nested", "raises", "keys_short", "keys_long"),
        "told": _TEXTS,
    },
    "PartitionFilter": {"wanted": _ITEMS},
    "ClusteringUpdates": {"refuse": _REASON},
    "CleaningPolicy": {
        "policy": (*_TEXT, "text"), "by_writes": _FLAG, "earliest": ("pair", "text", "number", "raises"),
        "surplus": ("none", "text", "number", "strange", "raises"),
    },
    "Storage": {
        "root": _TEXT, "put": _ONLY, "put_if_absent": _FLAG, "put_file_if_absent": _FLAG,
        "get": ("none", "pair", "text", "raises"), "open": ("none", "pair", "text", "raises"),
        "head": ("pair", "text", "number", "strange", "raises"),
        "list": ("none", "pair", "text", "strange", "unsorted", "raises"), "delete": _FLAG,
        "delete_prefix": _WHOLE, "scratch": (*_TEXT, "text"),
    },
    "Engine": {
        "name": _TEXT, "parallelism": (*_WHOLE, "empty"), "accepts": _FLAG, "source": _STREAM, "tasks": _STREAM,
        "map": _STREAM, "exchange": _STREAM, "stage": _STREAM, "union": _STREAM, "side": _STREAM,
        "collect": ("none", "pair", "retyped", "listed", "raises"), "meter": _STREAM, "check": _ONLY,
    },
    "Stream": {"schema": ("none", "pair", "text", "retyped", "raises")},
    "Side": {"table": _ROWS},
    "Meter": {"add": _ONLY, "read": ("none", "pair", "text", "raises")},
}  # fmt: skip
# Members whose wrong answers can't hinder anything: what is done is done, or core calls them itself.
NO_ANSWER = {
    ("BoundSerializer", "create"): "promises to raise",
    **dict.fromkeys(
        (
            ("LogFileReader", "deletes"),
            ("LogFileWriter", "delete_block"),
            ("LogFileWriter", "change_block"),
            ("LogFileWriter", "block"),
            ("LogFileWriter", "rollback_block"),
            ("LogFileWriter", "stands_for"),
        ),
        "see LogFormatContract",
    ),
    ("StoredIndex", "entries"): "called where indexes are compared: test_answers_of_plugins.py",
    ("Reporter", "report"): "whatever it is called for",
    ("Action", "run"): "whatever it is called for",
    ("KnowsStorage", "on"): "a store that it refuses: test_store_traits.py",
    ("Spreads", "spread"): "a side table of many rows: see EngineContract",
    ("Schedules", "schedule"): "see ActionContract",
    ("Schedules", "run_planned"): "see ActionContract",
    ("FollowsWrites", "after_write"): "see ActionContract",
    ("Recovers", "recover"): "see ActionContract",
    ("LogFileReader", "close"): "readers are closed as context managers",
    ("Held", "release"): "comes after the decision: a warning names the plugin",
    ("Step", "out_schema"): "a step is core's, or the index's: see locate",
    ("RoutesGroups", "routes_by"): "core's own steps alone are asked",
    ("RoutesGroups", "route"): "core's own steps alone are asked",
    ("StoreTraits", "sweep"): "answers nothing",
    ("StoreTraits", "recall"): "asked as a truth: any answer is one",
    ("StoreTraits", "forget"): "answers nothing",
    ("StoreTraits", "discard"): "answers nothing",
    ("StoreTraits", "keeps"): "how large a file may be that is read ahead: a matter of speed",
}


# Protocols whose wrong answers this net does not draw: where they are judged instead.
ELSEWHERE = {
    "RowsLayer": "a layer of Hoodoo, whose answers core passes on as they are",
    "FirstRows": "the same: its schema is checked as that of a new table, and it writes as a call does",
    "TableState": "core makes it",
    "DoublesRows": "a flag: see ClusteringUpdatesContract",
    "PathBuckets": "see PathIndexContract",
    "PathIndex": "see PathIndexContract",
    "BucketNumbers": "what an index makes for its own resize: the file groups are those of PathBuckets",
    "ResizesBuckets": "the same",
    "KeysCheck": "what a participant's verify makes: its findings are text for people",
    **dict.fromkeys(
        (
            "ChangeLog",
            "ChangeLogFormat",
            "BlockContent",
            "FindsValues",
            "FormatTraits",
            "IndexTraits",
            "KeyTraits",
            "KnowsKeys",
            "NamesOrder",
            "OfTable",
            "OneFile",
            "PlacesRows",
            "KnowsNulls",
            "KeyFilters",
            "KnowsRanges",
            "StoresFilters",
            "RewritesInPlace",
            "UsesThreads",
            "InPlaceWriter",
            "Inspector",
            "LearningIndex",
            "ListsFiles",
            "MergesPartly",
            "MergesValues",
            "MembershipFilter",
            "MetadataPartition",
            "Participant",
            "ParticipantServices",
            "Participation",
            "LogicalType",
            "Pruner",
            "PrunesPaths",
            "QueryPlan",
            "QueryType",
            "QueryUnit",
            "UnitReader",
            "ArchivedTimeline",
            "ServicePolicy",
            "Catalog",
            "HasPartitions",
            "ServesEngines",
            "ReplacesEntries",
            "KnowsReaders",
            "Source",
            "Reading",
            "Check",
            "StoreTraits",
            "ReadsRecords",
            "RecordColumns",
            "VectorIndex",
        ),
        "its contract suite in hoodoo.testing, and its rule at the seam",
    ),
}


def keys_short(good: Any) -> Any:
    return [key[:-1] for key in good]


def keys_long(good: Any) -> Any:
    return [long(key) for key in good]


def listed_numbers(good: Any) -> Any:
    return good.tolist()


def backwards(good: Any) -> Any:
    """Numbers that descend."""
    return good[::-1]


def unsigned(good: Any) -> Any:
    return good.astype("uint64")


def under(good: Any) -> Any:
    """Numbers that begin below 0."""
    return good - 1 - good[0]


TWISTS |= {
    f.__name__: f for f in (keys_short, keys_long, listed_numbers, backwards, unsigned, under)
}

__all__ = ["ASKED", "ELSEWHERE", "NO_ANSWER", "TWISTS", "WRONG", "Bad", "Broken", "Case"]

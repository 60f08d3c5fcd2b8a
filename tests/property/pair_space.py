"""What the pairwise histories combine: kinds of tables and options, and what of it is refused, with the message.

This is the source of tests/combinations.md (tests/meta/combinations_page.py).
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from pair_cover import Config

COPY, MERGE = "COPY_ON_WRITE", "MERGE_ON_READ"
STORED, RFC, HUDI, KEPT = "stored", "virtual", "virtual as Hudi's", "virtual, all kept"
NONE, TEXT, WHOLE, TWO = "none", "text", "integer", "two columns"
MADE, JOINED = "made", "concatenated"
ONE, TIMESTAMP, CUSTOM = "one column", "TIMESTAMP", "CUSTOM"
HASHED = "consistent_bucket"
IN_PATHS = ("simple", "bloom", "bucket", HASHED, "partitioned_record_index")
RECORDS = ("record_index", "partitioned_record_index", "growing_record_index")
GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
DEFAULT, ON, OFF = "default", "on", "off"
# Drawn where hoodoo-lance is installed.
LANCE = "LANCE"
CREATE, BOOTSTRAP, COPIED = "create", "bootstrap", "bootstrap, some copied"

# Factor -> its values; the first one is what nobody has to say.
FACTORS: dict[str, tuple[str, ...]] = {
    "type": (COPY, MERGE),
    "version": ("9", "6", "8"),
    "record keys": (STORED, RFC, HUDI, KEPT),
    "key columns": (TEXT, WHOLE, TWO, JOINED, MADE),
    "partitions": (NONE, ONE, TWO, TIMESTAMP, CUSTOM),
    "key generator": (DEFAULT, "as type", "as class", "SIMPLE", "COMPLEX", "NON_PARTITION"),
    "virtual by Hoodoo": ("false", "true"),
    "paths": ("plain", "hive style", "encoded", "hive style, encoded"),
    "index": (*IN_PATHS, *GLOBAL),
    "update.partition.path": (DEFAULT, "true", "false"),
    "merger": ("commit_time", "event_time", "partial"),
    "ordering": (NONE, WHOLE, TEXT, "double", TWO),
    "metadata table": (DEFAULT, ON, OFF, "record index"),
    "filters in metadata": (OFF, ON),
    "index scaling": (DEFAULT, "file_groups", "bucket_groups"),
    "engine": ("local", "spark"),
    "threads": (DEFAULT, "1", "3"),
    "log blocks": (DEFAULT, "parquet", "avro"),
    "layout": ("small_file", "new_files"),
    "file sizes": (DEFAULT, "1500 bytes", "none small", "small row groups"),
    "serializer": ("arrow", "avro", "pickle"),
    "codec": (DEFAULT, "snappy", "gzip", "lz4_raw", "uncompressed"),
    "bloom filter": (DEFAULT, "SIMPLE", OFF),
    "change data": (OFF, "OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"),
    "side of simple": (DEFAULT, "0"),
    "insert of duplicates": (NONE, "drop", "fail"),
    "combine before insert": ("false", "true"),
    "widen integers": ("false", "true"),
    "cleaning": (OFF, "by_commits", "by_versions", "by_hours"),
    "archiving": (OFF, ON),
    "compaction": (OFF, "log_size", "log_count", "bounded_io", "day_based", "unbounded"),
    "clustering": (OFF, "inline", "planned"),
    "clustering updates": ("reject", "allow", "allow, undone"),
    "conflicts": (DEFAULT, "log_appends", "prefer_writer"),
    "lock": (NONE, "in_process", "filesystem", "conditional_put", "flock"),
    "partition columns": ("in files", "dropped"),
    "base files": ("PARQUET", LANCE, "ORC"),
    "columns": ("plain", "of Hudi 1.2"),
    "made by": (CREATE, BOOTSTRAP, COPIED),
}  # fmt: skip


@frozen
class Refusal:
    """``where``: factor -> values, all of which have to hold. ``step``: only this kind of step is refused,
    else the table is. ``says``: part of the message."""

    where: Mapping[str, tuple[str, ...]]
    says: str
    step: str = ""

    def fits(self, config: Config) -> bool:
        return all(config[name] in values for name, values in self.where.items())


def _named(name: str) -> str:
    return name.replace("_", ".") if name.startswith("update") else name.replace("_", " ")


def refused(says: str, /, step: str = "", **where: str | tuple[str, ...]) -> Refusal:
    found = {
        _named(name): (values,) if isinstance(values, str) else values
        for name, values in where.items()
    }
    return Refusal(found, says, step)


_NOT_PATHS = (RFC, HUDI, KEPT)
_NAMED = ("as type", "as class", "SIMPLE", "COMPLEX", "NON_PARTITION")
_NO_MAKER = "can't make virtual keys: readers could not compute the keys again"
_MADE = "the table has no key columns: its keys are made when rows are written"
_BOOTSTRAPS = (BOOTSTRAP, COPIED)
# What `create` refuses. A rule of one factor comes first: its message is the one that is seen.
REFUSALS: tuple[Refusal, ...] = (
    refused("makes files without their partition columns, which are not written", partition_columns="dropped"),
    refused("no installed plugin offers it", base_files="ORC"),
    refused("has one ordering column", version=("6", "8"), ordering=TWO),
    refused("merger event_time: the table has no ordering columns", merger="event_time", ordering=NONE),
    refused("is for tables of version 9: Hudi 0.15 would take", version="6", index="partitioned_record_index"),
    refused("which tables of this version do not have", version="6", index="growing_record_index"),
    refused("which tables of this version do not have", version="6", record_keys=_NOT_PATHS, index=RECORDS),
    refused(
        "which tables of this version do not have", version="6", record_keys=_NOT_PATHS,
        metadata_table="record index",
    ),
    refused("hoodie.metadata.enable=false: contradicts", index=RECORDS, metadata_table=OFF),
    refused("is for tables with partitions, and this one has none", index="partitioned_record_index", partitions=NONE),
    refused(_NO_MAKER, record_keys=_NOT_PATHS, partitions=(TIMESTAMP, CUSTOM), virtual_by_Hoodoo="false"),
    refused("is of virtual keys, and the keys of this table are stored", record_keys=STORED, key_columns=JOINED),
    refused(_MADE, record_keys=_NOT_PATHS, key_columns=MADE),
    refused("has an index that computes the file group of a key", index="bucket", clustering=("inline", "planned")),
    refused("takes one record key column and one partition column", key_columns=(TWO, JOINED), partitions=TIMESTAMP),
    refused("puts key columns together in its own way", key_columns=JOINED, key_generator=_NAMED),
    refused("puts key columns together in its own way", key_columns=JOINED, partitions=(TIMESTAMP, CUSTOM)),
    refused("takes one record key column and one partition column", key_generator="SIMPLE", key_columns=(TWO, JOINED)),
    refused("takes one record key column and one partition column", key_generator="SIMPLE", partitions=(NONE, TWO)),
    refused("takes no partition columns", key_generator="NON_PARTITION", partitions=(ONE, TWO)),
    refused("buckets that are split and merged need log files", type=COPY, index=HASHED),
    refused("nor is there a bloom filter of one", record_keys=_NOT_PATHS, filters_in_metadata=ON, metadata_table=(ON, "record index")),
    refused("nor is there a bloom filter of one", record_keys=_NOT_PATHS, filters_in_metadata=ON, index=RECORDS[:2]),
    refused("lacks record_key: each row of the table needs a key", key_columns=MADE, made_by=_BOOTSTRAPS),
    refused("files of the source are not sorted by it", index=("bucket", HASHED), made_by=_BOOTSTRAPS),
    refused("the instant of a bootstrap is no time", index=RECORDS, made_by=_BOOTSTRAPS),
    refused("the instant of a bootstrap is no time", metadata_table="record index", made_by=_BOOTSTRAPS),
)  # fmt: skip


# What a change of the table's version says where it is none.
UNCHANGED_VERSIONS = (
    "before version 9 a table has one",  # ordering column
    "which lies in the metadata table, and tables of version 6 have none such",
    "is pending: the version changes between actions",
    "has log files after a compaction, as somebody writes or plans",  # a clustering is planned
    "which is not converted",  # a bootstrapped table
    "whose history (.hoodie/.schema) is not converted",  # of columns that were changed by hand
)
# And what an index of records says while there are files of a bootstrap.
NO_TIMES = "of a bootstrap is no time"
# And what the making of an index of an expression says, or its end.
NO_EXPRESSIONS = (
    "tables of version 6 have no indexes of expressions",
    "is there already",
    "is not there; the table has",
)


def refusal(config: Config) -> Refusal | None:
    return next((rule for rule in REFUSALS if rule.fits(config)), None)


def refusals(config: Config) -> list[Refusal]:
    return [rule for rule in REFUSALS if rule.fits(config)]


@frozen
class Left:
    """What is not drawn though nothing refuses it: ``where`` as in :class:`Refusal`, and ``why``."""

    where: Mapping[str, tuple[str, ...]]
    why: str

    def fits(self, config: Config) -> bool:
        return all(config.get(name) in values for name, values in self.where.items())


STEP = "step"
NOT_DRAWN = (
    Left(
        {"key generator": ("SIMPLE", "COMPLEX", "NON_PARTITION"), "partitions": (TIMESTAMP, CUSTOM)},
        "another key generator makes these partitions",
    ),
    Left(
        {"key generator": ("NON_PARTITION",), "index": ("partitioned_record_index",)},
        "the index needs partitions, and this key generator makes none",
    ),
    Left(
        {STEP: ("cancel a clustering",), "index": ("bucket",)},
        "a clustering of such a table cannot be planned, because the index computes the file group of a key",
    ),
    Left(
        {"made by": _BOOTSTRAPS, "columns": ("of Hudi 1.2",)},
        "the files of a source are plain Parquet, which has none of these types",
    ),
    Left(
        {"base files": (LANCE,), "columns": ("of Hudi 1.2",)},
        "Lance files have neither blobs nor vectors of INT8",
    ),
    Left({"base files": (LANCE,), "made by": _BOOTSTRAPS}, "the files of a source are Parquet"),
    Left(
        {STEP: ("stored keys again",), "record keys": (RFC, HUDI)},
        "the files do not have the keys: refused as soon as there is one file",
    ),
    Left(
        {STEP: ("stored keys again",), "key columns": (JOINED, MADE)},
        "only virtual keys have a concatenator, and generated keys are never virtual",
    ),
)  # fmt: skip


def broken(config: Config) -> tuple[str, ...]:
    """The factors of a rule that ``config`` breaks; STEP may be one of them."""
    rule = refusal(config) or next((left for left in NOT_DRAWN if left.fits(config)), None)
    return tuple(rule.where) if rule else ()


def why_not(cell: Mapping[str, str]) -> str:
    """Why no history has these values together, or nothing."""
    for rule in REFUSALS:
        if all(cell.get(name) in values for name, values in rule.where.items()):
            return f"refused: {rule.says}"
    for left in NOT_DRAWN:
        if all(cell.get(name) in values for name, values in left.where.items()):
            return left.why
    return ""


# --- columns --------------------------------------------------------------------------------------
DEAD = "_hoodie_is_deleted"
INNER = pa.struct([("a", pa.int32()), ("b", pa.string())])
PAYLOAD = {"w": pa.int32(), "text": pa.string(), "f": pa.float64(), "inner": INNER}
# Beside these, of Hudi 1.2's types: what rows hold of them follows from a number.
OF_HUDI_1_2 = {
    "wall": pa.timestamp("us"), "emb": hoodoo.vector(2), "small": hoodoo.vector(3, "INT8"),
    "photo": hoodoo.blob(), "event": hoodoo.variant(), "uid": pa.string(),
}  # fmt: skip


def of_hudi_1_2(config: Config, number: int) -> dict[str, Any]:
    if config["columns"] == "plain":
        return {}
    if number % 6 == 0:
        return dict.fromkeys(OF_HUDI_1_2)
    return {
        "wall": dt.datetime(1970, 1, 1) + dt.timedelta(days=number - 500, microseconds=number),
        "emb": [number / 4, -0.0] if number % 5 else None,
        "small": [number % 100, -128, 0],
        "photo": {"type": "INLINE", "data": b"%d" % number, "reference": None},
        "event": [number, "text", {"k": [number, None, {}]}, [], None][number % 5],
        "uid": str(uuid.UUID(int=number << 90)) if number % 4 else None,  # comes as arrow.uuid
    }


ORDERED = {WHOLE: pa.int64(), TEXT: pa.string(), "double": pa.float64(), TWO: pa.int32()}


def key_columns(config: Config) -> tuple[str, ...]:
    return {MADE: (), TEXT: ("k",), WHOLE: ("n",)}.get(config["key columns"], ("k", "n"))


def partition_columns(config: Config) -> tuple[str, ...]:
    return {
        NONE: (), ONE: ("p",), TWO: ("p", "q"), TIMESTAMP: ("at",), CUSTOM: ("p", "at"),
    }[config["partitions"]]  # fmt: skip


def ordering_columns(config: Config) -> tuple[str, ...]:
    return {NONE: (), TWO: ("o0", "o1")}.get(config["ordering"], ("o0",))


def schema(config: Config) -> pa.Schema:
    kinds = {
        "k": pa.string(),
        "n": pa.int64(),
        "p": pa.string(),
        "q": pa.date32(),
        "at": pa.int64(),
    }
    names = [*(key_columns(config) or ("k",)), *partition_columns(config)]
    columns = [(name, kinds[name]) for name in names]
    columns += [(name, ORDERED[config["ordering"]]) for name in ordering_columns(config)]
    more = {} if config["columns"] == "plain" else OF_HUDI_1_2
    payload = [one for one in PAYLOAD.items() if one[1] != INNER or config["base files"] != LANCE]
    return pa.schema([*columns, *payload, *more.items()])  # Lance's structs are never null


PARTS = ("x", "with space", None, "é")
ENCODED = ("x", "a/b", None, "50%")
DAYS = tuple(dt.date(2024, 2, day) for day in (1, 2, 28, 29))


def partition_values(config: Config, part: int, seconds: int = 0) -> dict[str, Any]:
    """Of one of four partitions; ``seconds`` differ within a day."""
    pool = ENCODED if "encoded" in config["paths"] else PARTS
    found = {
        "p": pool[part],
        "q": DAYS[part],
        "at": 86400 * (19700 + part) + seconds % 86400,
    }
    return {name: found[name] for name in partition_columns(config)}


# --- what is handed to create and open ------------------------------------------------------------
def properties(config: Config) -> dict[str, Any]:
    """For `create`."""
    found: dict[str, Any] = {
        "hoodie.datasource.write.hive_style_partitioning": "hive" in config["paths"],
        "hoodie.datasource.write.partitionpath.urlencode": "encoded" in config["paths"],
    }
    found |= {
        STORED: {},
        RFC: {"hoodie.recordkey.virtual.enabled": True},
        HUDI: {"hoodie.populate.meta.fields": False},
        KEPT: {
            "hoodie.recordkey.virtual.enabled": True,
            "hoodoo.meta.fields.kept": "_hoodie_commit_time,_hoodie_commit_seqno,_hoodie_record_key,"
            "_hoodie_partition_path,_hoodie_file_name",
        },
    }[config["record keys"]]
    if config["key columns"] == JOINED:
        found["hoodie.recordkey.virtual.concatenator"] = "|"
    if config["index"] in ("bucket", HASHED):
        found["hoodie.bucket.index.num.buckets"] = 3
    if config["index"] == HASHED:
        found |= {
            "hoodie.bucket.index.min.num.buckets": 2,
            "hoodie.bucket.index.max.num.buckets": 6,
        }
    if config["partitions"] in (TIMESTAMP, CUSTOM):
        found["hoodie.keygen.timebased.timestamp.type"] = "UNIX_TIMESTAMP"
        found["hoodie.keygen.timebased.output.dateformat"] = "yyyy-MM-dd"
    moves = config["update.partition.path"]
    if moves != DEFAULT:
        found["hoodie.simple.index.update.partition.path"] = moves
        found["hoodie.bloom.index.update.partition.path"] = moves
    if config["metadata table"] == ON:
        found["hoodie.metadata.enable"] = True
    elif config["metadata table"] == "record index":
        found["hoodie.metadata.global.record.level.index.enable"] = True
    if config["filters in metadata"] == ON:
        found["hoodie.metadata.index.bloom.filter.enable"] = True
    if config["index scaling"] != DEFAULT:
        found |= {
            "hoodoo.index.scaling": config["index scaling"], "hoodoo.index.buckets": 2, "hoodoo.index.bucket.cap": 3,
        }  # fmt: skip
    if config["change data"] != OFF:
        found["hoodie.table.cdc.enabled"] = True
        found["hoodie.table.cdc.supplemental.logging.mode"] = config["change data"]
    if config["partition columns"] == "dropped":
        found["hoodie.datasource.write.drop.partition.columns"] = True
    if config["base files"] != "PARQUET":
        found["hoodie.base.file.format"] = config["base files"]
    return found


def writer(config: Config) -> dict[str, Any]:
    """For `create` and `open`: options of each writer."""
    found: dict[str, Any] = {
        "hoodoo.layout": config["layout"],
        "hoodoo.serializer": config["serializer"],
        "hoodie.datasource.insert.dup.policy": config["insert of duplicates"],
        "hoodie.combine.before.insert": config["combine before insert"],
        "hoodoo.schema.widen.integers": config["widen integers"],
        "hoodie.metadata.compact.max.delta.commits": 3,
        "hoodie.log.compaction.blocks.threshold": 2,
        "hoodie.datasource.write.reconcile.schema": True,  # rows bring columns
    }
    if config["metadata table"] == OFF:
        found["hoodie.metadata.enable"] = False
    moves = config["update.partition.path"]
    if moves != DEFAULT:
        found["hoodie.record.index.update.partition.path"] = moves
    if config["virtual by Hoodoo"] == "true":
        found["hoodoo.recordkey.virtual.by.hoodoo"] = True
    if config["threads"] != DEFAULT:
        found["hoodoo.local.threads"] = config["threads"]
    if config["log blocks"] != DEFAULT:
        found["hoodie.logfile.data.block.format"] = config["log blocks"]
    found |= {
        DEFAULT: {},
        "1500 bytes": {
            "hoodie.parquet.max.file.size": 1500,
            "hoodie.parquet.small.file.limit": 1500,
        },
        "none small": {"hoodie.parquet.small.file.limit": 0},
        "small row groups": {"hoodie.parquet.block.size": 200, "hoodie.parquet.page.size": 64},
    }[config["file sizes"]]
    if config["codec"] != DEFAULT:
        found["hoodie.parquet.compression.codec"] = config["codec"]
    if config["bloom filter"] == OFF:
        found["hoodie.parquet.bloom.filter.enabled"] = False
    elif config["bloom filter"] != DEFAULT:
        found["hoodie.bloom.index.filter.type"] = config["bloom filter"]
    if config["side of simple"] != DEFAULT:
        found["hoodoo.index.simple.side.bytes"] = 0
    if config["cleaning"] == OFF:
        found["hoodie.clean.automatic"] = False
    else:
        found |= {
            "hoodie.clean.policy": config["cleaning"], "hoodie.clean.commits.retained": 2,
            "hoodie.clean.fileversions.retained": 2, "hoodie.clean.hours.retained": 1,
        }  # fmt: skip
    if config["archiving"] == OFF:
        found["hoodie.archive.automatic"] = False
    else:
        found |= {"hoodie.keep.min.commits": 3, "hoodie.keep.max.commits": 4}
        found.setdefault("hoodie.clean.commits.retained", 1)
    if config["compaction"] != OFF:
        found |= {
            "hoodie.compact.inline": True, "hoodie.compact.inline.max.delta.commits": 2,
            "hoodie.compaction.strategy": config["compaction"],
            "hoodie.compaction.daybased.target.partitions": 1, "hoodie.compaction.target.io": 1,
        }  # fmt: skip
    found |= {
        OFF: {},
        "inline": {"hoodie.clustering.inline": True, "hoodie.clustering.inline.max.commits": 2},
        "planned": {
            "hoodie.clustering.schedule.inline": True, "hoodie.clustering.inline.max.commits": 2,
        },
    }[config["clustering"]]  # fmt: skip
    found |= {
        "reject": {},
        "allow": {"hoodie.clustering.updates.strategy": "allow"},
        "allow, undone": {
            "hoodie.clustering.updates.strategy": "allow",
            "hoodie.clustering.rollback.pending.replacecommit.on.conflict": True,
        },
    }[config["clustering updates"]]
    if config["conflicts"] != DEFAULT:
        found["hoodie.write.lock.conflict.resolution.strategy"] = config["conflicts"]
    if config["lock"] != NONE:
        found["hoodie.write.lock.provider"] = config["lock"]
    return found


CLASSES = {
    name: f"org.apache.hudi.keygen.{word}KeyGenerator"
    for name, word in {
        "SIMPLE": "Simple", "COMPLEX": "Complex", "NON_PARTITION": "Nonpartitioned", TIMESTAMP: "TimestampBased",
        CUSTOM: "Custom",
    }.items()
}  # fmt: skip


def generator(config: Config) -> str | None:
    """The key generator that is named; None: it follows from the columns."""
    how = config["key generator"]
    if config["partitions"] in (TIMESTAMP, CUSTOM):
        return config["partitions"]
    if how in ("as type", "as class"):
        if config["partitions"] == NONE:
            return "NON_PARTITION"
        return (
            "SIMPLE" if config["partitions"] == ONE and len(key_columns(config)) < 2 else "COMPLEX"
        )
    return None if how == DEFAULT else how


def arguments(config: Config) -> dict[str, Any]:
    """Of `create`, but for the path and the engine."""
    partitions: tuple[str, ...] = partition_columns(config)
    if config["partitions"] == CUSTOM:
        partitions = ("p:SIMPLE", "at:TIMESTAMP")
    said, options = generator(config), {**properties(config), **writer(config)}
    how = config["key generator"]
    if said is not None and how != DEFAULT:
        if how == "as class":
            options["hoodie.datasource.write.keygenerator.class"] = CLASSES[said]
        else:
            options["hoodie.datasource.write.keygenerator.type"] = said
        said = None
    return {
        "schema": schema(config),
        "record_key": key_columns(config) or None,
        "partition_by": partitions,
        "ordering": ordering_columns(config),
        "table_type": config["type"],
        "table_version": int(config["version"]),
        "key_generator": said,
        "index": config["index"],
        "merger": config["merger"],
        "options": options,
    }


def make(
    config: Config, path: Path, rows: pa.Table, places: list[str], engine: Any = None
) -> hoodoo.Table:
    """The table; one of a bootstrap has ``rows``, each in the folder that ``places`` says, of which some are copied."""
    given = {**arguments(config), "engine": engine}
    if config["made by"] == CREATE:
        return hoodoo.create(str(path), **given)
    source = path.with_name("source")
    for place in sorted(set(places)):
        folder = source / place
        folder.mkdir(parents=True)
        here = rows.filter(pa.array([one == place for one in places]))
        half = here.num_rows // 2
        for number, some in enumerate((here.slice(0, half), here.slice(half))):
            if some.num_rows:
                pq.write_table(some, folder / f"{number}.parquet", row_group_size=2)
    del given["schema"]
    if config["made by"] == COPIED:
        given |= {"mode": "FULL_RECORD", "regex": re.escape(max(places))}
    return hoodoo.bootstrap(source, path, **given)


def one_row(config: Config) -> pa.Table:
    kinds = schema(config)
    row = {**dict.fromkeys(kinds.names), **partition_values(config, 0), "k": "k", "n": 1}
    row |= {
        name: "1" if kinds.field(name).type == pa.string() else 1
        for name in ordering_columns(config)
    }
    return pa.Table.from_pylist([{name: row[name] for name in kinds.names}], kinds)


# What a step of a history is refused for.
STEP_REFUSALS: tuple[Refusal, ...] = (
    refused("has no log files, and needs no compaction", "compact", type=COPY),
    refused("has no log files, and needs no compaction", "plan a compaction", type=COPY),
    refused("has no log files, and needs no compaction", "log compaction", type=COPY),
    refused("has no log files, and needs no compaction", "plan a log compaction", type=COPY),
    refused("has an index that computes the file group of a key", "cluster", index="bucket"),
    refused("has an index that computes the file group of a key", "plan a clustering", index="bucket"),
    *(
        refused("has an index without a number of buckets", "resize buckets", index=name)
        for name in (*IN_PATHS, *GLOBAL)
        if name != "bucket"
    ),
    refused("contradicts the index", "make a growing index", metadata_table=OFF),
    refused("contradicts the index", "make a record index of buckets", metadata_table=OFF),
    refused("which tables of this version do not have", "make a growing index", version="6"),
    refused("which tables of this version do not have", "make a record index of buckets", version="6", record_keys=_NOT_PATHS),
    *(
        refused("the keys of this table are made when rows are written", step, key_columns=MADE)
        for step in (
            "upsert", "upsert marked as deleted", "upsert few columns", "upsert a new column", "delete keys",
            "delete rows",
        )
    ),
    *(
        refused(
            "a key that moves to another partition path would lose them", "upsert few columns", merger="partial",
            index=index, update_partition_path=moves,
        )
        for index, moves in (
            (("global_simple", "global_bloom"), (DEFAULT, "true")),
            (("record_index", "growing_record_index"), "true"),
        )
    ),
    refused(_MADE, "rewrite_keys", key_columns=MADE),
    refused(
        "the keys of this table are made when rows are written", "insert",
        key_columns=MADE, insert_of_duplicates=("drop", "fail"),
    ),
    refused(_NO_MAKER, "rewrite_keys", partitions=(TIMESTAMP, CUSTOM), virtual_by_Hoodoo="false"),
)  # fmt: skip


def step_refusals(kind: str, config: Config) -> list[Refusal]:
    return [rule for rule in STEP_REFUSALS if rule.step == kind and rule.fits(config)]

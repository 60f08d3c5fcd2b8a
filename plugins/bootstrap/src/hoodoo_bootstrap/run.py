"""``hoodoo.bootstrap``: a table over a folder of Parquet files, which stay where they are."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import (
    CallError,
    ConfigError,
    DuplicateKeyError,
    NotATableError,
    SchemaError,
    TableExistsError,
)
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import default_name, resolve
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, PARTITION_FIELDS, TableConfig
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.instant import Instant
from hoodoo.options.table import BOOTSTRAP_BASE, HIVE_STYLE, URL_ENCODE
from hoodoo.storage.api import Storage
from hoodoo.storage.uri import local_path, split
from hoodoo.table.handle import TableHandle
from hoodoo.table.settings import open_storage, typed_options
from hoodoo_rows.api import Batches, NewFiles, Pending, WriteRequest, Writes, WriteTarget
from hoodoo_rows.engine.sources import overlap

from hoodoo_bootstrap import first, index
from hoodoo_bootstrap.folder import PathColumns, files_in, hive_columns, with_values
from hoodoo_bootstrap.index import SKELETONS, SourceFile
from hoodoo_bootstrap.modes import Modes
from hoodoo_bootstrap.options import (
    FULL_RECORD,
    INDEX_CLASS,
    INDEX_TYPE,
    METADATA_ONLY,
    OF_RUNS,
    PARALLELISM,
)
from hoodoo_bootstrap.plan import BootstrapPlan, Found, look
from hoodoo_bootstrap.skeletons import (
    FindTwice,
    MakeSkeletons,
    RouteKeys,
    SourceKeys,
    source_of,
    tasks,
)

BOOTSTRAP = Writes.Kind(Operation.BOOTSTRAP)
_KEYS_A_PART = 1 << 18  # of a hundred bytes, for each thread
_CLASS = "org.apache.hudi.common.bootstrap.index.HFileBootstrapIndex"  # as Hudi 0.x names it


@frozen
class Call:
    """The checked arguments of a call, and the files of the source in the folder ``base``. At most
    ``most`` tasks read them."""

    base: str
    storage: Storage
    file_format: BaseFileFormat
    engine: Engine
    modes: Modes
    found: Found
    options: Mapping[str, str]
    most: int
    # As ``create`` takes it: a custom key generator takes ``column:TYPE``.
    partition_by: tuple[str, ...]

    def of_mode(self, mode: str) -> list[SourceFile]:
        """The files of the partitions that have ``mode``."""
        return [file for file in self.found.files if self.modes.of(file.folder) == mode]


def plan_bootstrap(
    source: str | os.PathLike[str],
    *,
    partition_by: str | Sequence[str] | None = None,
    mode: str | None = None,
    regex: str | None = None,
    engine: str | Engine | None = None,
    options: Mapping[str, Any] | None = None,
) -> BootstrapPlan:
    """What :func:`bootstrap` would do with ``source``: files, partitions, rows and bytes for each
    mode, the columns of the table, and an estimate of the bytes that it would write. Reads the
    footers of all files, and writes nothing.

    The arguments are those of :func:`bootstrap`. Raises ConfigError, SchemaError or NotATableError
    for a source that can't be bootstrapped."""
    call = asked(source, partition_by, mode, regex, engine, options)
    typed = Settings(TableConfig({PARTITION_FIELDS: ",".join(call.partition_by)}), call.options)
    # The key generator knows what ``column:TYPE`` may be; that of a table is asked by ``create``.
    resolve("key_generator", default_name("key_generator", typed), typed)
    return call.found.plan(call.base, call.modes)


def bootstrap(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    mode: str | None = None,
    regex: str | None = None,
    **table: Any,
) -> hoodoo.Table:
    """Make a table of the Parquet files in the folder ``source``, which stay there, and return it.

    With the ``mode`` METADATA_ONLY, the default, the table at ``path`` gets only Hudi's columns, in
    a small file for each file of the source. FULL_RECORD copies the rows. With ``regex``, partition
    paths that match it as a whole have the mode, and all others the other one. Hudi's options
    (``hoodie.bootstrap.*``) may stand for these arguments.

    ``record_key``: the columns that identify a row. ``partition_by``: a column for each level of
    folders; by default those that folders named ``column=value`` say. The other arguments,
    ``options`` and ``engine`` among them, are those of ``create``. If a bootstrap failed or died,
    the same call begins again.

    Raises DuplicateKeyError, NullKeyError, MissingColumnError or DataError for rows that can't be
    those of the table, ConfigError, SchemaError or NotATableError for a source that can't be
    bootstrapped, TableExistsError for a table that has commits, CommitConflictError while another
    process bootstraps it, and the errors of ``create``."""
    keys = _names(record_key)
    if not keys:
        raise CallError(
            "hoodoo.bootstrap",
            "lacks record_key: each row of the table needs a key.",
            'Give record_key="id", or several names.',
        )
    if overlap(path, source):
        raise ConfigError(
            f"path {path}",
            f"and the source {source} lie one in the other: readers of the one would see "
            "files of the other.",
            "Choose a path beside the source.",
        )
    engine, options = table.pop("engine", None), table.pop("options", None)
    call = asked(source, partition_by, mode, regex, engine, options)
    for name in keys:
        if name.split(".")[0] not in call.found.schema.names:
            raise SchemaError(
                f"column {name!r}",
                "is to be of the record key, and is not in the source.",
                f"It has {', '.join(call.found.schema.names)}.",
            )
    made = _table(call, path, keys, engine, table)
    fill(made, call)
    return made


def fill(made: hoodoo.Table, call: Call) -> None:
    """Write the commits of a bootstrap into the table ``made``, which has no other commits."""
    done = _done(made, call)
    if not done:
        _check_keys(made.handle, call)
    if METADATA_ONLY not in done and (files := call.of_mode(METADATA_ONLY)):
        _skeletons(made.handle, call, files)
    if copied := _not_in(made.handle, call):
        _copied(made.handle, call, copied)


def asked(source: Any, partition_by: Any, mode: Any, regex: Any, engine: Any, options: Any) -> Call:
    """The call with these arguments. Lists the source and reads its footers. Raises as
    :func:`plan_bootstrap`."""
    given = typed_options(options)
    modes = Modes.given(mode, regex, given)
    scheme, _rest = split(source)
    base = local_path(source) if scheme in ("", "file") else os.fspath(source).rstrip("/")
    said = given.get(BOOTSTRAP_BASE)
    if said is not None and said.rstrip("/") != base:
        raise ConfigError(
            f"option {BOOTSTRAP_BASE}={said}", f"is not the source {base}.", "Leave the option out."
        )
    own = {name for option in OF_RUNS for name in option.names}
    rest = {key: value for key, value in given.items() if key not in own}
    storage = open_storage(base, rest)
    files = files_in(storage)
    settings = Settings(TableConfig(), rest)
    file_format = resolve("file_format", settings.table.base_file_format, settings).instance
    runner: Engine = resolve(
        "engine", engine or default_name("engine", settings), settings
    ).instance
    fields = _names(partition_by)
    table = TableConfig({PARTITION_FIELDS: ",".join(fields)})
    names = None if partition_by is None else table.partition_fields
    most = PARALLELISM.read(given)
    found = look(runner, storage, file_format, files, names, most)
    by = found.columns.names if partition_by is None else fields
    return Call(base, storage, file_format, runner, modes, found, rest, most, by)


def _names(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """As ``create`` takes them: a list, or a text with commas between them."""
    if isinstance(columns, str):
        return tuple(name for part in columns.split(",") if (name := part.strip()))
    return tuple(columns or ())


def _table(
    call: Call, path: Any, keys: Sequence[str], engine: Any, more: Mapping[str, Any]
) -> hoodoo.Table:
    """The table to fill: a new one, or the one that a dead bootstrap has left."""
    hive = bool(hive_columns(call.found.files))
    escaped = any("%" in file.folder for file in call.found.files)
    options = {
        HIVE_STYLE.key: str(hive).lower(),
        URL_ENCODE.key: str(escaped).lower(),
        **call.options,
        BOOTSTRAP_BASE: call.base,
        INDEX_TYPE.key: "HFILE" if call.of_mode(METADATA_ONLY) else "NONE",
    }
    if more.get("table_version") == 6:
        options[INDEX_CLASS.key] = _CLASS
    try:
        there = hoodoo.open(path, call.options, engine=engine)
    except NotATableError:
        return hoodoo.create(
            path,
            call.found.schema,
            record_key=list(keys),
            partition_by=list(call.partition_by),
            engine=engine,
            options=options,
            **more,
        )
    if there.config.get(BOOTSTRAP_BASE) != call.base or first.others_on(there.timeline()):
        raise TableExistsError(
            there.path,
            "a table already exists here, with commits or of another source.",
            "Choose another path; or delete the folder of the table, if it is what is left "
            "of a bootstrap: the source stays.",
        )
    return hoodoo.create(
        path,
        call.found.schema,
        record_key=list(keys),
        partition_by=list(call.partition_by),
        engine=engine,
        options=options,
        exist_ok=True,
        **more,
    )


def _done(made: hoodoo.Table, call: Call) -> set[str]:
    """The modes whose commits are complete. Undoes the commits of dead processes first. Raises
    TableExistsError if the table lacks no commit."""
    first.take_back_dead(made.handle)
    there = {i.requested for i in made.timeline().completed()}
    done = {METADATA_ONLY} if SKELETONS in there else set()
    if first.COPIED in there or (done and not _not_in(made.handle, call)):
        raise TableExistsError(made.path, "is bootstrapped already.", "Open it: hoodoo.open(path).")
    return done


def _not_in(table: TableHandle, call: Call) -> list[SourceFile]:
    """The files of the source in partitions without skeleton files: their rows are copied."""
    timeline = table.timeline()
    found = timeline.find(SKELETONS)
    stats = () if found is None else timeline.metadata(table.storage, found).stats
    there = {stat.partition_path for stat in stats}
    return [file for file in call.found.files if file.folder not in there]


# --- keys -----------------------------------------------------------------------------------------
def _source_keys(target: WriteTarget, call: Call) -> SourceKeys:
    copied = frozenset(file.folder for file in call.of_mode(FULL_RECORD))
    columns, schema = call.found.columns, call.found.schema
    return SourceKeys(call.storage, call.file_format, target.generator, columns, schema, copied)


def _check_keys(table: TableHandle, call: Call) -> None:
    """Raise the errors of keys and partition paths before anything is written. Tasks compare the
    keys, and return a few duplicates to the driver."""
    target: WriteTarget = table.write_target(None, call.engine)
    engine = target.engine
    engine.check(target.plugins.refs)
    first_of_all = f"Delete the new table {table.storage.root}, which is empty. Then use"
    if target.computed is not None and call.of_mode(METADATA_ONLY):
        raise ConfigError(
            f"index {table.config.get(HUDI_INDEX) or table.config.get(OWN_INDEX)}",
            "computes the file group of each key, and files of the source are not sorted by it.",
            f"{first_of_all} another index, such as bloom; or the mode FULL_RECORD.",
        )
    if "record_index" in table.config.metadata_partitions:
        raise ConfigError(
            "index record_index",
            "stores of each row when its file was written, and the instant of a bootstrap is "
            "no time.",
            f"{first_of_all} another index, such as bloom.",
        )
    rows = pc.sum(call.found.rows).as_py()
    parts = max(engine.parallelism, -(-rows // _KEYS_A_PART))
    anywhere = bool(getattr(target.index, "is_global", False))
    step = RouteKeys(_source_keys(target, call), parts, anywhere)
    keys = engine.map(tasks(engine, call.found.files, call.most), step)
    twice = engine.collect(engine.map(target.exchange(keys, parts), FindTwice()))
    if twice.num_rows:
        one = twice.slice(0, 1).to_pylist()[0]
        where = "" if anywhere or not one["partition_path"] else f" in {one['partition_path']}"
        raise DuplicateKeyError(
            f"record key {one['record_key']}{where}",
            f"is that of {one['rows']} rows of the source, and {twice.num_rows - 1} other "
            "keys or more are, too."
            if twice.num_rows > 1
            else f"is that of {one['rows']} rows of the source.",
            "Name more columns: record_key=[...]; or copy the rows with "
            "hoodoo.convert(ordering=...), of which the newest stays. "
            f"The new table {table.storage.root} is empty: delete it.",
        )


# --- the two commits ------------------------------------------------------------------------------
def _request(table: TableHandle, kind: Any, instant: str, engine: Engine) -> WriteRequest:
    request: WriteRequest = table.write_request(kind, partial(table.write_target, None, engine))
    undo = partial(first.take_back, table)
    return evolve(request, ask=first.at(instant), undo=undo, repeats=0)


def _skeletons(table: TableHandle, call: Call, files: Sequence[SourceFile]) -> None:
    request = _request(table, BOOTSTRAP, SKELETONS, call.engine)
    Writes.files(request, lambda target: partial(_make, target, call, files), new=True)


def _make(
    target: WriteTarget, call: Call, files: Sequence[SourceFile], instant: Instant
) -> tuple[WriteStat, ...]:
    """Write a skeleton file for each of ``files``, and the index that maps one to the other."""
    engine, pending = target.engine, Pending.of(target.timeline, instant)
    step = MakeSkeletons(_source_keys(target, call), target.storage, pending, uuid.uuid4().hex)
    stats = NewFiles.read_stats(engine.collect(engine.map(tasks(engine, files, call.most), step)))
    index.write(target.storage, call.base, _Pairs(stats, files))
    return stats


@frozen
class _Pairs(Sequence[tuple[BaseFile, SourceFile]]):
    """The skeletons of ``stats``, each with its file of ``files``: made when they are asked for, as
    a hundred thousand of them would take 100 MB."""

    stats: Sequence[WriteStat]
    files: Sequence[SourceFile]

    def __len__(self) -> int:
        return len(self.stats)

    def __getitem__(self, at: Any) -> Any:
        return source_of(self.stats[at], self.files)


def _copied(table: TableHandle, call: Call, files: Sequence[SourceFile]) -> None:
    schema, columns = call.found.schema, call.found.columns
    batches = _rows(call.storage, call.file_format, columns, schema, files)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    Writes.of_request(_request(table, Writes.BULK_INSERT, first.COPIED, call.engine), reader)


def _rows(
    source: Storage,
    file_format: BaseFileFormat,
    columns: PathColumns,
    schema: pa.Schema,
    files: Sequence[SourceFile],
) -> Iterator[pa.RecordBatch]:
    for file in files:
        with file_format.reader(source, file.path) as reader:
            values = columns.of(file.folder, reader.schema.names)
            names = [*reader.schema.names, *values]
            for batch in reader.batches():
                yield Batches.widened(with_values(names, batch, values), schema, file.path)

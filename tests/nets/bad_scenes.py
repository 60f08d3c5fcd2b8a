"""Operations on small tables in which each member of each plugin is asked, with plugins that are made bad."""

from __future__ import annotations

import io
import pkgutil
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from bad_answers import Bad, Case
from hoodoo.hookspecs import Settings
from hoodoo.kernel import kernel, resolve
from hoodoo.model.config import TableConfig
from hoodoo_rows.engine.crossing import usual_serializer
from hoodoo_rows.engine.frames import write_stream
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.int64()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())]
)
# What follows a write, and lies beside a table, is not what is tried here.
QUIET = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
FINISH = {**QUIET, "hoodie.clean.commits.retained": "1"}

rows = Maker(SCHEMA, "ts", ts=1, part=("b", "a"), v=lambda n: n * 7 % 5 * 1.0).span


def fresh() -> pa.Table:
    """Old keys, new ones, and one of each twice."""
    return pa.concat_tables([rows(15, 10, 2), rows(19, 3, 3)])


def opened(path: Path, **options: str) -> Any:
    return hoodoo.open(str(path), {**QUIET, **options})


def create(path: Path, **given: Any) -> Any:
    options = {**QUIET, **given.pop("options", {})}
    arguments: dict[str, Any] = {
        "record_key": "id",
        "partition_by": "part",
        "ordering": "ts",
        "options": options,
    }
    table = hoodoo.create(str(path), SCHEMA, **{**arguments, **given})
    table.upsert(rows(0, 20)) if arguments | given and given.get("record_key", 1) else table.insert(
        rows(0, 20)
    )
    return table


def elsewhere() -> pa.Table:
    """Rows of a partition path that is not there yet."""
    found = rows(60, 5)
    return found.set_column(1, "part", pa.array(["c"] * 5))


@frozen
class Scene:
    """``make`` a table, and ``act`` upon it. ``moved``: what else has happened to it by then."""

    make: Callable[[Path], Any]
    act: Callable[[Path], Any]
    moved: list[Any] = field(factory=list)


def _upsert(path: Path) -> Any:
    return opened(path).upsert(fresh())


def _merged_logs(path: Path) -> None:
    table = create(path, table_type="MERGE_ON_READ")
    table.upsert(rows(5, 5, 2))


def _read_one(path: Path) -> pa.Table:
    """A row of which a log file has a newer version."""
    key = rows(5, 1)["id"][0]
    return opened(path).read(where=pc.field("id") == key).to_arrow()


def _several_files(path: Path) -> None:
    table = create(path, index="simple")
    for start in (20, 30, 40):
        table.append(rows(start, 10))


def _cluster(path: Path) -> Any:
    return opened(path).cluster(order="hilbert", columns=["v", "ts"])


def _several_versions(path: Path) -> None:
    table = create(path)
    for ts in (2, 3, 4, 5):
        table.upsert(rows(0, 20, ts))


def _planned(path: Path) -> None:
    _several_files(path)
    opened(path).schedule_clustering(columns=["v"])


def _linear(path: Path) -> Any:
    return opened(path).cluster(order="linear", columns=["v", "ts"])


def _clean(path: Path) -> Any:
    return hoodoo.open(str(path), FINISH).clean()


CONFLICT = Scene(create, lambda path: _beside(path))


def _beside(path: Path) -> Any:
    """A write, and another one of the same file groups while it reads its rows."""

    def arriving() -> Iterator[pa.RecordBatch]:
        hoodoo.open(str(path), QUIET).upsert(rows(0, 4, 9))
        CONFLICT.moved[:] = [state(path)]
        yield from fresh().to_batches()

    reader = pa.RecordBatchReader.from_batches(SCHEMA, arriving())
    table = opened(path, **{"hoodie.write.num.retries.on.conflict.failures": "3"})
    try:
        return table.upsert(reader)
    except hoodoo.errors.CommitConflictError:  # a good strategy: a stream can't be read again
        return table.upsert(fresh())


def _metered(path: Path) -> Any:
    engine = MeteredEngine(resolve("engine", "local").instance)
    return opened(path).upsert(fresh(), engine=engine)


def _read(path: Path) -> Any:
    return opened(path).read(where=pc.field("part") == "a").to_arrow()


def _delete(path: Path) -> Any:
    return opened(path).delete(rows(3, 4).select(["id", "part"]))


_GIVES_WAY = {"hoodie.clustering.updates.strategy": "allow"}
_LOCK = {"hoodie.write.lock.provider": "in_process", "hoodie.write.lock.wait_time_ms": "500"}
SCENES: dict[str, Scene] = {
    "upsert": Scene(create, _upsert),
    "delete": Scene(create, _delete),
    "read": Scene(create, _read),
    "clustering": Scene(_several_files, _cluster),
    "linear": Scene(_several_files, _linear),
    "log_upsert": Scene(_merged_logs, _upsert),
    "compaction": Scene(_merged_logs, lambda path: opened(path).compact()),
    "merged_read": Scene(_merged_logs, lambda path: opened(path).read().to_arrow()),
    "point_read": Scene(_merged_logs, _read_one),
    "cleaning": Scene(_several_versions, _clean),
    "planned": Scene(_planned, lambda path: opened(path, **_GIVES_WAY).upsert(rows(0, 40, 5))),
    "bucket": Scene(
        lambda path: create(path, index="bucket", options={"hoodie.bucket.index.num.buckets": "3"}),
        _upsert,
    ),
    "new_bucket": Scene(
        lambda path: create(path, index="bucket", options={"hoodie.bucket.index.num.buckets": "3"}),
        lambda path: opened(path).upsert(elsewhere()),
    ),
    "tee": Scene(
        create,
        lambda path: hoodoo.open(
            str(path),
            {
                **QUIET,
                "hoodoo.index.tee": "simple,bloom",
            },
            index="tee",
        ).upsert(fresh()),
    ),
    "growing": Scene(
        lambda path: create(
            path,
            index="growing_record_index",
            options={"hoodie.metadata.enable": "true", "hoodoo.index.hash": "mixed"},
        ),
        lambda path: hoodoo.open(
            str(path), {k: v for k, v in QUIET.items() if "metadata" not in k}
        ).upsert(fresh()),
    ),
    "lock": Scene(create, lambda path: opened(path, **_LOCK).upsert(fresh())),
    "conflict": CONFLICT,
    "generated": Scene(
        lambda path: create(path, record_key=None, ordering=()),
        lambda path: opened(path).insert(rows(50, 5)),
    ),
    "complex": Scene(lambda path: create(path, record_key=["id", "ts"]), _upsert),
    "metered": Scene(create, _metered),
}


# --- members that no operation on a table asks for: called as core would -----------------------------------
def _one(family: str, name: str, **options: str) -> Any:
    config = TableConfig(
        {
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.partition.fields": "part",
            "hoodie.table.ordering.fields": "ts",
        }
    )
    return resolve(family, name, Settings(config, options)).instance


def _bound() -> Any:
    return _one("serializer", "arrow").bind(SCHEMA)


def _copied_stream() -> Any:
    stream = io.BytesIO()
    write_stream(usual_serializer().bind(SCHEMA), [_batch()], stream)
    stream.seek(0)
    return _bound().copy_stream(stream, io.BytesIO())


def _store(path: Path) -> Any:
    return _one("storage", "file", **{"hoodoo.storage.uri": str(path)})


def _batch() -> pa.RecordBatch:
    return rows(0, 5).to_batches()[0]


DIRECT: dict[tuple[str, str], Callable[[Path], Any]] = {
    ("Merger", "merge_mode"): lambda path: _one("merger", "event_time").merge_mode,
    ("Merger", "strategy_id"): lambda path: _one("merger", "event_time").strategy_id,
    ("Serializer", "name"): lambda path: _one("serializer", "arrow").name,
    ("Serializer", "open"): lambda path: _one("serializer", "arrow").open(_bound().header()),
    ("BoundSerializer", "header"): lambda path: _bound().header(),
    ("BoundSerializer", "copy"): lambda path: _bound().copy(_batch()),
    ("BoundSerializer", "copy_stream"): lambda path: _copied_stream(),
    ("Engine", "name"): lambda path: _one("engine", "local").name,
    ("Engine", "accepts"): lambda path: _one("engine", "local").accepts(rows(0, 1)),
    ("Engine", "union"): lambda path: (lambda e: e.union([e.source(rows(0, 1))]))(
        _one("engine", "local")
    ),
    ("Meter", "read"): lambda path: _one("engine", "local").meter().read(),
    ("Storage", "delete"): lambda path: _store(path).delete("nothing"),
    ("Storage", "put"): lambda path: _store(path).put("beside", b"1"),
    ("Storage", "delete_prefix"): lambda path: _store(path).delete_prefix("nothing"),
    ("Storage", "head"): lambda path: _store(path).head(".hoodie/hoodie.properties"),
    ("BaseFileReader", "metadata"): lambda path: _reader(path).metadata,
    ("BaseFileReader", "schema"): lambda path: _reader(path).schema,
    ("BaseFileReader", "close"): lambda path: _reader(path).close(),
    ("HasColumnRanges", "column_ranges"): lambda path: _one("file_format", "PARQUET").column_ranges(
        _store(path), _file(path), ["id"]
    ),
    ("HasBaseRanges", "base_ranges"): lambda path: _one("file_format", "PARQUET").base_ranges(
        _store(path), _file(path), ["id"]
    ),
    ("BaseFileWriter", "written"): lambda path: _writer(path).written,
    ("BaseFileWriter", "flush"): lambda path: _writer(path).flush(),
}


def _file(path: Path) -> str:
    (found, *_) = sorted(path.rglob("*.parquet"))
    return str(found.relative_to(path))


def _reader(path: Path) -> Any:
    return _one("file_format", "PARQUET").reader(_store(path), _file(path))


def _writer(path: Path) -> Any:
    writer = _one("file_format", "PARQUET").writer(str(path.parent / "written"), SCHEMA)
    writer.write(_batch())
    return writer


# --- making them bad ------------------------------------------------------------------------------------
@contextmanager
def bad(case: Case) -> Iterator[None]:
    """Every plugin of the family, named or default, is bad meanwhile: they come through the one door."""
    before = []
    for offer in kernel().offers(case.family):
        registration = offer.registration
        before.append((registration, registration.factory))
        object.__setattr__(registration, "factory", _made_bad(registration.factory, case))
    try:
        yield
    finally:
        for registration, factory in before:
            object.__setattr__(registration, "factory", factory)


def _made_bad(factory: Any, case: Case) -> Callable[[Settings], Any]:
    def make(settings: Settings) -> Any:
        call = pkgutil.resolve_name(factory) if isinstance(factory, str) else factory
        return Bad(call(settings), case, case.via)

    return make


def state(path: Path) -> tuple[Any, Any]:
    """The completed instants, and the rows."""
    table = hoodoo.open(str(path))
    # What is undone leaves a rollback, which says that nothing was done.
    done = [str(i) for i in table.timeline().completed() if i.action != "rollback"]
    found = table.read().to_arrow()
    return done, found.sort_by([(n, "ascending") for n in ("id", "ts", "part", "v")])


def values(path: Path) -> pa.Table:
    """The rows, whenever they were written."""
    return state(path)[1].select(SCHEMA.names)


def copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target

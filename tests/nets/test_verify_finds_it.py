"""Each way to damage a table that the nets know is found by ``verify``, in every kind of table; and a table that
is whole gives no finding.

The tables have two partition paths and a few commits: keys that were updated, deleted and, where the index is
global, that came with another path.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from hoodoo.hookspecs.engine import Stream
from hoodoo.kernel.archived import load_archived
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.timeline import properties, replaced_note
from hoodoo_metadata.table.layout import GROWING_INDEX, RECORD_INDEX
from hoodoo_rows.placement import FOLLOWS
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage
from noted_sizes import commits, restat

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("v", pa.int64())])
UNKNOWN = "20990101000000000"
STAYS = {"hoodie.simple.index.update.partition.path": "false"}


@frozen
class Kind:
    """A kind of table. ``more``: plain, with a metadata table, or with virtual keys."""

    type: str
    version: int
    index: str
    more: str

    @property
    def name(self) -> str:
        short = "mor" if self.type == "MERGE_ON_READ" else "cow"
        return f"{short}-v{self.version}-{self.index}-{self.more}"

    @property
    def is_global(self) -> bool:
        return self.index in ("global_simple", "global_bloom") or self.has_index

    @property
    def has_index(self) -> bool:
        return self.index in ("record_index", "growing_record_index")

    @property
    def logs(self) -> bool:
        return self.type == "MERGE_ON_READ"

    def make(self, path: Path) -> hoodoo.Table:
        options: dict[str, str] = {}
        if self.more == "virtual":
            options["hoodie.populate.meta.fields"] = "false"
        if self.more == "metadata" and not self.has_index:
            options["hoodie.metadata.enable"] = "true"
        table = hoodoo.create(
            str(path), SCHEMA, name="trips", record_key="id", partition_by="city",
            table_type=self.type, table_version=self.version, index=self.index, options=options,
        )  # fmt: skip
        fill(table)
        return table


def fill(table: hoodoo.Table) -> None:
    """The rows that the damages are done to."""
    table.upsert(rows("abcdef", 1))
    table.insert_overwrite(rows("gh", 1, "bern"))
    table.insert_overwrite(rows("ij", 2, "bern"))
    table.upsert(rows("ad", 2))
    table.delete(rows("b", 2))


def kinds() -> Iterator[Kind]:
    types = ("COPY_ON_WRITE", "MERGE_ON_READ")
    for type_, version, index in itertools.product(types, (6, 8, 9), ("simple", "global_simple")):
        for more in ("plain", "metadata", "virtual"):
            if version == 9 or more != "metadata":
                yield Kind(type_, version, index, more)
    for type_, index in itertools.product(types, ("record_index", "growing_record_index")):
        yield Kind(type_, 9, index, "metadata")


KINDS = {kind.name: kind for kind in kinds()}

rows = Maker(SCHEMA, "v", "city", city=lambda letter: "oslo" if letter < "d" else "rome")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    below = tmp_path_factory.mktemp("whole")

    def one(kind: Kind) -> Path:
        if not (below / kind.name).exists():
            kind.make(below / kind.name)
        return below / kind.name

    return one


# --- where things are ------------------------------------------------------------------------------
def slices(path: Path, city: str) -> list[FileSlice]:
    """Those that a read shows, the newest last: an old table has files of others, too."""
    found = [s for s in hoodoo.open(str(path)).file_slices() if s.partition_path == city]
    return sorted(found, key=lambda slice_: slice_.instant)


def bases(path: Path, city: str) -> list[Path]:
    return [path / s.base_file.path for s in slices(path, city) if s.base_file is not None]


def base(path: Path, city: str = "oslo") -> Path:
    return bases(path, city)[-1]


def holding(path: Path, key: str, city: str = "rome") -> Path:
    """The base file with ``key``: of buckets, not each has it."""
    return next(f for f in bases(path, city) if key in pq.read_table(f).column("id").to_pylist())


def log(path: Path) -> Path:
    return path / [log for s in slices(path, "oslo") for log in s.log_files][-1].path


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Other rows in a base file, of which the commits know."""
    found = pq.read_table(file)
    pq.write_table(change(found).replace_schema_metadata(found.schema.metadata), file)
    restat(file)


def changed(column: str, value: str, of: str) -> Callable[[pa.Table], pa.Table]:
    """The row of the key ``of`` has ``value`` in ``column``."""

    def change(found: pa.Table) -> pa.Table:
        keys = found.column("id").to_pylist()
        at = found.schema.get_field_index(column)
        values = found.column(column).to_pylist()
        values[keys.index(of)] = value
        return found.set_column(at, found.schema.field(column), pa.array(values, pa.string()))

    return change


def both(*changes: Callable[[pa.Table], pa.Table]) -> Callable[[pa.Table], pa.Table]:
    def change(found: pa.Table) -> pa.Table:
        for one in changes:
            found = one(found)
        return found

    return change


# --- damages: each says by which kinds it may be found -----------------------------------------------
def lost_base(kind: Kind, path: Path) -> set[str]:
    base(path).unlink()
    return {"file.missing"}


def lost_log(kind: Kind, path: Path) -> set[str]:
    log(path).unlink()
    return {"file.missing"}


def truncated_base(kind: Kind, path: Path) -> set[str]:
    file = base(path)
    file.write_bytes(file.read_bytes()[:-300])
    return {"file.size", "base.unreadable"}


def truncated_log(kind: Kind, path: Path) -> set[str]:
    file = log(path)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return {"file.size", "log.damaged"}


def doubled_key(kind: Kind, path: Path) -> set[str]:
    """In one partition path: a row of the base file has the key of another one."""
    change = []
    if kind.more != "virtual":
        change.append(changed("_hoodie_record_key", "e", of="f"))
        change.append(changed("_hoodie_commit_time", newest_instant(path), of="f"))
    change.append(changed("id", "e", of="f"))
    rewritten(holding(path, "f"), both(*change))
    return {"key.twice"}


def doubled_key_across_paths(kind: Kind, path: Path) -> set[str]:
    """Under a global index: the same key in two partition paths, which a writer with another index brought."""
    at = properties_of(path)
    held = at.read_bytes()
    at.write_bytes(b"".join(line for line in held.splitlines(True) if b"index.type" not in line))
    hoodoo.open(str(path), {"hoodie.index.type": "SIMPLE"}).upsert(rows("e", 5, "lima"))
    at.write_bytes(held)
    return {"key.twice"}


def moved_row(kind: Kind, path: Path) -> set[str]:
    """A row says another partition than the path that it lies in, and the table says that none does."""
    rewritten(holding(path, "f"), changed("city", "oslo", of="f"))
    return {"row.placement"}


def wrong_count(kind: Kind, path: Path) -> set[str]:
    restat(base(path), num_writes=77)
    return {"base.rows"}


def wrong_size(kind: Kind, path: Path) -> set[str]:
    restat(base(path), file_size=77)
    return {"file.size"}


def fewer_rows(kind: Kind, path: Path) -> set[str]:
    file = base(path)
    found = pq.read_table(file)
    pq.write_table(found.slice(1).replace_schema_metadata(found.schema.metadata), file)
    return {"file.size", "base.rows"}


def stray_file(kind: Kind, path: Path) -> set[str]:
    file = base(path)
    shutil.copy(file, file.with_name(f"{file.name.rpartition('_')[0]}_{UNKNOWN}.parquet"))
    return {"file.stray"}


def unnamed_file(kind: Kind, path: Path) -> set[str]:
    file = base(path, "rome")
    shutil.copy(file, file.with_name(f"11111111{file.name[8:]}"))
    return {"file.unnamed"}


def replaced_group_seen(kind: Kind, path: Path) -> set[str]:
    """A clustering whose commit does not say what it replaced: every row is there twice."""
    table = hoodoo.open(str(path))
    if kind.logs:
        table.compact()
    table.cluster(columns="v")
    commits(path, lambda stats: stats, replaced=False)
    return {"key.twice"}


def index_entries(kind: Kind, path: Path, change: Callable[[set[str]], set[str]]) -> None:
    """The record index made of other keys than the table has."""
    table = hoodoo.open(str(path))
    partition = RECORD_INDEX if kind.index == "record_index" else GROWING_INDEX
    table.rebuild_index(partition, source=Wrong(change))


def missing_entry(kind: Kind, path: Path) -> set[str]:
    index_entries(kind, path, lambda keys: keys - {"e"})
    return {"metadata.keys"}


def stale_entry(kind: Kind, path: Path) -> set[str]:
    index_entries(kind, path, lambda keys: keys | {"gone"})
    return {"metadata.keys"}


def misplaced_entry(kind: Kind, path: Path) -> set[str]:
    index_entries(kind, path, lambda keys: {f"!{k}" if k == "e" else k for k in keys})
    return {"metadata.keys"}


class Wrong:
    """An index that is asked to make a record index of, and does not say what is."""

    is_global, moves_partitions, knows_logs = True, False, True

    def __init__(self, change: Callable[[set[str]], set[str]]) -> None:
        self.change = change

    def locate(self, keys: Stream, context: Any) -> Stream:
        from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
        from hoodoo.hookspecs.registration import Settings
        from hoodoo.kernel.resolve import resolve

        index = resolve("index", "global_simple", Settings(context.timeline.config, {})).instance
        found = context.engine.collect(index.locate(keys, context)).to_pylist()
        places = {row["record_key"]: (row["partition_path"], row["file_id"]) for row in found}
        some = places["a"]
        told = []
        for key in sorted(self.change(set(places))):
            place = places.get(key, some)
            told.append((key.lstrip("!"), *place))
        columns = zip(*told, strict=True)
        table = pa.table([pa.array(c, pa.string()) for c in columns], schema=LOCATIONS_SCHEMA)
        return context.engine.source(table)


def properties_of(path: Path) -> Path:
    return path / ".hoodie/hoodie.properties"


def newest_instant(path: Path) -> str:
    """That of the upsert, which is no insert's."""
    table = hoodoo.open(str(path))
    storage = LocalStorage(str(path))
    timeline = table.timeline()
    named: list[Instant] = [
        w for w in timeline.writes() if timeline.metadata(storage, w).operation.value == "UPSERT"
    ]
    return named[0].requested


def everywhere(kind: Kind) -> bool:
    return True


DAMAGES: list[tuple[Callable[[Kind, Path], set[str]], Callable[[Kind], bool]]] = [
    (lost_base, everywhere),
    (lost_log, lambda kind: kind.logs),
    (truncated_base, everywhere),
    (truncated_log, lambda kind: kind.logs),
    (doubled_key, everywhere),
    (doubled_key_across_paths, lambda kind: kind.is_global and not kind.has_index),
    (moved_row, everywhere),
    (wrong_count, everywhere),
    (wrong_size, everywhere),
    (fewer_rows, everywhere),
    (stray_file, everywhere),
    (unnamed_file, everywhere),
    (replaced_group_seen, lambda kind: "bucket" not in kind.index),
    (missing_entry, lambda kind: kind.has_index),
    (stale_entry, lambda kind: kind.has_index),
    (misplaced_entry, lambda kind: kind.has_index),
]
CASES = [(d, kind) for d, fits in DAMAGES for kind in KINDS.values() if fits(kind)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_table_that_is_whole_gives_no_finding(kind: Kind, whole: Callable[[Kind], Path]) -> None:
    report = hoodoo.open(str(whole(kind))).verify()
    assert report.findings == () and report.skipped == ()


@pytest.mark.parametrize(
    ("damage", "kind"), CASES, ids=[f"{d.__name__}-{k.name}" for d, k in CASES]
)
def test_damage_is_found(
    damage: Callable[[Kind, Path], set[str]],
    kind: Kind,
    whole: Callable[[Kind], Path],
    tmp_path: Path,
) -> None:
    path = Path(shutil.copytree(whole(kind), tmp_path / "trips"))
    wanted = damage(kind, path)
    found = set(hoodoo.open(str(path)).verify().kinds)
    assert found & wanted, (found, wanted)


def test_a_note_that_differs_from_a_replacecommit_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the newest, with which readers compare it, and of an older one."""
    monkeypatch.setattr(replaced_note, "MANY", 0)
    path = tmp_path / "t"
    KINDS["cow-v9-simple-plain"].make(path)
    note = path / replaced_note.PATH
    said = gzip.decompress(note.read_bytes())
    assert hoodoo.open(str(path)).verify().findings == ()
    noted = sorted(json.loads(said)["replaced"].items())
    assert len(noted) == 2
    for _name, (_tag, replaced) in noted:
        (ids,) = replaced.values() or [[]]
        wrong = (
            said.replace(ids[0].encode(), b"other") if ids else said.replace(b"{}", b'{"p": []}')
        )
        note.write_bytes(gzip.compress(wrong))
        assert hoodoo.open(str(path)).verify().kinds == ("timeline.note",)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_row_that_stayed_is_no_damage(kind: str, tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=kind,
        index="global_simple", options=STAYS,
    )  # fmt: skip
    table.upsert(rows("abcdef", 1))
    table.upsert(rows("a", 2, "rome"))
    assert table.verify().findings == ()
    storage = LocalStorage(table.path)
    properties.update(storage, properties.load(storage), {FOLLOWS: "true"})
    assert hoodoo.open(table.path).verify().findings == ()  # its commit does not say so


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_version_file_of_the_archive_that_names_no_manifest_is_found(
    kind: str, tmp_path: Path
) -> None:
    """Hudi's readers begin there. Hoodoo goes by the manifests, so its answers stay right."""
    options = {
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    path = tmp_path / "t"
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", table_type=kind, options=options
    )
    for n in range(8):
        table.upsert(rows("abc", n))
    folder = path / ".hoodie/timeline/history"
    file = folder / "_version_"
    newest = file.read_bytes()
    assert int(newest) >= 2 and table.verify().findings == ()
    file.write_bytes(b"%d" % (int(newest) - 1))  # an archiver that ended before it said so
    assert (folder / f"manifest_{int(newest) - 1}").exists() and table.verify().findings == ()
    before = archived(table)
    assert before
    for damage in (b"garbage", b"", b"\xff\x00", b"99999"):
        file.write_bytes(damage)
        for quick in (False, True):
            report = hoodoo.open(str(path)).verify(quick=quick)
            assert report.kinds == ("timeline.archived",) and not report.ok, damage
        assert "delete it" in report.findings[0].fix and "_version_" in report.findings[0].obj
        assert archived(hoodoo.open(str(path))) == before
    file.unlink()  # as it says
    assert hoodoo.open(str(path)).verify().findings == () and archived(table) == before
    for n in range(8, 12):
        table.upsert(rows("abc", n))
    assert int(file.read_bytes()) > int(newest) and table.verify().findings == ()
    for manifest in folder.glob("manifest_*"):
        manifest.write_bytes(b"garbage")
    report = hoodoo.open(str(path)).verify()
    assert "timeline.archived" in report.kinds and "manifest" in report.findings[0].fix


def archived(table: hoodoo.Table) -> set[str]:
    """The requested times of what has been archived."""
    config = table.timeline().config
    return {i.requested for i in load_archived(LocalStorage(table.path), config)}

"""Verify finds each kind of damage, by the damage, and nothing in tables that are whole."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.model.findings import Report
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import replaced_note
from hoodoo.timeline.javaprops import parse
from hoodoo_cli.commandline import main
from hoodoo_cli.reports.listed import data_files
from hoodoo_cli.reports.verify.keys import check_keys
from hoodoo_cli.reports.verify.kinds import KINDS
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
TABLES = [f"{kind}-v{version}" for version in (6, 9) for kind in TYPES]
HOME = Path(os.environ.get("HOODOO_GOLDEN") or Path(__file__).parents[3] / "tests/golden/data")
GOLDEN = sorted(path.stem for path in HOME.glob("tables/*.zip"))
UNKNOWN = "20990101000000000"

# A row for each letter; cities by letter, if none is given.
rows = Maker(SCHEMA, "fare", "ts", "city", city=lambda letter: "oslo" if letter < "d" else "rome")


def make(path: Path, name: str, **more: Any) -> hoodoo.Table:
    """Six rows in two partitions, of which two were updated."""
    kind, version = name.split("-v")
    given = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
    table = hoodoo.create(
        str(path), SCHEMA, name="trips", table_type=TYPES[kind], table_version=int(version), **given
    )
    table.upsert(rows("abcdef", 1.0, 1))
    table.upsert(rows("ad", 2.0, 2))
    return table


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A whole table of each kind, made once; copy it before changing anything."""
    below = tmp_path_factory.mktemp("whole")

    def one(name: str) -> Path:
        if not (below / name).exists():
            make(below / name, name)
        return below / name

    return one


@pytest.fixture
def table(whole: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    def one(name: str) -> Path:
        return Path(shutil.copytree(whole(name), tmp_path / "trips"))

    return one


def verify(path: Path, **how: Any) -> Report:
    return hoodoo.open(str(path)).verify(**how)


# --- where things are -------------------------------------------------------------------------------
def base(path: Path, city: str = "oslo", newest: bool = True) -> Path:
    files = sorted(path.glob(f"{city}/*.parquet"), key=lambda p: p.name.rsplit("_")[-1])
    return files[-1 if newest else 0]


def log(path: Path, city: str = "oslo") -> Path:
    (found,) = path.glob(f"{city}/.*.log.*")
    return found


def instants(path: Path) -> list[Path]:
    """The files of completed writes, the oldest first."""
    return sorted([*path.glob(".hoodie/*commit"), *path.glob(".hoodie/timeline/*commit")])


def properties(path: Path) -> Path:
    return path / ".hoodie/hoodie.properties"


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def rewrite(file: Path, change: Callable[[pa.Table], pa.Table], **footer: str) -> None:
    """Other rows in a base file; what its footer says of the keys stays, unless it is given."""
    found = pq.read_table(file)
    metadata = {
        **(found.schema.metadata or {}),
        **{k.encode(): v.encode() for k, v in footer.items()},
    }
    pq.write_table(change(found).replace_schema_metadata(metadata), file)


def column(name: str, value: str | None) -> Callable[[pa.Table], pa.Table]:
    """The column with ``value`` in the first row."""

    def change(found: pa.Table) -> pa.Table:
        values = [value, *found.column(name).to_pylist()[1:]]
        place = found.schema.get_field_index(name)
        return found.set_column(place, found.schema.field(name), pa.array(values, pa.string()))

    return change


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)


# --- damages ----------------------------------------------------------------------------------------
def lose_checksum(path: Path) -> None:
    shutil.copy(properties(path), properties(path).with_suffix(".properties.backup"))
    values = parse(properties(path).read_bytes())
    replace(properties(path), values["hoodie.table.checksum"], "1")


def lose_type(path: Path) -> None:
    replace(properties(path), "hoodie.table.type", "hoodie.table.kind")


def key_of_no_column(path: Path) -> None:
    replace(properties(path), "hoodie.table.ordering.fields=ts", "hoodie.table.ordering.fields=at")


def cut_commit(path: Path) -> None:
    file = instants(path)[0]
    file.write_bytes(file.read_bytes()[:-200])


def complete_twice(path: Path) -> None:
    file = instants(path)[-1]
    requested, _, action = file.name.replace("_", ".").split(".")
    shutil.copy(file, file.with_name(f"{requested}_{UNKNOWN}.{action}"))


def lone_inflight(path: Path) -> None:
    (instants(path)[0].parent / f"{UNKNOWN}.inflight").touch()


def lose_base(path: Path) -> None:
    base(path).unlink()


def lose_older_base(path: Path) -> None:
    base(path, newest=False).unlink()


def lose_log(path: Path) -> None:
    log(path).unlink()


def longer_base(path: Path) -> None:
    base(path).write_bytes(base(path).read_bytes() + b"x")


def cut_log(path: Path) -> None:
    log(path).write_bytes(log(path).read_bytes()[:-10])


def second_base(path: Path) -> None:
    file = base(path)
    group, _, rest = file.name.split("_")
    shutil.copy(file, file.with_name(f"{group}_7-7-7_{rest}"))


def unnamed_base(path: Path) -> None:
    file = base(path, "rome")
    shutil.copy(file, file.with_name(f"11111111{file.name[8:]}"))


def stray_base(path: Path) -> None:
    file = base(path)
    shutil.copy(file, file.with_name(f"{file.name.rpartition('_')[0]}_{UNKNOWN}.parquet"))


def stray_log(path: Path) -> None:
    file = log(path)
    shutil.copy(file, file.with_name(file.name.replace(file.name.split("_")[1][:17], UNKNOWN)))


def stray_block(path: Path) -> None:
    """Version 6: a log file with a block of a write that nobody knows, and no rollback of it."""
    file = log(path)
    written = instants(path)[-1].name.partition(".")[0]
    data = file.read_bytes().replace(written.encode(), UNKNOWN.encode(), 1)
    file.with_name(f"{file.name.rpartition('.')[0]}.2_7-7-7").write_bytes(data)


def lose_partition_file(path: Path) -> None:
    (path / "oslo/.hoodie_partition_metadata").unlink()


def break_partition_file(path: Path) -> None:
    (path / "oslo/.hoodie_partition_metadata").write_text("#partition metadata\n")


def break_footer(path: Path) -> None:
    flip(base(path), base(path).stat().st_size - 10)


def break_rows(path: Path) -> None:
    metadata = pq.read_metadata(base(path))
    chunk = metadata.row_group(0).column(metadata.schema.names.index("_hoodie_record_key"))
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    for at in range(start, start + chunk.total_compressed_size):
        flip(base(path), at)


def fewer_rows(path: Path) -> None:
    rewrite(base(path), lambda found: found.slice(1))


def damage_log(path: Path) -> None:
    flip(log(path), 0)


def null_key(path: Path) -> None:
    rewrite(base(path), column("_hoodie_record_key", None))


def double_key(path: Path) -> None:
    second = pq.read_table(base(path)).column("_hoodie_record_key")[1].as_py()
    rewrite(base(path), column("_hoodie_record_key", second))


def key_outside_filter(path: Path) -> None:
    rewrite(base(path), column("_hoodie_record_key", "zz"))


def wrong_placement(path: Path) -> None:
    """Of the last row: that of a log file would come before the first."""
    rewrite(base(path), lambda found: column("city", "rome")(found.take([2, 1, 0])))


def wrong_file_name(path: Path) -> None:
    rewrite(base(path), column("_hoodie_file_name", "other.parquet"))


def wrong_partition(path: Path) -> None:
    rewrite(base(path), column("_hoodie_partition_path", "rome"))


def wrong_commit_time(path: Path) -> None:
    rewrite(base(path), column("_hoodie_commit_time", UNKNOWN))


def wrong_note(path: Path) -> None:
    table = hoodoo.open(str(path))
    table.insert_overwrite(rows("abc", 1.0, 3))
    (name,) = table.timeline().replacecommits()
    said = {"version": 1, "replaced": {name: ["", {"oslo": ["other"]}]}}
    (path / replaced_note.PATH).write_bytes(gzip.compress(json.dumps(said).encode()))


def wrong_version(path: Path) -> None:
    folder = path / ".hoodie/timeline/history"
    folder.mkdir(exist_ok=True)
    (folder / "_version_").write_bytes(b"garbage")


def replaces_another(path: Path) -> None:
    """What an insert overwrite says that it replaced is another file group."""
    table = hoodoo.open(str(path))
    table.insert_overwrite(rows("xyz", 1.0, 3))
    (instant,) = table.timeline().replacecommits().values()
    metadata = table.timeline().metadata(LocalStorage(str(path)), instant)
    ((_partition, ids),) = metadata.replaced.items()
    file = path / table.timeline().path(instant)
    file.write_bytes(file.read_bytes().replace(ids[0].encode(), b"f0f0f0f0" + ids[0][8:].encode()))


COW, MOR, BOTH = ("cow",), ("mor",), ("cow", "mor")
# damage, the tables that it is done to, the kinds that are found then
DAMAGES: list[tuple[Callable[[Path], None], list[str], set[str]]] = [
    (lose_checksum, TABLES, {"properties.unreadable", "properties.backup"}),
    (lose_type, ["cow-v6", "cow-v9"], {"properties.key"}),
    (key_of_no_column, ["cow-v9"], {"properties.key"}),
    (cut_commit, TABLES, {"timeline.unreadable"}),
    (complete_twice, ["cow-v9", "mor-v9"], {"timeline.twice"}),
    (wrong_note, ["cow-v9", "mor-v9"], {"timeline.note"}),
    (wrong_version, ["cow-v9", "mor-v9"], {"timeline.archived"}),
    (replaces_another, TABLES, {"timeline.replaced"}),
    (lone_inflight, TABLES, {"timeline.inflight"}),
    (lose_base, TABLES, {"file.missing"}),
    (lose_older_base, ["cow-v6", "cow-v9"], {"file.missing"}),
    (lose_log, ["mor-v6", "mor-v9"], {"file.missing"}),
    (longer_base, ["cow-v6", "cow-v9"], {"file.size", "base.unreadable", "read.failed"}),
    (cut_log, ["mor-v6", "mor-v9"], {"file.size", "log.damaged"}),
    (second_base, TABLES, {"file.twice", "file.unnamed"}),
    (unnamed_base, TABLES, {"file.unnamed", "key.twice", "meta.file_name"}),
    (stray_base, TABLES, {"file.stray"}),
    (stray_log, ["mor-v9"], {"file.stray"}),
    (stray_block, ["mor-v6"], {"file.stray"}),
    (lose_partition_file, TABLES, {"partition.metadata"}),
    (break_partition_file, TABLES, {"partition.metadata"}),
    (break_footer, TABLES, {"base.unreadable", "read.failed"}),
    (break_rows, TABLES, {"read.failed"}),
    (fewer_rows, TABLES, {"file.size", "base.rows"}),
    (damage_log, ["mor-v6", "mor-v9"], {"log.damaged"}),
    (null_key, TABLES, {"file.size", "key.null"}),
    (double_key, TABLES, {"file.size", "key.twice"}),
    (key_outside_filter, TABLES, {"file.size", "key.filter"}),
    (wrong_placement, TABLES, {"file.size", "row.placement"}),
    (wrong_file_name, TABLES, {"file.size", "meta.file_name"}),
    (wrong_partition, TABLES, {"file.size", "meta.partition_path"}),
    (wrong_commit_time, TABLES, {"file.size", "meta.commit_time"}),
]
CASES = [(damage, name, kinds) for damage, names, kinds in DAMAGES for name in names]


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_found_in_a_whole_table(name: str, whole: Callable[[str], Path]) -> None:
    report = verify(whole(name))
    assert report.ok and not report.skipped and not report.notes
    assert report.checked.keys == 6 and report.checked.partitions == 2
    assert report.checked.log_files == (2 if name.startswith("mor") else 0)
    assert report.checked.base_files == (2 if name.startswith("mor") else 4)


@pytest.mark.parametrize(
    ("damage", "name", "kinds"), CASES, ids=[f"{d.__name__}-{n}" for d, n, _ in CASES]
)
def test_damage_is_found(
    damage: Callable[[Path], None], name: str, kinds: set[str], table: Callable[[str], Path]
) -> None:
    path = table(name)
    damage(path)
    assert set(verify(path).kinds) == kinds


def test_every_kind_is_found_by_a_test() -> None:
    told = {kind for _, _, kinds in DAMAGES for kind in kinds}
    elsewhere = {"properties.version", *(k for k in KINDS if k.startswith(("metadata.", "index.")))}
    assert told | elsewhere == set(KINDS)  # of indexes and the metadata table: tests/integration


@pytest.mark.parametrize("damage", [lose_base, stray_base, cut_log, unnamed_base])
def test_quick_needs_no_file(
    damage: Callable[[Path], None], table: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table("mor-v9")
    damage(path)
    opened = hoodoo.open(str(path))
    monkeypatch.setattr(
        "hoodoo_standard.storage.local.LocalStorage.open", lambda *_: pytest.fail("opened")
    )
    report = opened.verify(quick=True)
    assert len(report.findings) == 1 and report.kinds[0].startswith("file.")
    assert report.checked.base_files == report.checked.log_files == report.checked.keys == 0


def test_without_keys_no_row_is_read(table: Callable[[str], Path]) -> None:
    path = table("cow-v9")
    double_key(path)
    report = verify(path, keys=False)
    assert report.kinds == ("file.size",)
    assert report.checked.base_files == 4 and report.checked.keys == 0


@pytest.mark.parametrize("name", GOLDEN)
def test_nothing_is_found_in_golden_tables(name: str, golden: Callable[[str], Path]) -> None:
    path = golden(name)
    report = verify(path)
    assert report.ok, report.findings
    assert bool(report.skipped) == ("lance" in name)
    # The samples with keys made of a time insert one key twice.
    assert bool(report.notes) == ("timebased" in name)


# --- what is no damage ------------------------------------------------------------------------------
def test_keys_that_inserts_brought_are_a_note(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "cow-v9")
    table.append(rows("bz", 3.0, 3, "oslo"))
    report = table.verify()
    assert report.ok
    (note,) = report.notes
    assert note.startswith("oslo: 1 record key occurs more than once")


def test_a_key_in_two_partitions(tmp_path: Path) -> None:
    """Right by default; not where the index is global."""
    table = make(tmp_path / "t", "cow-v9")
    table.upsert(rows("a", 3.0, 3, "rome"))
    assert table.verify().ok
    report = hoodoo.open(table.path, {"hoodie.index.type": "GLOBAL_SIMPLE"}).verify()
    (finding,) = report.findings
    assert (finding.kind, finding.obj) == ("key.twice", "oslo and rome")
    assert "'a'" in finding.rule and "index of the table is global" in finding.rule


def test_cleaned_and_replaced_files_are_not_missed(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "cow-v9")
    for number in range(3):
        table.upsert(rows("abc", 3.0, 3 + number))
    table.insert_overwrite(rows("xy", 1.0, 1, "rome"))
    before = sum(1 for _ in (tmp_path / "t").rglob("*.parquet"))
    table.clean(commits_retained=1)
    assert sum(1 for _ in (tmp_path / "t").rglob("*.parquet")) < before
    assert table.verify().ok


def test_a_pending_write_is_told_and_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", "cow-v9")

    class Stopped(BaseException):
        pass

    def stop(*_: Any, **__: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr("hoodoo.timeline.publish.complete", stop)
        with pytest.raises(Stopped):
            table.upsert(rows("ab", 9.0, 9))
    report = table.verify()
    assert report.ok
    (pending,) = report.pending
    assert (pending.action, pending.state) == ("commit", "inflight") and 0 <= pending.age < 600


def test_writers_may_go_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit and a clean between the look at the timeline and the listing of the files."""
    table = make(tmp_path / "t", "cow-v9")
    table.upsert(rows("abcdef", 3.0, 3))

    def busy(*given: Any) -> Any:
        other = hoodoo.open(table.path)
        other.upsert(rows("abcg", 4.0, 4))
        assert other.clean(commits_retained=1).files
        return data_files(*given)

    monkeypatch.setattr("hoodoo_cli.reports.verify.run.data_files", busy)
    report = table.verify()
    assert report.ok, report.findings


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("name", ["cow-v9", "mor-v9"])
def test_what_writers_bring_while_keys_are_compared_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, damaged: bool
) -> None:
    """Rows are read as of before a write, the index as of after it. Damage is found all the same."""
    table = make(tmp_path / "t", name, index="record_index")
    lost = base(tmp_path / "t")
    if damaged:
        lost.unlink()
    letters = iter("ghijk")

    def busy(*given: Any) -> Any:
        letter = next(letters, "")
        other = hoodoo.open(table.path)
        if letter and not damaged:
            other.upsert(rows(letter, 4.0, 4))
            other.delete([letter, "f"])
        return check_keys(*given)

    monkeypatch.setattr("hoodoo_cli.reports.verify.run.check_keys", busy)
    report = table.verify()
    assert report.ok != damaged, report.findings
    assert any(lost.name in finding.obj for finding in report.findings) == damaged
    assert any("writers changed the table" in note for note in report.notes) != damaged


# --- the command ------------------------------------------------------------------------------------
def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


def test_command(table: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = table("cow-v9")
    code, out, err = run(capsys, "verify", str(path))
    assert (code, err) == (0, "") and "trips: nothing wrong is found." in out
    lost = base(path)
    lost.unlink()
    code, out, err = run(capsys, "verify", str(path))
    assert (code, err) == (1, "")
    assert out.startswith(f"file.missing: {KINDS['file.missing']}")
    assert lost.name in out and "trips: 1 finding." in out


def test_command_as_json(table: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = table("cow-v9")
    base(path).unlink()
    code, out, _ = run(capsys, "verify", "--json", str(path))
    said = json.loads(out)
    assert code == 1 and said["ok"] is False and said["table"] == "trips"
    assert set(said) == {"table", "ok", "findings", "pending", "checked", "skipped", "notes"}
    (finding,) = said["findings"]
    assert set(finding) == {"kind", "obj", "rule", "fix"} and finding["kind"] == "file.missing"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("hoodie.table.version=9", "hoodie.table.version=7", "properties.version"),
        ("hoodie.table.version=9", "hoodie.table.version=6", "properties.version"),
        ("hoodie.table.checksum=", "hoodie.table.checksum=1", "properties.unreadable"),
    ],
)
def test_properties_that_no_table_can_be_opened_by(
    old: str,
    new: str,
    kind: str,
    table: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = table("cow-v9")
    replace(properties(path), old, new)
    code, out, err = run(capsys, "verify", "--json", str(path))
    assert code == 1 and not err
    assert [finding["kind"] for finding in json.loads(out)["findings"]] == [kind]


def test_no_table_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "verify", str(tmp_path))
    assert (code, out) == (2, "") and "there is no .hoodie directory" in err
    assert len(err.splitlines()) == 1


def test_the_page_lists_every_kind() -> None:
    page = (Path(__file__).parents[3] / "docs/command-line.md").read_text("utf-8")
    listed = page.split("The kinds:\n", 1)[1].split("\n\n", 1)[0]
    assert re.findall(r"`([\w.]+)`", listed) == list(KINDS)


def test_a_write_that_died_in_a_new_partition(tmp_path: Path) -> None:
    """Its files are not committed: that their directory is no partition yet is nothing wrong."""
    schema = pa.schema([("id", pa.int64()), ("city", pa.string())])
    hoodoo.create(str(tmp_path), schema, record_key="id", partition_by="city")
    plain = LocalStorage(str(tmp_path), durable=False)
    dying = CrashingStorage(plain, 8, "before")
    table = Table(dying, hoodoo.open(str(tmp_path)).config, {}, LocalEngine(1))
    with pytest.raises(Crash):
        table.bulk_insert(pa.table({"id": [1, 2], "city": ["oslo", "rome"]}, schema=schema))
    assert any(path.suffix == ".parquet" for path in tmp_path.rglob("*"))
    assert hoodoo.open(str(tmp_path)).verify().kinds == ()


def test_later_log_files_that_a_savepoint_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark Hudi lists all log files of the newest slices in a savepoint, those of commits after it
    too; a restore to the savepoint deletes them."""
    table = make(tmp_path / "t", "mor-v9")
    first = table.timeline().writes()[0].requested
    logs = [str(p.relative_to(tmp_path / "t")) for p in (tmp_path / "t").glob("*/.*.log.*")]
    base = [str(p.relative_to(tmp_path / "t")) for p in (tmp_path / "t").glob("*/*.parquet")]
    table.savepoint(first)
    table.restore(first)
    assert logs and not any((tmp_path / "t" / log).exists() for log in logs)
    monkeypatch.setattr(
        "hoodoo_cli.reports.verify.named_files._kept_files", lambda _snapshot: [*logs, *base]
    )
    assert table.verify().ok
    (tmp_path / "t" / base[0]).unlink()
    assert "file.missing" in table.verify().kinds

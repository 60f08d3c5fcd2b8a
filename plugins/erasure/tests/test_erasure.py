"""What an erasure does, refuses and reports."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import fastavro
import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hoodoo.errors import (
    CallError,
    CommitConflictError,
    ConfigError,
    HoodooError,
    UnsupportedTableError,
)
from hoodoo_cli.commandline import main
from hoodoo_erasure.erase import Erasure
from hoodoo_erasure.proof import is_genuine
from independent import files_with
from lived import STATS, lived, owners
from pyiceberg.table import StaticTable

sys.path.append(str(Path(__file__).resolve().parents[2] / "cloud/tests"))

from servers import moto

SCHEMA = pa.schema([("id", pa.int64()), ("person", pa.string()), ("n", pa.float64())])
KEY = b"0123456789abcdef0123456789abcdef"


def made(path: Path, people: int = 10, **how: Any) -> hoodoo.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", **how)
    table.insert([{"id": n, "person": f"person-{n:03d}", "n": n / 7} for n in range(people)])
    return table


def found(report: Any) -> set[tuple[str, str]]:
    return {(one["path"], one["where"]) for one in report["found"]}


# --- what it does -----------------------------------------------------------------------------------
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_short_keys_in_every_index(tmp_path: Path, kind: str, version: int) -> None:
    """Keys that are other values, too: they are looked for where record keys stand."""
    table = made(tmp_path / "t", table_type=kind, table_version=version, index="record_index",
                 options=STATS)  # fmt: skip
    table.upsert([{"id": 9, "person": "person-009", "n": 3.0}])
    done = table.erase(keys=[0, 9], look_for=["person-009"], prove=True)
    assert (done.deleted, done.keys, done.proven) == (2, 2, True), found(done.report)
    assert table.count() == 8
    assert table.verify().ok
    assert files_with(table.handle.storage, ["person-000", "person-009"]) == []


def test_rows_that_were_deleted_before(tmp_path: Path) -> None:
    """Their keys are still in older files, and in the bloom filters of newer ones."""
    table = made(tmp_path / "t")
    table.delete([3])
    plain = hoodoo.open(str(tmp_path / "t"))
    plain.clean("by_versions", fileversions_retained=1)
    done = table.erase(keys=[3], look_for=["person-003"], prove=True)
    assert (done.deleted, done.proven) == (0, True), done.report and done.report["found"]
    assert len(done.instants) >= 1  # the file was rewritten for its filter
    assert sorted(row["id"] for row in table.read().to_arrow().to_pylist()) == [
        n for n in range(10) if n != 3
    ]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_values_of_rows_that_are_gone_leave_the_dictionaries(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", table_type=kind)
    many = pa.table(
        {
            "id": pa.array(range(30_000)),
            "person": [f"person-{n % 50:03d}" for n in range(30_000)],
            "n": [n / 7 for n in range(30_000)],
        },
        schema=SCHEMA,
    )
    table.insert(many)
    table.upsert([{"id": 1, "person": "person-corrected", "n": 0.0}])
    table.upsert([{"id": 1, "person": "person-001", "n": 0.0}])
    table.delete(where="person = 'person-042'")
    if kind == "MERGE_ON_READ":
        table.compact()
    table.clean("by_versions", fileversions_retained=1)
    assert files_with(table.handle.storage, ["person-042", "person-corrected"]) == []


def test_virtual_keys(tmp_path: Path) -> None:
    table = made(tmp_path / "t", options={"hoodie.populate.meta.fields": "false"})
    assert table.erase("id = 4", prove=True).proven
    assert table.count() == 9


def test_nothing_is_left_to_do(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    done = table.erase("id = 77", prove=True)
    assert (done.deleted, done.keys, done.proven) == (0, 0, True)
    assert table.count() == 10


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server.bucket(f"b-{uuid4().hex}"), server.options


@pytest.mark.sampled(1, among="long")
def test_on_an_object_store(bucket: tuple[str, dict[str, str]]) -> None:
    place, options = bucket
    table = hoodoo.create(
        f"{place}/t", SCHEMA, record_key="id", table_type="MERGE_ON_READ", index="record_index",
        options=options,
    )  # fmt: skip
    for n in (0.0, 1.0):
        table.upsert([{"id": i, "person": f"person-{i:03d}", "n": n} for i in range(10)])
    assert files_with(table.handle.storage, ["person-004"])
    done = table.erase("person = 'person-004'", look_for=["person-004"], prove=True)
    assert (done.deleted, done.proven) == (1, True)
    assert files_with(table.handle.storage, ["person-004"]) == []


# --- what it refuses --------------------------------------------------------------------------------
def refused(kind: type[HoodooError], call: Any) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.obj and caught.value.rule and caught.value.fix
    return str(caught.value)


def test_savepoints_stand_against_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    point = table.savepoint()
    said = refused(ConfigError, lambda: table.erase("id = 3"))
    assert point in said and "--drop-savepoints" in said  # an option of the command, too
    assert table.count() == 10
    done = table.erase("id = 3", drop_savepoints=True, prove=True)
    assert (done.savepoints, done.proven, table.savepoints()) == ((point,), True, ())


def test_a_pending_clustering_stands_against_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    instant = table.schedule_clustering(columns=["n"])
    assert instant and instant in refused(CommitConflictError, lambda: table.erase("id = 3"))
    table.run_clustering(instant)
    assert table.erase("id = 3", prove=True).proven


def test_files_outside_of_the_table(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.handle.change_properties({"hoodie.bootstrap.base.path": "/elsewhere"})
    assert "bootstrapped" in refused(UnsupportedTableError, lambda: table.erase("id = 3"))


def test_calls_that_say_too_little(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    assert "needs keys" in refused(CallError, lambda: table.erase())
    assert "as keys" in refused(CallError, lambda: table.erase(keys=object()))
    assert "guessed" in refused(ConfigError, lambda: table.erase("id = 3", prove=b"short"))
    assert table.count() == 10


# --- the proof --------------------------------------------------------------------------------------
def avro(text: str, codec: str) -> bytes:
    sink = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
    fastavro.writer(sink, schema, [{"a": text}] * 9, codec=codec)
    return sink.getvalue()


def parquet(text: str, nested: bool) -> bytes:
    sink = io.BytesIO()
    column: list[Any] = [[{"a": text}]] if nested else [text]
    pq.write_table(pa.table({"x": column}), sink, compression="zstd", write_statistics=False)
    return sink.getvalue()


def test_the_proof_finds_a_key_wherever_it_is(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="person", options=STATS,
                          index="record_index", table_type="MERGE_ON_READ")  # fmt: skip
    people = [{"id": n, "person": f"person-{n:03d}", "n": 1.0} for n in range(10)]
    table.insert(people)
    table.rebuild_index()
    table.upsert(people[3:4])
    table.delete(["person-003"])
    storage = table.handle.storage
    taken = {
        entry.path: storage.get(entry.path)
        for entry in storage.list("", recursive=True)
        if entry.path.endswith((".parquet", ".hfile")) or ".log." in entry.path
    }
    text = "person-003"
    planted = {
        f"old/{number}/{path.split('/')[-2] if '/' in path else 'top'}/{path.rsplit('/')[-1]}.copy": data
        for number, (path, data) in enumerate(taken.items())
    }
    holds = {path for path, data in planted.items() if text.encode() in data}
    holds |= {path for path in planted if path.endswith(".parquet.copy")}
    planted |= {
        "old/a.avro": avro(text, "deflate"), "old/b.avro": avro(text, "null"),
        "old/c.gz": gzip.compress(f"<{text}>".encode()), "old/d.txt": f"x{text}y".encode(),
        "old/e.parquet": parquet(text, False), "old/f.parquet": parquet(text, True),
        f"old/{text}/g": b"",
    }  # fmt: skip
    holds |= {path for path in planted if path.startswith(("old/a", "old/b", "old/c", "old/d"))}
    holds |= {"old/e.parquet", "old/f.parquet"}
    for path, data in planted.items():
        storage.put(path, data)
    done = table.erase(keys=[text], prove=True)
    assert done.proven is False and done.report is not None
    seen = {path for path, _where in found(done.report)}
    assert holds - seen == set()
    assert any("/g" in path for path in seen), "a path is looked at, too"
    assert text not in json.dumps(done.report), "keys are named by hashes"
    assert any(".log." in path for path in holds) and any(".hfile" in path for path in seen)


def test_a_file_that_cannot_be_decoded_is_no_proof(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.handle.storage.put("strange.parquet", b"PAR1 and nothing else")
    done = table.erase("id = 3", prove=True)
    assert done.report is not None and done.proven is False
    assert [one["path"] for one in done.report["unread"]] == ["strange.parquet"]


def test_a_report_is_signed(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    report: Any = table.erase("id = 3", prove=KEY).report
    report = json.loads(json.dumps(report))
    assert report["erased"] and report["signature"]["method"] == "hmac-sha256"
    assert "salt" not in report["keys"], "keys can't be guessed without the signing key"
    assert is_genuine(report, KEY)
    assert not is_genuine(report, KEY + b"x")
    assert not is_genuine({**report, "rows_deleted": 9}, KEY)
    plain: Any = table.erase("id = 4", prove=True).report
    assert plain["signature"]["method"] == "sha256" and is_genuine(plain)
    assert not is_genuine({**plain, "erased": False})
    assert {one["path"] for one in plain["files"]} >= {".hoodie/hoodie.properties"}


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_published_metadata_is_renewed(tmp_path: Path, form: str) -> None:
    """Older metadata of other formats has ranges of values; also of one that is not kept up."""
    place = str(tmp_path / "t")
    table = hoodoo.create(place, SCHEMA, record_key="person",
                          options={"hoodoo.open.formats": form})  # fmt: skip
    people = [{"id": n, "person": f"person-{n:03d}", "n": 1.0} for n in range(10)]
    table.insert(people)
    table.upsert(people[3:5])
    other = {"delta": "iceberg", "iceberg": "delta"}[form]
    table.publish(other)
    done = table.erase(keys=["person-000"], prove=True)
    assert done.proven, found(done.report)
    assert files_with(table.handle.storage, ["person-000"]) == []
    for number in range(2):  # the log of the format goes on
        left = sorted(row["person"] for row in table.read().to_arrow().to_pylist())
        for name in (form, other):
            rows = _shown(place, name).to_pylist()
            assert sorted(row["person"] for row in rows) == left, (name, number)
        table.upsert([{"id": 1, "person": f"other-{number}", "n": 2.0}])
        table.publish([form, other])


def _shown(place: str, form: str) -> pa.Table:
    """The rows that a reader of the format finds."""
    if form == "delta":
        return DeltaTable(place).to_pyarrow_table()
    return StaticTable.from_metadata(place).scan().to_arrow()


def test_files_of_a_plugin_that_is_not_installed_stand_against_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    folder = tmp_path / "t/.hoodie/.hoodoo/of-nobody"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/index").write_bytes(b"person-003")
    with pytest.raises(UnsupportedTableError, match=r"\.hoodie/\.hoodoo/of-nobody\.") as caught:
        table.erase("id = 3")
    assert "delete these folders" in caught.value.fix and table.count() == 10
    (folder / "deep/index").unlink()  # an object store has no empty folders
    assert table.erase("id = 3", prove=True).proven


def test_files_of_an_installed_plugin_are_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    table = made(tmp_path / "t")
    folder = tmp_path / "t/.hoodie/.hoodoo/of-somebody"
    folder.mkdir(parents=True)
    (folder / "index").write_bytes(b"")
    of_somebody = SimpleNamespace(
        run=lambda table: None, stored_in=(".hoodie/.hoodoo/of-somebody",)
    )
    monkeypatch.setattr(Erasure, "_forgetting", lambda self: iter([of_somebody]))
    assert table.erase("id = 3", prove=True).proven


def test_names_of_states_go_with_their_savepoints(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.tag("eom-11")
    assert "(tag eom-11)" in refused(ConfigError, lambda: table.erase("id = 3"))
    assert table.erase("id = 3", drop_savepoints=True, prove=True).proven
    assert table.tags() == {} and hoodoo.open(str(tmp_path / "t")).tags() == {}


@pytest.mark.parametrize("keys", ["stored", "virtual"])
def test_an_index_of_our_own_alone_is_made_again(tmp_path: Path, keys: str) -> None:
    """No partition of Hudi's is there: the folder was taken for one that nobody reads."""
    options = {"hoodie.populate.meta.fields": "false"} if keys == "virtual" else {}
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="person",
                          index="growing_record_index", options=options)  # fmt: skip
    table.insert([{"id": n, "person": f"person-{n:03d}", "n": 1.0} for n in range(10)])
    before = table.config.metadata_partitions
    assert table.erase(keys=["person-003"], prove=True).proven
    assert files_with(table.handle.storage, ["person-003"]) == []
    again = hoodoo.open(str(tmp_path / "t"))
    again.upsert([{"id": 77, "person": "person-004", "n": 2.0}])
    assert again.count() == 9 and again.verify().ok
    assert again.config.metadata_partitions == before


def test_clusterings_by_the_column_leave_no_value(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert([{"id": 20, "person": "person-020", "n": 1.0}])
    table.cluster(columns=["person"])
    assert table.erase("id = 0", look_for=["person-000"], prove=True).proven
    assert files_with(table.handle.storage, ["person-000"]) == []


# --- the command ------------------------------------------------------------------------------------
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t"
    table = made(path)
    secret, report = tmp_path / "secret", tmp_path / "proof.json"
    secret.write_bytes(KEY)
    said = ["erase", str(path), "--where", "id = 3", "--report", str(report), "--yes"]
    with pytest.raises(SystemExit) as ended:
        main([*said, "--sign-with", str(secret)])
    assert not ended.value.code
    assert "No file has any of the keys." in capsys.readouterr().out
    assert is_genuine(json.loads(report.read_text()), KEY)
    table.handle.storage.put("copy", b"of person-005")
    with pytest.raises(SystemExit) as ended:
        main(["erase", str(path), "--key", "5", "--look-for", "person-005", "--prove", "--yes"])
    assert ended.value.code == 1
    assert "FOUND in copy" in capsys.readouterr().out
    assert hoodoo.open(str(path)).count() == 8


@pytest.mark.sampled(1, among="long")
def test_a_table_with_a_past_is_as_before_but_for_the_rows(tmp_path: Path) -> None:
    table = lived(str(tmp_path / "t"), 3, "MERGE_ON_READ", "record_index")
    before = owners(table)
    table.erase("person = 'someone-001'")
    assert owners(table) == {k: v for k, v in before.items() if v != "someone-001"}

"""``hoodoo doctor`` in broken environments, each prepared here: it finds the fault, names the fix, and finds no other."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import define, field
from hoodoo.kernel.registry import kernel
from hoodoo.storage import processes
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.distributions import fake_distribution
from hoodoo.testing.stores import Delegating
from hoodoo.timeline.instants import from_datetime
from hoodoo_cli.checks.table import TableCheck
from hoodoo_cli.commandline import main
from hoodoo_cli.reports.examination import examine

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
ROWS = pa.table({"id": [1, 2, 3], "city": ["oslo", "rome", "oslo"]}, SCHEMA)
PLUGIN = "from hoodoo import hookimpl\nfrom hoodoo.hookspecs import Registration\n"
Disk = namedtuple("Disk", "total used free")


@define
class Room:
    """A good environment, made of fakes where real programs are slow; each test breaks one thing of it."""

    path: Path
    patch: pytest.MonkeyPatch
    arguments: list[str] = field(factory=list)
    _table: hoodoo.Table | None = None

    @property
    def table(self) -> Path:
        """A table of two partitions, written once; it is examined."""
        path = self.path / "trips"
        if self._table is None:
            self._table = hoodoo.create(
                str(path), SCHEMA, name="trips", record_key="id", partition_by="city",
                options={"hoodie.metadata.enable": "true"},
            )  # fmt: skip
            self._table.upsert(ROWS)
            self.arguments.append(str(path))
        return path

    def script(self, name: str, says: str) -> Path:
        """A program that prints a line on its error stream."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        file.chmod(0o755)
        return file

    def java(self, says: str) -> None:
        self.script("bin/java", says)

    def pyspark(self, version: str) -> None:
        folder = self.path / "packages/pyspark"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text("")
        (folder / "version.py").write_text(f'__version__: str = "{version}"\n')

    def distribution(self, name: str, needs: str = "", version: str = "1.0", **more: Any) -> None:
        folder = fake_distribution(self.path / "packages", name, version, **more)
        if needs:
            info = folder / f"{name.replace('-', '_')}-{version}.dist-info/METADATA"
            info.write_text(f"{info.read_text()}Requires-Dist: {needs}\n")

    def variable(self, name: str, text: str) -> None:
        self.patch.setenv(name, text)

    def property(self, name: str, text: str) -> None:
        file = self.table / ".hoodie/hoodie.properties"
        lines = [one for one in file.read_text().splitlines() if not one.startswith(f"{name}=")]
        file.write_text("\n".join([*lines, f"{name}={text}", ""]))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    made = Room(tmp_path, monkeypatch)
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME", "SPARK_MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    made.variable("SPARK_LOCAL_IP", "127.0.0.1")
    made.java('openjdk version "17.0.15" 2025-04-15')
    made.variable("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    made.pyspark("3.5.4")
    made.distribution("pandas", version="2.2.3")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])
    return made


# --- the environments: what each is, how it is broken, the kind of the finding, and words of fault and fix ----------
Break = Callable[[Room], object]
BROKEN: dict[str, tuple[Break, str, str, str]] = {}


def broken(kind: str, says: str, fix: str) -> Callable[[Break], Break]:
    def note(make: Break) -> Break:
        BROKEN[make.__name__] = (make, kind, says, fix)
        return make

    return note


# Spark
@broken("spark.java", "not found", "Install Java 17")
def no_java(room: Room) -> None:
    (room.path / "bin/java").unlink()
    room.variable("PATH", str(room.path / "bin"))


@broken("spark.java_version", "Java 8, and Spark 4.0.1 needs Java 17 to 23", "JAVA_HOME")
def java_too_old(room: Room) -> None:
    room.java('java version "1.8.0_402"')
    room.pyspark("4.0.1")


@broken("spark.java_version", "Java 25, and Spark 3.5.4 needs Java 8 to 23", "Install Java 17")
def java_too_new(room: Room) -> None:
    room.java('openjdk version "25" 2025-09-16')


@broken("spark.java", "cannot execute", "Install Java 17")
def java_does_not_run(room: Room) -> None:
    room.java("cannot execute binary file")


@broken("spark.java_home", "no bin/java", "unset it")
def java_home_points_nowhere(room: Room) -> None:
    room.variable("JAVA_HOME", str(room.path / "jdk-11"))


@broken("spark.pyspark", "not installed", 'pip install "hoodoo[spark]"')
def pyspark_is_missing(room: Room) -> None:
    nothing = SimpleNamespace(find_spec=lambda name: None)
    room.patch.setattr("hoodoo_spark.check.PathFinder", nothing)
    room.arguments += ["--engine", "spark"]


@broken("spark.pyspark", "3.5 is the oldest", "pyspark>=3.5")
def pyspark_is_too_old(room: Room) -> None:
    room.pyspark("3.3.2")


@broken("spark.pandas", "does not work with pandas 3", 'pip install "pandas<3"')
def pandas_is_too_new(room: Room) -> None:
    shutil.rmtree(room.path / "packages/pandas-2.2.3.dist-info")
    room.distribution("pandas", version="3.0.1")


@broken("spark.pandas", "mapInArrow needs it", "hoodoo[spark]")
def pandas_is_missing(room: Room) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    lacking = SimpleNamespace(version=version, PackageNotFoundError=metadata.PackageNotFoundError)
    room.patch.setattr("hoodoo_spark.check.metadata", lacking)


@broken("spark.python", "workers would run Python 2.7", "Set PYSPARK_PYTHON to")
def workers_of_another_python(room: Room) -> None:
    room.variable("PYSPARK_PYTHON", str(room.script("python", "2.7")))


@broken("spark.python", "no such program", "unset it")
def workers_of_no_python(room: Room) -> None:
    room.variable("PYSPARK_PYTHON", "/opt/conda/envs/lost/bin/python")


@broken("spark.home", "Spark 3.4, and PySpark is 3.5", "pyspark==3.4.*")
def spark_home_of_another_version(room: Room) -> None:
    jars = room.path / "spark/jars"
    jars.mkdir(parents=True)
    (jars / "spark-core_2.12-3.4.1.jar").write_bytes(b"")
    room.variable("SPARK_HOME", str(jars.parent))


@broken("spark.host", "no address", "SPARK_LOCAL_IP=127.0.0.1")
def host_without_an_address(room: Room) -> None:
    room.patch.delenv("SPARK_LOCAL_IP")
    room.patch.setattr("socket.gethostname", lambda: "no-such-host.invalid")

    def unknown(name: str) -> str:
        raise OSError(f"{name} is not known")

    room.patch.setattr("socket.gethostbyname", unknown)


# plugins
@broken("plugins.broken", "No module named 'acme_that_is_lost'", "HOODOO_DISABLE=acme")
def plugin_that_fails_to_import(room: Room) -> None:
    source = {"acme_one": "import acme_that_is_lost\n"}
    room.distribution("hoodoo-acme", entry_points={"acme": "acme_one"}, modules=source)


@broken("plugins.broken", "written for API 9", "newer hoodoo-core")
def plugin_of_a_newer_api(room: Room) -> None:
    hook = "@hookimpl\ndef hoodoo_mergers():\n    return [Registration('mine', 'a:b', api=9)]\n"
    source = {"acme_two": PLUGIN + hook}
    room.distribution("hoodoo-acme", entry_points={"acme": "acme_two"}, modules=source)


@broken("plugins.twice", "hoodoo-acme 1.0 (acme_three) and hoodoo-emca 1.0", "Uninstall one")
def two_distributions_of_one_plugin(room: Room) -> None:
    source = {"acme_three": "", "emca_three": ""}
    room.distribution("hoodoo-acme", entry_points={"acme": "acme_three"}, modules=source)
    room.distribution("hoodoo-emca", entry_points={"acme": "emca_three"})


@broken("plugins.twice", "register this name", "Uninstall one")
def two_plugins_of_one_name(room: Room) -> None:
    hook = "@hookimpl\ndef hoodoo_engines():\n    return [Registration('LOCAL', 'a:b')]\n"
    source = {"acme_four": PLUGIN + hook}
    room.distribution("hoodoo-acme", entry_points={"acme": "acme_four"}, modules=source)


@broken("plugins.lacking", "storage, engine", "pip install hoodoo-standard")
def hoodoo_standard_is_missing(room: Room) -> None:
    room.variable(
        "HOODOO_DISABLE",
        "hoodoo-standard,hoodoo-spark,hoodoo-cloud,hoodoo-catalogs,hoodoo-hashing,metadata",
    )


@broken("plugins.versions", "needs hoodoo-core>=9, and", 'pip install "hoodoo-core>=9"')
def plugin_for_another_core(room: Room) -> None:
    points = {"entry_points": {"acme": "acme_five"}, "modules": {"acme_five": ""}}
    room.distribution("hoodoo-acme", "hoodoo-core>=9", **points)


@broken("plugins.versions", "needs acme-hash>=2, which is not installed", 'pip install "acme-hash')
def plugin_without_what_it_needs(room: Room) -> None:
    points = {"entry_points": {"acme": "acme_six"}, "modules": {"acme_six": ""}}
    room.distribution("hoodoo-acme", "acme-hash>=2", **points)


@broken("plugins.unknown", "'sparc'", "hoodoo plugins")
def disabled_under_a_wrong_name(room: Room) -> None:
    room.variable("HOODOO_DISABLE", "sparc")


@broken("plugins.lacking", "engine 'flink'", "local, spark")
def engine_that_nobody_offers(room: Room) -> None:
    room.arguments += ["--engine", "flink"]


# the machine
@broken("machine.open_files", "256 files", "ulimit -n 4096")
def too_few_open_files(room: Room) -> None:
    resource = pytest.importorskip("resource")
    room.patch.setattr(resource, "getrlimit", lambda kind: (256, 4096))


@broken("machine.temporary", "No usable temporary directory", "TMPDIR")
def no_temporary_folder(room: Room) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    room.patch.setattr(tempfile, "gettempdir", none)


@broken("machine.temporary", "only 3 MB", "TMPDIR")
def temporary_folder_is_full(room: Room) -> None:
    room.patch.setattr(shutil, "disk_usage", lambda path: Disk(1 << 30, 1 << 30, 3 << 20))


@broken("machine.clock", "before Hoodoo was installed", "NTP")
def clock_of_long_ago(room: Room) -> None:
    clock = SimpleNamespace(time=lambda: 86_400.0, strftime=time.strftime, gmtime=time.gmtime)
    room.patch.setattr("hoodoo_cli.checks.machine.time", clock)


# tables
@broken("table.none", "no .hoodie directory", "hoodoo.create")
def no_table(room: Room) -> None:
    room.arguments.append(str(room.path / "nothing"))


@broken("table.none", "no hoodie.properties", "hoodoo.create")
def properties_are_lost(room: Room) -> None:
    (room.table / ".hoodie/hoodie.properties").unlink()


@broken("properties.unreadable", "its backup is read", "from its backup")
def properties_are_lost_and_a_backup_is_there(room: Room) -> None:
    file = room.table / ".hoodie/hoodie.properties"
    file.rename(file.with_name("hoodie.properties.backup"))


@broken("properties.unreadable", "is truncated", "from a copy")
def properties_are_cut_short(room: Room) -> None:
    room.property("hoodie.table.checksum", "12")


@broken("properties.version", "version 99", "upgrade_table / downgrade_table")
def table_of_a_later_version(room: Room) -> None:
    room.property("hoodie.table.version", "99")


@broken("table.plugins", "'LANCE'", "install the distribution")
def table_of_a_format_without_plugin(room: Room) -> None:
    room.property("hoodie.table.base.file.format", "LANCE")


@broken("table.write", "can't be written", "")
def table_that_cannot_be_written(room: Room) -> None:
    folder = room.table / ".hoodie/.hoodoo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_bytes(b"a file in the way of all users, root among them")


@broken("local.permissions", "may not write there", "chown")
def partition_of_another_user(room: Room) -> None:
    folder = room.table / "oslo"
    if os.geteuid():
        folder.chmod(0o555)
    else:  # who may write anywhere
        room.patch.setattr(os, "access", lambda path, mode, **more: str(path) != str(folder))


@broken("local.space", "only 5 MB", "hoodoo clean")
def disk_is_full(room: Room) -> None:
    said, table = shutil.disk_usage, str(room.table)
    full = Disk(1 << 40, 1 << 40, 5 << 20)
    room.patch.setattr(
        shutil, "disk_usage", lambda path: full if str(path) == table else said(path)
    )


@broken("table.clock", "ahead of the clock of this host", "NTP")
def table_of_the_future(room: Room) -> None:
    later = from_datetime(datetime.now(timezone.utc) + timedelta(hours=3))
    (room.table / f".hoodie/timeline/{later}_{later}.savepoint").write_bytes(b"")


@broken("table.clock", "from that of the store", "NTP")
def clock_beside_that_of_the_store(room: Room) -> None:
    room.table  # noqa: B018
    room.patch.setattr(
        "hoodoo_cli.checks.table.time", SimpleNamespace(time=lambda: time.time() + 900)
    )


@broken("table.dead_writer", "gives no sign of life", "hoodoo rollback")
def writer_that_died(room: Room) -> None:
    now = from_datetime(datetime.now(timezone.utc) - timedelta(minutes=2))
    (room.table / f".hoodie/timeline/{now}.commit.requested").write_bytes(b"")


@broken("local.lock", "60 minutes ago", "hoodie.write.lock.filesystem.expire")
def lock_of_spark_that_nobody_holds(room: Room) -> None:
    lock = room.table / ".hoodie/lock"
    lock.write_text(json.dumps({"lockCreateTime": "now", "lockThreadName": "main"}))
    os.utime(lock, (time.time() - 3600,) * 2)


@broken("local.lock", "has ended", "delete")
def lock_of_a_process_that_ended(room: Room) -> None:
    holder = {**processes.identity(), "process": "another", "pid": 2**22 + 7, "token": "t"}
    (room.table / ".hoodie/lock").write_text(json.dumps(holder))


@broken("metadata.stale", "does not know the commit", "hoodoo rebuild-index")
def metadata_table_is_stale(room: Room) -> None:
    hoodoo.open(str(room.table)).upsert(ROWS)
    folder = room.table / ".hoodie/metadata/.hoodie/timeline"
    newest = max(folder.glob("*.deltacommit"), key=lambda file: file.name)
    for file in folder.glob(f"{newest.name.split('_')[0]}*"):
        file.unlink()


@broken("metadata.stale", "it has no commit", "hoodoo rebuild-index")
def metadata_table_is_lost(room: Room) -> None:
    shutil.rmtree(room.table / ".hoodie/metadata")


# stores
@broken("table.store", "no installed plugin offers it", "file")
def scheme_that_nobody_offers(room: Room) -> None:
    room.arguments.append("ftp://host/trips")


def s3(room: Room, endpoint: str, *more: str) -> None:
    pytest.importorskip("hoodoo_cloud")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        room.patch.delenv(name)
    given = (
        f"hoodoo.s3.endpoint={endpoint}",
        "hoodoo.cloud.timeout=0.5",
        "hoodoo.s3.path_style=true",
        *more,
    )
    room.arguments += ["s3://bucket/trips", *(part for one in given for part in ("-o", one))]


KEYS = ("hoodoo.s3.access_key_id=a", "hoodoo.s3.secret_access_key=b")


@broken(
    "table.store", "http://127.0.0.1:9", "the endpoint"
)  # refused, or tried until the time is over
def endpoint_that_nobody_serves(room: Room) -> None:
    s3(room, "http://127.0.0.1:9", *KEYS)


@broken("table.store", "the credentials are not valid", "Correct keys")
def credentials_that_are_not_known(room: Room) -> None:
    s3(room, answering(403, "<Error><Code>InvalidAccessKeyId</Code></Error>"), *KEYS)


@broken("table.store", "access is denied", "Allow these credentials")
def credentials_that_may_not(room: Room) -> None:
    s3(room, answering(403, "<Error><Code>AccessDenied</Code></Error>"), *KEYS)


@broken("table.store", "no bucket 'bucket'", "Create it")
def bucket_that_is_not_there(room: Room) -> None:
    s3(room, answering(404, "<Error><Code>NoSuchBucket</Code></Error>"), *KEYS)


@broken("table.store", "'lost'", "aws_profile")
def profile_that_is_not_there(room: Room) -> None:
    s3(room, "http://127.0.0.1:9", "hoodoo.s3.profile=lost")
    room.variable("AWS_SHARED_CREDENTIALS_FILE", str(room.path / "credentials"))
    room.variable("AWS_CONFIG_FILE", str(room.path / "config"))


def answering(status: int, body: str) -> str:
    """The address of a server of this process that says the same to everybody."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


# --- the tests --------------------------------------------------------------------------------------
def doctor(room: Room, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as caught:
        main(["doctor", "--json", *room.arguments])
    said = capsys.readouterr()
    assert said.err == ""
    return int(caught.value.code or 0), json.loads(said.out)


def test_a_folder_above_the_table_is_a_place_of_tables(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    room.arguments[:] = [str(room.table.parent)]
    _, found = doctor(room, capsys)
    assert [one["name"] for one in found["tables"]] == ["trips"]


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_found_and_nothing_else(
    name: str, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    make, kind, says, fix = BROKEN[name]
    make(room)
    code, found = doctor(room, capsys)
    assert (code, found["ok"]) == (1, False)
    assert [one["kind"] for one in found["findings"]] == [kind], found
    (one,) = found["findings"]
    assert says in f"{one['obj']}: {one['rule']}", one
    assert fix in one["fix"] and one["fix"].endswith("."), one


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 40


def test_nothing_is_wrong_with_a_good_environment(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    assert room.table.is_dir()
    code, found = doctor(room, capsys)
    assert (code, found["ok"], found["findings"]) == (0, True, [])
    assert "PySpark 3.5.4" in found["notes"] and "Java 17" in str(found["notes"])
    room.patch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        main(["doctor", *room.arguments])
    assert caught.value.code == 0
    assert capsys.readouterr().out.endswith("Nothing wrong is found.\n")


def test_what_compactions_of_the_metadata_table_merged_is_not_missed(tmp_path: Path) -> None:
    """Their instants go as soon as no file is of them. A commit that came later, and is not there, is found."""
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.compact.max.delta.commits": "2"}
    for version in (6, 9):
        path = tmp_path / str(version)
        table = hoodoo.create(
            str(path), SCHEMA, record_key="id", table_version=version, options=options
        )
        for _ in range(8):
            table.upsert(ROWS)
            assert examine(str(path)).findings == ()
        table.upsert(ROWS)
        newest = table.timeline().writes()[-1].requested
        for file in (path / ".hoodie/metadata/.hoodie").rglob(f"{newest}*.deltacommit*"):
            file.unlink()
        (found,) = examine(str(path)).findings
        assert found.kind == "metadata.stale" and f"the commit {newest}:" in found.rule


def test_pyspark_is_not_needed_by_who_does_not_ask_for_it(room: Room) -> None:
    pyspark_is_missing(room)
    found = examine()
    assert found.ok and "Spark: PySpark is not installed" in " ".join(found.notes)
    assert examine(engine="local").ok
    room.variable("SPARK_HOME", str(room.path))  # says that Spark is used
    assert [one.kind for one in examine().findings] == ["spark.pyspark"]


def test_plugins_that_cannot_be_loaded_together_leave_one_subcommand(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    two_plugins_of_one_name(room)
    kernel.cache_clear()
    try:
        code, found = doctor(room, capsys)
        assert code == 1 and [one["kind"] for one in found["findings"]] == ["plugins.twice"]
        assert "all other checks" in found["skipped"][0]
        for arguments in (["plugins"], ["--help"], ["verify", "trips"]):
            with pytest.raises(SystemExit) as caught:
                main(arguments)
            assert caught.value.code == 2 and "register this name" in capsys.readouterr().err
    finally:
        room.patch.undo()
        kernel.cache_clear()
        kernel()


class Replacing(Delegating):
    """A store that does not know conditional puts, and says that it created what it replaced."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self.put(path, data)
        return True


def test_a_store_without_conditional_puts(room: Room) -> None:
    storage = Replacing(DirectoryStorage(str(room.table)))
    (one,) = TableCheck({}).table(storage, probe=True).findings
    assert one.kind == "table.conditional_put" and "If-None-Match" in one.fix
    assert not TableCheck({}).table(storage, probe=False).findings
    assert not list((room.table / ".hoodie/.hoodoo").glob("doctor-*"))

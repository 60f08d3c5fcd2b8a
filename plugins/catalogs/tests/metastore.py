"""A real Hive Metastore with Derby in memory, for tests: fetched with Maven once, started, and
stopped.

    python plugins/catalogs/tests/metastore.py 4.0.1  # fetches it, and prints the folder

The jars, some 100 MB for each version, are in ``~/.cache/hoodoo/metastore`` or where
``HOODOO_METASTORE`` says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path(os.environ.get("HOODOO_METASTORE") or Path.home() / ".cache/hoodoo/metastore")
VERSIONS = ("4.0.1", "3.1.3")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_HADOOP = [
    ("org.apache.hadoop", "hadoop-client-api", "3.3.6"),
    ("org.apache.hadoop", "hadoop-client-runtime", "3.3.6"),
    ("org.apache.derby", "derby", "10.14.2.0"),
]
# Version -> dependencies (with what the first is without), single jars, jars to delete.
_NEEDED = {
    "4.0.1": (
        [("org.apache.hive", "hive-standalone-metastore-server", "4.0.1"), *_HADOOP],
        [("jdk.tools", "jdk.tools")],
        ["org.apache.hadoop:hadoop-hdfs:3.3.6", "com.lmax:disruptor:3.4.4"],
        [
            "hadoop-common-2*",
            "hadoop-auth-2*",
            "hadoop-annotations-2*",
            "slf4j-log4j12*",
            "log4j-1.2.17*",
            "jetty-6*",
            "jetty-util-6*",
            "servlet-api-2.5*",
        ],
    ),
    "3.1.3": (
        [
            ("org.apache.hive", "hive-standalone-metastore", "3.1.3"),
            *_HADOOP,
            ("org.slf4j", "slf4j-simple", "1.7.36"),
            ("commons-logging", "commons-logging", "1.2"),
            ("commons-cli", "commons-cli", "1.5.0"),
            ("commons-lang", "commons-lang", "2.6"),
            ("commons-collections", "commons-collections", "3.2.2"),
            ("commons-configuration", "commons-configuration", "1.10"),
            ("com.google.guava", "guava", "27.0-jre"),
            ("com.google.guava", "failureaccess", "1.0.1"),
            ("org.apache.logging.log4j", "log4j-api", "2.17.1"),
            ("org.apache.logging.log4j", "log4j-core", "2.17.1"),
            ("org.apache.logging.log4j", "log4j-1.2-api", "2.17.1"),
        ],
        [("jdk.tools", "jdk.tools"), ("org.apache.hadoop", "*"), ("org.apache.logging.log4j", "*")],
        [],
        ["guava-19*", "derby-10.10*"],
    ),
}
_HIVE = "org.apache.hadoop.hive.metastore"
_SITE = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:x;create=true",
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "datanucleus.schema.autoCreateAll": "true",
    "metastore.schema.verification": "false",
    "metastore.thrift.bind.host": "127.0.0.1",
    "metastore.expression.proxy": f"{_HIVE}.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": f"{_HIVE}.events.EventCleanerTask",
}


class NotHere(Exception):
    """Why there is no metastore."""


def fetched(version: str) -> Path:
    """The folder with the jars. NotHere if they are not there and cannot be fetched."""
    folder = HOME / version
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None or shutil.which("java") is None:
        raise NotHere("Maven and Java are needed")
    needed, excluded, single, unwanted = _NEEDED[version]
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as made:
        at = Path(made)
        (at / "pom.xml").write_text(_pom(needed, excluded))
        jars = f"-DoutputDirectory={at / 'lib'}"
        _maven(at, f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", jars)
        for artifact in single:
            _maven(at, f"{_PLUGIN}:copy", f"-Dartifact={artifact}", jars)
        for pattern in unwanted:
            for jar in (at / "lib").glob(pattern):
                jar.unlink()
        try:
            (at / "lib").rename(folder)
        except OSError:
            if not folder.is_dir():  # another process was faster
                raise
    return folder


def _maven(at: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(at / "pom.xml"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        raise NotHere(f"Maven: {(done.stdout or done.stderr)[-300:]}")


def _pom(needed: list[tuple[str, str, str]], excluded: list[tuple[str, str]]) -> str:
    without = "".join(
        f"<exclusion><groupId>{g}</groupId><artifactId>{a}</artifactId></exclusion>"
        for g, a in excluded
    )
    each = "".join(
        f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version>"
        f"<exclusions>{'' if n else without}</exclusions></dependency>"
        for n, (g, a, v) in enumerate(needed)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>hoodoo</groupId><artifactId>metastore</artifactId><version>0</version>"
        f"<packaging>pom</packaging><dependencies>{each}</dependencies></project>"
    )


@contextmanager
def metastore(version: str, at: Path, seconds: float = 90) -> Iterator[str]:
    """Run one, with its files below ``at``; its ``host:port``. NotHere if it does not come up in
    time."""
    lib, port = fetched(version), _free_port()
    conf = at / "conf"
    conf.mkdir(parents=True)
    site = {**_SITE, "metastore.warehouse.dir": f"file:{at}/warehouse"}
    each = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in site.items())
    (conf / "metastore-site.xml").write_text(f"<configuration>{''.join(each)}</configuration>")
    opens = [f"--add-opens=java.base/java.{p}=ALL-UNNAMED" for p in ("lang", "net", "util")]
    command = [
        "java",
        "-Xmx384m",
        "-cp",
        f"{conf}:{lib}/*",
        *opens,
        "org.apache.hadoop.hive.metastore.HiveMetaStore",
        "-p",
        str(port),
    ]
    with open(at / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=at)
        try:
            end = time.monotonic() + seconds
            while not _listens(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise NotHere((at / "log").read_text("utf-8", "replace")[-2000:])
                time.sleep(0.2)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    for wanted in sys.argv[1:] or VERSIONS:
        print(fetched(wanted))

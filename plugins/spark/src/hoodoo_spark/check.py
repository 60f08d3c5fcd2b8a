"""What ``hoodoo doctor`` looks at for Spark: PySpark, pandas, Java, the Python of workers. No
session is started."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from attrs import field, frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage

from hoodoo_spark.session import OLDEST

Version = tuple[int, int]
_INSTALL = 'pip install "hoodoo[spark]"'
# From which version of Spark on -> the oldest Java that runs it, and the newest. From 24 on Java
# refuses what Hadoop asks.
_JAVAS: dict[Version, tuple[int, int]] = {(3, 5): (8, 23), (4, 0): (17, 23), (4, 1): (17, 99)}
_RECOMMENDED = 17
_PANDAS_3: Version = (4, 3)  # the first PySpark that works with pandas 3
# Variables that only who uses Spark sets.
_SIGNS = ("SPARK_HOME", "PYSPARK_PYTHON", "SPARK_MASTER", "SPARK_REMOTE")
_PATIENCE = 60  # seconds for another program to say its version
_JAVA_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


@frozen
class SparkCheck:
    """Of ``variables``, those of this process."""

    variables: Mapping[str, str] = field(factory=lambda: os.environ)

    @classmethod
    def from_settings(cls, settings: Settings) -> SparkCheck:
        return cls()

    def environment(self, engine: str | None) -> Found:
        if engine not in (None, "spark"):
            return Found()
        version = _pyspark()
        if version is None:
            wanted = "--engine spark" if engine else self._sign()
            if wanted is None:
                return Found(notes=(f"Spark: PySpark is not installed ({_INSTALL} brings it)",))
            return Found((_missing_pyspark(wanted),))
        notes = [f"PySpark {version}"]
        number = _number(version)
        findings = [
            *_old(version, number),
            *_pandas(version, number),
            *self._python(),
            *self._home(number),
        ]
        if not self.variables.get("SPARK_REMOTE"):  # a server has its own
            java, found = self._java(version, number)
            notes += [java] if java else []
            findings += [*found, *self._host()]
        return Found(tuple(findings), notes=tuple(notes))

    def table(self, storage: Storage, probe: bool) -> Found:
        return Found()

    def _sign(self) -> str | None:
        return next((name for name in _SIGNS if self.variables.get(name)), None)

    # --- Java -------------------------------------------------------------------------------------
    def _java(self, spark: str, number: Version) -> tuple[str, list[Finding]]:
        home = self.variables.get("JAVA_HOME")
        least, most = _javas(number)
        install = f"Install Java {_RECOMMENDED}"
        if home:
            java = os.path.join(home, "bin", "java")
            if not os.path.isfile(java):
                return "", [
                    Finding(
                        "spark.java_home",
                        f"JAVA_HOME={home}",
                        "there is no bin/java in this folder",
                        "Set JAVA_HOME to the folder of a JDK, or unset it where java is on the "
                        "PATH.",
                    )
                ]
        else:
            java = shutil.which("java", path=self.variables.get("PATH")) or ""
            if not java:
                return "", [
                    Finding(
                        "spark.java",
                        "Java",
                        "it was not found, and Spark runs in a Java virtual machine",
                        f'{install} and set JAVA_HOME to its folder, or use engine="local", which '
                        "needs none.",
                    )
                ]
        said = _said([java, "-version"])
        found = _JAVA_VERSION.search(said)
        if found is None:
            return "", [
                Finding(
                    "spark.java",
                    java,
                    f"`java -version` failed: {_first_line(said)}",
                    f"{install}, and set JAVA_HOME to its folder.",
                )
            ]
        major = int(found[2] or 0) if found[1] == "1" else int(found[1])
        if least <= major <= most:
            return f"Java {major} at {java}", []
        goes = f"Java {least} or newer" if most > 90 else f"Java {least} to {most}"
        rule = f"it is Java {major}, and Spark {spark} needs {goes}"
        fix = f"{install}, and set JAVA_HOME to its folder."
        return "", [Finding("spark.java_version", java, rule, fix)]

    def _host(self) -> Iterator[Finding]:
        """Spark binds to the address of the host's name."""
        if self.variables.get("SPARK_LOCAL_IP"):
            return
        name = socket.gethostname()
        try:
            socket.gethostbyname(name)
        except OSError:
            yield Finding(
                "spark.host",
                f"host name {name}",
                "it has no address, and Spark looks for one when it starts",
                "Set SPARK_LOCAL_IP=127.0.0.1, or write the name into /etc/hosts.",
            )

    # --- Python -----------------------------------------------------------------------------------
    def _python(self) -> Iterator[Finding]:
        """Workers need the Python of the driver, to the minor version."""
        python = self.variables.get("PYSPARK_PYTHON")
        if not python:
            return
        obj = f"PYSPARK_PYTHON={python}"
        fix = f"Set PYSPARK_PYTHON to {sys.executable}, or unset it."
        if shutil.which(python, path=self.variables.get("PATH")) is None:
            yield Finding("spark.python", obj, "there is no such program", fix)
            return
        said = _said([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
        ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if not re.fullmatch(r"\d+\.\d+", said):
            yield Finding("spark.python", obj, f"it can't be run: {_first_line(said)}", fix)
        elif said != ours:
            rule = (
                f"workers would run Python {said}, and this is Python {ours}: PySpark refuses that"
            )
            yield Finding("spark.python", obj, rule, fix)

    def _home(self, number: Version) -> Iterator[Finding]:
        """A Spark of its own, of another version than PySpark."""
        home = self.variables.get("SPARK_HOME")
        if not home:
            return
        obj = f"SPARK_HOME={home}"
        if not os.path.isdir(home):
            yield Finding(
                "spark.home", obj, "there is no such folder", "Unset SPARK_HOME, or correct it."
            )
            return
        jars = sorted(Path(home, "jars").glob("spark-core_*.jar"))
        found = re.search(r"-(\d+)\.(\d+)", jars[0].name) if jars else None
        if found is not None and (int(found[1]), int(found[2])) != number:
            rule = f"it is Spark {found[1]}.{found[2]}, and PySpark is {number[0]}.{number[1]}"
            fix = f'pip install "pyspark=={found[1]}.{found[2]}.*", or unset SPARK_HOME.'
            yield Finding("spark.home", obj, rule, fix)


def _missing_pyspark(wanted: str) -> Finding:
    return Finding(
        "spark.pyspark",
        "PySpark",
        f"it is not installed, and {wanted} says that Spark is to be used",
        f'{_INSTALL}, or use engine="local", which needs none.',
    )


def _old(version: str, number: Version) -> Iterator[Finding]:
    if number < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield Finding(
            "spark.pyspark",
            f"PySpark {version}",
            f"it is too old: {oldest} is the oldest that works",
            f'pip install "pyspark>={oldest}", of the version of the cluster.',
        )


def _pandas(version: str, number: Version) -> Iterator[Finding]:
    try:
        pandas = metadata.version("pandas")
    except metadata.PackageNotFoundError:
        yield Finding(
            "spark.pandas",
            "pandas",
            "it is not installed, and PySpark's mapInArrow needs it",
            f"{_INSTALL}.",
        )
        return
    if pandas.partition(".")[0] == "3" and number < _PANDAS_3:
        yield Finding(
            "spark.pandas",
            f"pandas {pandas}",
            f"PySpark {version} does not work with pandas 3",
            'pip install "pandas<3".',
        )


def _pyspark() -> str | None:
    """The version that would be imported; None where there is none."""
    found = PathFinder.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        return None
    for folder in found.submodule_search_locations:
        try:
            text = Path(folder, "version.py").read_text("utf-8")
        except OSError:
            continue
        said = re.search(r"""__version__[^=]*=\s*["']([^"']+)""", text)
        if said is not None:
            return said[1]
    return "0.0 (unknown)"


def _number(version: str) -> Version:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _javas(number: Version) -> tuple[int, int]:
    fitting = [javas for since, javas in _JAVAS.items() if since <= number]
    return fitting[-1] if fitting else _JAVAS[OLDEST]


def _said(command: list[str]) -> str:
    """All that a program prints, or why it could not be run."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ran.stdout + ran.stderr


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[0]

"""Fetch what the interop tests need, then run a command that finds it.

    python tests/interop/prepare.py -- python -m pytest tests/interop
    python tests/interop/prepare.py --hudi-rs -- python -m pytest tests/interop/test_hudi_rs.py

Real Spark Hudi is a jar for one Spark version, and that Spark a PySpark which is not the one that
Hoodoo itself is tested with, so it gets a virtual environment of its own.  Both are made once, in
``.tox/interop-spark35``, and found there by later runs; delete that folder to get newer ones.

What the environment variables ``HOODOO_INTEROP_PYTHON`` (an interpreter with that PySpark),
``HOODOO_INTEROP_JAR`` (the bundle), ``HOODOO_INTEROP_JAR_015`` (that of Hudi 0.15, for tables of version 6),
``HOODOO_INTEROP_S3`` (a folder of jars for tables on S3) and ``HOODOO_INTEROP_LANCE`` (of those for Lance base files) name is
taken as it is, and nothing is fetched for it. The jars for S3 are some 290 MB, those for Lance 170, and the fixed part of the
tests (``HOODOO_INTEROP=fixed``) does without them, as without those of Kafka (40 MB): ``HOODOO_INTEROP_KAFKA`` (a broker's) and ``HOODOO_INTEROP_KAFKA_SPARK`` (with which this environment's Spark reads).

The program in which hudi-rs writes is built by cargo (build_hudi_rs.py), unless ``HOODOO_INTEROP_HUDI_RS`` names it.
With ``--hudi-rs`` it is all that is prepared, and it must be there. Without, its tests are left out where it can't be
built, and the last lines of the run say so.

Exit code: the command's own; 2 where something is missing, after one sentence that says what.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from build_hudi_rs import NotBuilt, program
from fixed_part import chosen
from hudi_rs_peer import PEER_VARIABLE
from kafka_broker import BROKER_VARIABLE
from kafka_broker import SPARK_VARIABLE as KAFKA_SPARK_VARIABLE
from spark_hudi import (
    FOREIGN,
    JAR_VARIABLE,
    LANCE_JARS_VARIABLE,
    OLD_JAR_VARIABLE,
    PYTHON_VARIABLE,
    S3_JARS_VARIABLE,
)

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = Path(os.environ.get("TOX_WORK_DIR") or ROOT / ".tox") / "interop-spark35"
PYSPARK = "pyspark>=3.5,<3.6"
PYTHONS = ((3, 10), (3, 11))  # those that PySpark 3.5 runs on and hudi_worker.py is written for
JAVA = 17  # the newest that Spark 3.5 supports
BUNDLE = ("org.apache.hudi", "hudi-spark3.5-bundle_2.12")
# From the oldest version that these tests know to the last one before 2.0's first preview.
NEWEST, PINNED = "[1.2.0,2.0.0-a)", "1.2.0"
# The last one before 1.0.
OLD = "0.15.0"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
# Hadoop's client of S3, for the Hadoop that PySpark 3.5 brings; Hudi's lock in DynamoDB, and Amazon's clients of both.
HADOOP_AWS = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")
HUDI_AWS = "org.apache.hudi:hudi-aws"
LOCK_CLIENT = "com.amazonaws:dynamodb-lock-client:1.2.0"
AMAZON = (
    "software.amazon.awssdk:dynamodb:2.57.8",
    "software.amazon.awssdk:url-connection-client:2.57.8",
)
# Lance in Java with what it calls, as Hudi 1.2.0 names it; not its Arrow of Spark, which is older.
LANCE = (
    "org.lance:lance-core:4.0.0",
    "org.lance:lance-spark-3.5_2.12:0.4.0",
    "org.lance:lance-spark-base_2.12:0.4.0",
    *(f"org.apache.arrow:arrow-{name}:18.3.0" for name in ("vector", "format", "c-data")),
    *(
        f"org.apache.arrow:arrow-memory-{name}:18.3.0"
        for name in ("core", "netty", "netty-buffer-patch")
    ),
    "com.google.flatbuffers:flatbuffers-java:25.2.10",
    "io.netty:netty-buffer:4.1.119.Final",
    "io.netty:netty-common:4.1.119.Final",
    "org.questdb:jar-jni:1.1.1",
)
# A broker; and Spark's package for Kafka, for this environment's PySpark.
KAFKA = ("org.apache.kafka:kafka_2.13:3.9.1",)
LOGGING = ("org.slf4j:slf4j-api:1.7.36",)
KAFKA_CLIENTS = ("org.apache.kafka:kafka-clients:3.9.1", "org.apache.commons:commons-pool2:2.12.1")
PINNED_KAFKA_SPARK = "4.2.0"
KAFKA_SPARK = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>hoodoo</groupId><artifactId>interop</artifactId><version>0</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY = """<dependency>
    <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
    <exclusions>{exclusions}</exclusions>
  </dependency>"""
EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
# What Spark brings itself, and clients of HTTP beside the one that is named.
OTHERS = (
    ("org.slf4j", "*"), ("io.netty", "*"), ("software.amazon.awssdk", "netty-nio-client"),
    ("software.amazon.awssdk", "apache-client"), ("software.amazon.awssdk", "apache5-client"),
)  # fmt: skip


class Missing(Exception):
    """Something that this machine lacks; the message is the sentence for the user."""


def say(text: str) -> None:
    print(f"interop: {text}", flush=True)


def run(title: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a long step, with a sign of life every ten seconds; its output, or Missing if it fails."""
    say(f"{title} ...")
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
        ) as process:
            while True:
                try:
                    code = process.wait(timeout=10)
                    break
                except subprocess.TimeoutExpired:
                    say(f"{title}: {time.monotonic() - began:.0f} s")
        output.seek(0)
        text = output.read()
    if code:
        raise Missing(reason(text) or f"{command[0]} ended with {code}")
    say(f"{title}: done in {time.monotonic() - began:.0f} s")
    return text


def reason(output: str) -> str:
    """The first line in which Maven or pip say what went wrong; else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("[ERROR]", "ERROR:")):
            return line.removeprefix("[ERROR]").removeprefix("ERROR:").strip()
    return lines[-1] if lines else ""


def answer(command: Sequence[str]) -> str | None:
    """What a quick command prints, stderr included; None if it cannot run or fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def java_home() -> Path:
    """The home of a Java that Spark 3.5 runs on: JAVA_HOME, the path's, or where Linux keeps them."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if found := shutil.which("java"):
        homes.append(Path(found).resolve().parent.parent)
    homes += sorted(Path("/usr/lib/jvm").glob(f"*{JAVA}*"))
    seen = []
    for home in homes:
        said = answer([str(home / "bin" / "java"), "-version"])
        if version := re.search(r'version "(\d+)', said or ""):
            if int(version[1]) == JAVA:
                return home
            seen.append(f"{version[1]} in {home}")
    has = f"there is only {', '.join(seen)}" if seen else "there is none"
    raise Missing(f"Java {JAVA} is missing ({has}): install it and set JAVA_HOME to it.")


def base_python() -> str:
    """An interpreter to make the environment with: this one if it fits, else one on the path."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    for major, minor in reversed(PYTHONS):
        found = shutil.which(f"python{major}.{minor}")
        # A name on the path may be a version manager's that leads nowhere.
        if found and answer([found, "-c", "import ensurepip, venv"]) is not None:
            return found
    wanted = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    raise Missing(f"Python {wanted} with venv is missing on the path: PySpark 3.5 needs it.")


def python_with_spark() -> Path:
    """The interpreter of the separate environment, which is made if it is not there yet."""
    where = HOME / "venv"
    python, ready = where / "bin" / "python", where / "ready"
    if ready.exists() and ready.read_text() == PYSPARK and answer([str(python), "-c", ""]) == "":
        return python
    base = base_python()
    # Pip and the interpreter must not find the calling environment's packages.
    clean = {k: v for k, v in os.environ.items() if k not in FOREIGN}
    try:
        run(
            f"a virtual environment in {where}",
            [base, "-m", "venv", "--clear", str(where)],
            clean,
        )
        run(
            f"{PYSPARK} (some 300 MB)",
            [str(python), "-m", "pip", "install", "--disable-pip-version-check", PYSPARK],
            clean,
        )
    except Missing as error:
        raise Missing(
            f"PySpark 3.5 could not be installed (is there a network, and room for 700 MB?): {error}"
        ) from None
    ready.write_text(PYSPARK)  # last, so that what was cut short is made again
    return python


def bundle(versions: Sequence[str] = (NEWEST, PINNED), folder: str = "jars") -> Path:
    """The jar, which is fetched if it is not there yet: the newest 1.x, or at least the pinned one. ``versions``: those
    that are tried in turn, in place of these; ``folder``: where it is kept."""
    where = HOME / folder
    if found := _jar(where):
        return found
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
            target = Path(scratch, "out")
            wanted = ":".join([*BUNDLE, version])
            try:
                # Its dependencies are shaded into it: whatever its POM still names is Spark's to bring.
                copied(f"{wanted} with Maven (some 80 MB)", [wanted], (), target)
                jar = _jar(target)
                if jar is None:
                    raise Missing("Maven copied no jar")
            except Missing as error:
                say(f"failed: {error}")
                problem = error
                continue
            where.mkdir(parents=True, exist_ok=True)
            # Under another name until it is whole.
            part = where / f"{jar.name}.part"
            shutil.copyfile(jar, part)
            return part.rename(where / jar.name)
    raise Missing(f"The Hudi bundle could not be fetched (is there a network?): {problem}")


def s3_jars(version: str) -> Path:
    """The folder of what Spark Hudi of that version needs on S3, which is fetched if it is not there yet."""
    where = HOME / "jars-s3"
    if where.exists():
        return where
    part = where.with_name("jars-s3.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        copied("Hadoop's client of S3 with Maven (some 280 MB)", HADOOP_AWS, (), part)
        copied("Amazon's lock client with Maven", [LOCK_CLIENT], (), part)
        copied("Amazon's client of DynamoDB with Maven (some 8 MB)", (), AMAZON, part)
        try:
            copied("hudi-aws with Maven", [f"{HUDI_AWS}:{version}"], (), part)
        except Missing as error:
            say(f"failed: {error}")
            copied("hudi-aws of 0.15 with Maven", [f"{HUDI_AWS}:{OLD}"], (), part)
    except Missing as error:
        raise Missing(
            f"The jars for S3 could not be fetched (is there a network?): {error}"
        ) from None
    return part.rename(where)


def lance_jars() -> Path:
    """The folder of what Spark Hudi needs for Lance base files, which is fetched if it is not there yet."""
    where = HOME / "jars-lance"
    if not where.exists():
        part = where.with_name("jars-lance.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            copied("Lance for Spark with Maven (some 170 MB)", LANCE, (), part)
        except Missing as error:
            raise Missing(
                f"The jars for Lance could not be fetched (is there a network?): {error}"
            ) from None
        part.rename(where)
    return where


def kafka_jars() -> dict[str, str]:
    """Folders of the jars of a broker, and of Spark's package for Kafka, fetched once."""
    import pyspark

    found = {}
    for variable, name, alone, whole in (
        (BROKER_VARIABLE, "jars-kafka", LOGGING, KAFKA),
        (KAFKA_SPARK_VARIABLE, "jars-kafka-spark", KAFKA_CLIENTS, ()),
    ):
        where = given(variable) or HOME / name
        if not where.exists():
            part = where.with_name(f"{name}.part")
            shutil.rmtree(part, ignore_errors=True)
            copied(f"{name} with Maven", alone, whole, part)
            if variable == KAFKA_SPARK_VARIABLE:
                _spark_for_kafka(pyspark.__version__, part)
            part.rename(where)
        found[variable] = str(where)
    return found


def _spark_for_kafka(version: str, part: Path) -> None:
    """Spark's own jars for Kafka, of this version, or of the one before it that is known."""
    try:
        named = [f"org.apache.spark:{name}:{version}" for name in KAFKA_SPARK]
        copied(f"Spark's package for Kafka, {version}, with Maven", named, (), part)
    except Missing as error:
        say(f"failed: {error}")
        named = [f"org.apache.spark:{name}:{PINNED_KAFKA_SPARK}" for name in KAFKA_SPARK]
        copied(f"Spark's package for Kafka, {PINNED_KAFKA_SPARK}, with Maven", named, (), part)


def copied(title: str, alone: Sequence[str], whole: Sequence[str], target: Path) -> None:
    """``group:artifact:version`` each: the jars ``alone``, and those that are ``whole`` with their dependencies."""
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Maven is missing: put mvn on the path, it fetches jars.")
    named = [(one, [("*", "*")]) for one in alone] + [(one, list(OTHERS)) for one in whole]
    dependencies = ""
    for one, left_out in named:
        group, artifact, version = one.split(":")
        dependencies += DEPENDENCY.format(
            group=group, artifact=artifact, version=version,
            exclusions="".join(EXCLUSION.format(*pair) for pair in left_out),
        )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(POM.format(dependencies=dependencies))
        run(title, [maven, "--batch-mode", "--file", str(pom), f"-DoutputDirectory={target}",
                    f"{DEPENDENCY_PLUGIN}:copy-dependencies"])  # fmt: skip


def _jar(where: Path) -> Path | None:
    return next(iter(sorted(where.glob(f"{BUNDLE[1]}-*.jar"))), None)


def given(variable: str) -> Path | None:
    """The file that the user named by an environment variable; Missing if it is not there."""
    name = os.environ.get(variable)
    if not name:
        return None
    if not Path(name).exists():
        raise Missing(f"{variable} names {name}, which does not exist.")
    return Path(name)


def hudi_rs() -> Path:
    """The program that the user named, or that is built; Missing if there is none."""
    try:
        return given(PEER_VARIABLE) or program(say)
    except NotBuilt as error:
        raise Missing(str(error)) from None


def main(arguments: Sequence[str]) -> int:
    alone = arguments[:1] == ["--hudi-rs"]
    command = list(arguments[1:] if alone else arguments)
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        print(__doc__)
        return 2
    peer: dict[str, str] = {}
    try:
        peer = {PEER_VARIABLE: str(hudi_rs())}
    except Missing as error:
        say(f"LEFT OUT: tests with hudi-rs: {error}")
        if alone:
            return 2
    if alone:
        return subprocess.run(command, env={**os.environ, **peer}).returncode
    try:
        home = java_home()
        jar = given(JAR_VARIABLE) or bundle()
        old = given(OLD_JAR_VARIABLE) or bundle([OLD], "jars-0.15")
        python = given(PYTHON_VARIABLE) or python_with_spark()
        kafka = kafka_jars() if chosen() is None else {}
        s3 = given(S3_JARS_VARIABLE)
        if s3 is None and chosen() is None:
            s3 = s3_jars(jar.stem.rpartition("-")[2])
        lance = given(LANCE_JARS_VARIABLE)
        if lance is None and chosen() is None:
            lance = lance_jars()
    except (Missing, ValueError) as error:
        say(str(error))
        return 2
    say(f"Java {JAVA} in {home}, {python}, {jar.name}, {old.name}")
    found = {
        "JAVA_HOME": str(home), PYTHON_VARIABLE: str(python), JAR_VARIABLE: str(jar),
        OLD_JAR_VARIABLE: str(old), **({S3_JARS_VARIABLE: str(s3)} if s3 else {}),
        **({LANCE_JARS_VARIABLE: str(lance)} if lance else {}), **kafka, **peer,
    }  # fmt: skip
    return subprocess.run(command, env={**os.environ, **found}).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

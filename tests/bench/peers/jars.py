"""The peers' jars for one Spark, from Maven Central (or the mirror that Maven's settings name), fetched once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.bench.data import cache
from tests.bench.peers.store import JARS

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
# For Spark 3.5, the newest that all of them support; each the newest version for it.
ARTIFACTS = {
    "hudi": ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",),
    "delta": ("io.delta:delta-spark_2.12:3.3.2", "io.delta:delta-storage:3.3.2"),
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",),
    "hoodoo": (),
}


def jars_of(family: str, on_store: bool = False) -> str:
    """Their paths, separated by commas; ``on_store``: with Spark's client of S3. RuntimeError with Maven's reason where
    one can't be had."""
    folder = cache() / "jars"
    folder.mkdir(exist_ok=True)
    wanted = (*ARTIFACTS[family], *(JARS if on_store else ()))
    return ",".join(str(_fetched(artifact, folder)) for artifact in wanted)


def _fetched(artifact: str, folder: Path) -> Path:
    _group, name, version = artifact.split(":")
    path = folder / f"{name}-{version}.jar"
    if not path.exists():
        maven = shutil.which("mvn")
        if maven is None:
            raise RuntimeError(f"{artifact}: Maven is not installed. Fix: install it (mvn).")
        command = [maven, "-q", "-B", f"{PLUGIN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
            raise RuntimeError(f"{artifact}: {(lines or [done.stderr])[0]}")
    return path

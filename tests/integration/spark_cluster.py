"""Spark with its executors in processes of their own, from what pip installs and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

PATIENCE = 600  # seconds: a loaded machine of two cores starts six JVMs


def home(folder: Path) -> Path:
    """PySpark's Spark under another name: workers keep their files in the home that they start in."""
    target = folder / "spark-home"
    if not target.exists():
        target.mkdir()
        for name in ("bin", "jars", "sbin"):
            (target / name).symlink_to(Path(pyspark.__file__).parent / name)
    return target


def environment(folder: Path, path: str = "") -> dict[str, str]:
    """``path`` is a PYTHONPATH, for the driver and (they inherit it) the workers."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "SPARK_HOME": str(home(folder)),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
    }


def submit(
    folder: Path,
    master: str,
    script: Path,
    *arguments: str,
    conf: Mapping[str, str] | None = None,
    path: str = "",
) -> str:
    """Run ``script`` with spark-submit in ``folder``; its standard output. Fails with Spark's log."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # all executors, from the start
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE}s",
        **(conf or {}),
    }
    command = [str(home(folder) / "bin/spark-submit"), "--master", master]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    log = folder / "submit.log"
    with log.open("wb") as errors:
        done = subprocess.run(
            [*command, str(script), *arguments], cwd=folder, env=environment(folder, path),
            stdout=subprocess.PIPE, stderr=errors, text=True, timeout=2 * PATIENCE,
        )  # fmt: skip
    said = log.read_text()
    # Spark's own lines are many; those of the script begin here.
    assert done.returncode == 0, f"{done.stdout}\n{said[said.find('Traceback') :][:6000]}"
    return done.stdout


@contextmanager
def two_hosts(folder: Path, path: str = "") -> Iterator[str]:
    """The URL of a cluster of two workers with one core each, on two addresses of this machine.

    Spark never starts a speculative copy on the host of the original; local-cluster has one host.
    """
    with ExitStack() as stack:

        def start(name: str, role: str, *arguments: str) -> Path:
            log = folder / f"{name}.log"
            file = stack.enter_context(log.open("wb"))
            command = [
                str(home(folder) / "bin/spark-class"),
                f"org.apache.spark.deploy.{role}",
                *arguments,
            ]
            process = subprocess.Popen(
                command, cwd=folder, env=environment(folder, path), stdout=file, stderr=file
            )
            stack.callback(process.wait, PATIENCE)
            stack.callback(process.terminate)
            return log

        quiet = ("--port", "0", "--webui-port", "0")
        log = start("master", "master.Master", "--host", "127.0.0.1", *quiet)
        url = told(log, lambda text: next(iter(re.findall(r"spark://127\.0\.0\.1:\d+", text)), ""))
        for number in (2, 3):
            start(
                f"worker{number}", "worker.Worker", "--host", f"127.0.0.{number}", *quiet,
                "--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"w{number}"), url,
            )  # fmt: skip
        told(log, lambda text: "both" if text.count("Registering worker") == 2 else "")
        yield url


def told(log: Path, answer: Callable[[str], str]) -> str:
    """The first answer that is not empty of what is in ``log``, which grows."""
    end = time.monotonic() + PATIENCE
    while not (found := answer(log.read_text())):
        assert time.monotonic() < end, log.read_text()[-4000:]
        time.sleep(0.1)
    return found

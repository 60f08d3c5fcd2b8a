"""Spark with its executors in processes of their own, from what pip installs and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
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


def environment(folder: Path, path: str = "", own: Path | None = None) -> dict[str, str]:
    """``path`` is a PYTHONPATH, for the driver and (they inherit it) the workers. ``own``: a folder for what the
    process keeps for a time."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "SPARK_HOME": str(home(folder)),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
        **({"TMPDIR": str(own), "SPARK_LOCAL_DIRS": str(own)} if own else {}),
    }


def submit(
    folder: Path,
    master: str,
    script: Path,
    *arguments: str,
    conf: Mapping[str, str] | None = None,
    path: str = "",
    own: Path | None = None,
) -> str:
    """Run ``script`` with spark-submit in ``folder`` (or ``own``); its standard output. Fails with Spark's log."""
    with submitted(folder, master, script, *arguments, conf=conf, path=path, own=own) as process:
        out, _ = process.communicate(timeout=2 * PATIENCE)
    said = (folder / "submit.log").read_text()
    # Spark's own lines are many; those of the script begin here.
    assert process.returncode == 0, f"{out}\n{said[said.find('Traceback') :][:6000]}"
    return out


@contextmanager
def submitted(
    folder: Path,
    master: str,
    script: Path,
    *arguments: str,
    conf: Mapping[str, str] | None = None,
    path: str = "",
    own: Path | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """The same, as it runs, with all its processes in a group of their own; what is left of them is ended."""
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
    with (folder / "submit.log").open("wb") as errors:
        process = subprocess.Popen(
            [*command, str(script), *arguments], cwd=own or folder, env=environment(folder, path, own),
            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def two_hosts(folder: Path, path: str = "", apart: bool = False) -> Iterator[str]:
    """The URL of a cluster of two workers with one core each, on two addresses of this machine.

    Spark never starts a speculative copy on the host of the original; local-cluster has one host. ``apart``: each has
    temporary folders of its own, ``own2`` and ``own3``, and sees neither the other's nor the driver's ``driver``,
    where this user may hide them (``unshare``).
    """
    names = ("own2", "own3", "driver")
    if apart:
        for name in names:
            (folder / name).mkdir()
    with ExitStack() as stack:

        def start(name: str, role: str, *arguments: str, own: str = "") -> Path:
            log = folder / f"{name}.log"
            file = stack.enter_context(log.open("wb"))
            command = [
                str(home(folder) / "bin/spark-class"),
                f"org.apache.spark.deploy.{role}",
                *arguments,
            ]
            if own and can_hide():
                hide = " && ".join(f"mount -t tmpfs none '{folder / n}'" for n in names if n != own)
                command = ["unshare", "--mount", "sh", "-c", f'{hide} && exec "$@"', "sh", *command]
            place = folder / own if own else None
            process = subprocess.Popen(
                command, cwd=place or folder, env=environment(folder, path, place),
                stdout=file, stderr=file,
            )  # fmt: skip
            stack.callback(process.wait, PATIENCE)
            stack.callback(process.terminate)
            return log

        quiet = ("--port", "0", "--webui-port", "0")
        log = start("master", "master.Master", "--host", "127.0.0.1", *quiet)
        url = told(log, lambda text: next(iter(re.findall(r"spark://127\.0\.0\.1:\d+", text)), ""))
        for number in (2, 3):
            start(
                f"worker{number}", "worker.Worker", "--host", f"127.0.0.{number}", *quiet,
                "--cores", "1", "--memory", "1g", "--work-dir", str(folder / (f"own{number}/work" if apart else f"w{number}")), url,
                own=f"own{number}" if apart else "",
            )  # fmt: skip
        told(log, lambda text: "both" if text.count("Registering worker") == 2 else "")
        yield url


def can_hide() -> bool:
    """Whether this user may have folders that others do not see."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def told(log: Path, answer: Callable[[str], str]) -> str:
    """The first answer that is not empty of what is in ``log``, which grows."""
    end = time.monotonic() + PATIENCE
    while not (found := answer(log.read_text())):
        assert time.monotonic() < end, log.read_text()[-4000:]
        time.sleep(0.1)
    return found

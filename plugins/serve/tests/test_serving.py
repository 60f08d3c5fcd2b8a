"""The process: it starts, answers, stands by, takes over, and ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import hoodoo
import pytest
from hoodoo_serve.health import Health, Metrics
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import TableServices
from prometheus_client import CollectorRegistry

COMMAND = [sys.executable, "-c", "from hoodoo_cli.commandline import main; main()", "serve"]
Made = Callable[..., hoodoo.Table]


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str], part: str) -> str:
    assert process.stdout is not None
    for text in process.stdout:
        if part in text:
            return text
    raise AssertionError(f"it ended without {part!r}")


def asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.sampled(1, among="long")
def test_it_serves_and_ends_after_a_signal(made: Made) -> None:
    table = made()
    with started(table.path, "--every", "0.2", "--port", "0") as process:
        url = line(process, "http://127.0.0.1:").strip().removesuffix("/health")
        line(process, "compaction in")
        status, text = asked(f"{url}/health")
        assert (status, json.loads(text)["tables"][table.path]["role"]) == (200, "leads")
        status, text = asked(f"{url}/metrics")
        assert 'service="compaction",outcome="done"} 1.0' in text.replace(
            'outcome="done",', ""
        ) or ('outcome="done",service="compaction"} 1.0' in text)
        assert asked(f"{url}/other")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    # It has given the lock back.
    found = TableServices(table.path, {})
    assert found.round().role == "leads"
    found.close()


@pytest.mark.sampled(2, among="long")
def test_a_second_one_takes_over_from_one_that_hangs(made: Made) -> None:
    """It is neither dead nor alive: only its signs of life are missing. 10 s are the promise."""
    table = made(deltas=1)
    with ExitStack() as both:
        first = both.enter_context(started(table.path, "--every", "0.2"))
        line(first, "Serving")
        second = TableServices(table.path, {})
        end = time.monotonic() + 60
        while second.round().role == "leads":  # the first one has not looked yet
            second.close()
            assert time.monotonic() < end
        os.kill(first.pid, signal.SIGSTOP)
        began = time.monotonic()
        while second.round().role != "leads":
            assert time.monotonic() < began + 60
        seconds = time.monotonic() - began
        # What a busy machine adds is no fault: the promise is measured by the options.
        assert seconds < 30, seconds
        os.kill(first.pid, signal.SIGCONT)
        assert second.round().role == "leads"
        second.close()


@pytest.mark.sampled(1, among="long")
def test_once_has_exit_codes(made: Made, tmp_path: Path) -> None:
    table = made()
    whole = subprocess.run([*COMMAND, table.path, "--once"], capture_output=True, text=True)
    assert (whole.returncode, "compaction in" in whole.stdout) == (0, True)
    holder = TableServices(table.path, {})
    assert holder.round().role == "leads"
    other = subprocess.run([*COMMAND, table.path, "--once"], capture_output=True, text=True)
    assert (other.returncode, "another process leads" in other.stdout) == (3, True)
    holder.close()
    none = subprocess.run(
        [*COMMAND, str(tmp_path / "none"), "--once", "--json"], capture_output=True, text=True
    )
    assert none.returncode == 1
    assert json.loads(none.stdout)[str(tmp_path / "none")]["role"] == "failed"


@pytest.mark.sampled(1, among="long")
def test_ill_health_is_said(made: Made, tmp_path: Path) -> None:
    table, gone = made(), str(tmp_path / "none")
    serving = Serving([TableServices(table.path, {}), TableServices(gone, {})], every=0.1)
    health = Health(serving, Metrics(CollectorRegistry()))
    port = health.start()
    serving.start()
    try:
        end = time.monotonic() + 60
        while len(serving.states()) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        status, text = asked(f"http://127.0.0.1:{port}/health")
        said = json.loads(text)
        assert (status, said["well"]) == (503, False)
        assert said["tables"][gone]["well"] is False
        assert said["tables"][table.path]["well"] is True
    finally:
        serving.stop()
        assert serving.wait(60)
        health.stop()


def test_health_is_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a page of elsewhere that gives its own name this machine's address; and who connects and says nothing
    holds no thread for ever."""
    monkeypatch.setattr("hoodoo_serve.health._IDLE", 0.2)
    health = Health(Serving([], every=60), Metrics(CollectorRegistry()))
    port = health.start()
    try:
        found = {}
        for host in ("127.0.0.1", "localhost:80", "[::1]:80", "evil.example", "10.0.0.7", ""):
            for path in ("/health", "/metrics"):
                line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                line.putrequest("GET", path, skip_host=True)
                line.putheader("Host", host)
                line.endheaders()
                found[host, path] = line.getresponse().status
                line.close()
        assert {key for key, status in found.items() if status == 403} == {
            (host, path)
            for host in ("evil.example", "10.0.0.7", "")
            for path in ("/health", "/metrics")
        }
        with socket.create_connection(("127.0.0.1", port), 30) as silent:
            assert silent.recv(1) == b""
    finally:
        health.stop()


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("wrong", [["--every", "0"], ["--at-once", "0"]])
def test_wrong_arguments_are_refused(made: Made, wrong: list[str]) -> None:
    found = subprocess.run([*COMMAND, "x", *wrong], capture_output=True, text=True)
    assert found.returncode != 0
    assert "greater than 0" in found.stderr

"""``hoodoo ingest``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from folders import ids, put
from hoodoo_cli.commandline.app import build
from typer.testing import CliRunner


def written(folder: Path, more: str = "") -> str:
    (folder / "c.toml").write_text(
        f'[source]\nkind = "files"\npath = "{folder}/in"\nmax_files = 1\n'
        f'[table]\npath = "{folder}/t"\nrecord_key = "id"\n{more}'
    )
    return str(folder / "c.toml")


def run(*arguments: str) -> str:
    found = CliRunner().invoke(build(), ["ingest", *arguments])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_command(tmp_path: Path) -> None:
    file = written(tmp_path)
    for n in range(3):
        put(tmp_path, f"{n}.jsonl", [{"id": n}], at=1000 + n)
    plan = " ".join(run(file, "--dry-run").split())  # lines are as long as a terminal is wide
    assert "would be created" in plan and "1 file" in plan and "0.jsonl" in plan
    assert "more is left" in plan and not (tmp_path / "t").exists()
    assert "Round 1" in run(file, "--once") and ids(tmp_path) == [0]
    found = json.loads(run(file, "--dry-run", "--json"))
    assert (found["round"], found["names"], found["more"]) == (1, ["1.jsonl"], True)
    lines = [json.loads(line) for line in run(file, "--json").splitlines()]
    assert [line["round"] for line in lines] == [2, 3] and lines[-1]["inserted"] == 1
    assert "Nothing is new." in run(file) and run(file, "--json") == ""
    assert "Nothing is new." in run(file, "--dry-run")


@pytest.mark.sampled(1, among="long")
def test_sigterm_ends_it_after_the_round(tmp_path: Path) -> None:
    file = written(tmp_path, "[run]\ncontinuous = true\nevery = 0.1\n")
    put(tmp_path, "1.jsonl", [{"id": 1}])
    command = [sys.executable, "-m", "hoodoo", "ingest", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "Round 1" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert ids(tmp_path) == [1]


@pytest.mark.trial
def test_sigkill(tmp_path: Path) -> None:
    """A process that is killed at some moment, again and again: each file takes effect once."""
    file = written(tmp_path, '[run]\noperation = "insert"\n')
    for n in range(8):
        put(tmp_path, f"{n}.jsonl", [{"id": n}], at=1000 + n)
    command = [sys.executable, "-m", "hoodoo", "ingest", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and "Round 1" in process.stdout.readline()
        time.sleep(int.from_bytes(os.urandom(1), "big") / 1000)
        process.kill()
    run(file)
    assert ids(tmp_path) == list(range(8))

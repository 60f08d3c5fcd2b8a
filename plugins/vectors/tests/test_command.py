"""``hoodoo search``."""

from __future__ import annotations

import json
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_cli.commandline import main

POINTS = pa.table({"id": [1, 2, 3], "at": [[0.0, 1.0], [3.0, 4.0], None]})


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


def test_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, POINTS, record_key="id")
    near = ("search", path, "at", "--vector", "[3, 4]", "--columns", "id")
    code, out, _ = run(capsys, *near, "--k", "1")
    assert code == 0 and out.split() == ["id", "_distance", "2", "0.0"]
    _, out, _ = run(capsys, *near, "--metric", "dot", "--where", "id < 2", "--json")
    assert json.loads(out) == [{"id": 1, "_distance": -4.0}]
    _, out, _ = run(capsys, "search", path, "at", "--vector", "[[0, 1], [3, 4]]", "-k1", "--json")
    assert [(row["id"], row["_query"]) for row in json.loads(out)] == [(1, 0), (2, 1)]


@pytest.mark.parametrize(("vector", "words"), [("[3, 4", "is not JSON"), ("{}", "numbers")])
def test_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], vector: str, words: str
) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, POINTS, record_key="id")
    code, out, err = run(capsys, "search", path, "at", "--vector", vector)
    assert code == 2 and not out and words in err and "Fix: " in err

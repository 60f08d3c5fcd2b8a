"""``hoodoo convert``: a table of another format becomes one of Hudi."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo_cli.commandline import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["convert", *(str(argument) for argument in arguments)])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return one


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    rows = pa.table({"id": [1, 2, 3], "city": ["oslo", "rome", "oslo"], "ts": [1, 1, 1]})
    pq.write_to_dataset(rows, folder, partition_cols=["city"])
    return folder


def test_a_folder_of_parquet_files(run: Run, source: Path, tmp_path: Path) -> None:
    code, out, err = run(
        source, tmp_path / "trips", "--record-key", "id", "--ordering", "ts", "--type", "mor"
    )
    assert (code, err) == (0, "")
    assert "3 rows" in out.replace("\n", " ")
    table = hoodoo.open(str(tmp_path / "trips"))
    assert table.config.table_type == "MERGE_ON_READ" and table.config.partition_fields == ("city",)
    assert table.read().count() == 3 and len(table.timeline().writes()) == 1


def test_json_version_and_generated_keys(run: Run, source: Path) -> None:
    _, out, _ = run(source, "--generated-keys", "--version", 6, "--name", "rides", "--json")
    found = json.loads(out)
    assert (found["name"], found["rows"]) == ("rides", 3)
    assert found["path"].endswith("source_hudi")
    assert hoodoo.open(found["path"]).config.version == 6


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "--record-key"),
        (("--record-key", "nothing"), "nothing"),
        (("--record-key", "ts"), "ts"),
    ],
)
def test_errors_are_one_sentence(
    run: Run, source: Path, arguments: tuple[str, ...], word: str
) -> None:
    code, out, err = run(source, *arguments)
    assert (code, out) == (2, "") and word in err and "Traceback" not in err


def test_there_is_no_source(run: Run, tmp_path: Path) -> None:
    code, _, err = run(tmp_path / "nothing", "--record-key", "id")
    assert code == 2 and "nothing" in err

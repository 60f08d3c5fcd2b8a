"""The examples of docs/examples run as they are, and their checks can fail."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest

from tests.meta import example_notebooks

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
NAMES = (
    "erase_a_person",
    "customer_history",
    "postgres_changes",
    "feature_store",
    "duckdb_pipeline",
    "event_stream",
)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(
            f"example_{Path(name).name}", EXAMPLES / f"{name}.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


def test_these_are_all() -> None:
    # The year of flights has tests of its own: tests/integration/test_spark_flights.py.
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NAMES, "flights"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_it_does_in_three_sentences(
    name: str, example: Callable[[str], Any]
) -> None:
    text = example(name).__doc__
    about = text.split("\n\n    python ")[0].replace("\n\n", " ")
    assert about.count(". ") + about.endswith(".") + about.count(".\n") == 3
    assert f"python docs/examples/{name}.py [FOLDER]" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_the_script(name: str) -> None:
    """After a change of a script: ``python -m tests.meta.example_notebooks``."""
    script = EXAMPLES / f"{name}.py"
    assert script.with_suffix(".ipynb").read_text("utf-8") == example_notebooks.notebook(script)


def test_a_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cell after another in one namespace, as a kernel does it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cells = json.loads((EXAMPLES / "customer_history.ipynb").read_text("utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["figures"]["versions"] == 7


# --- the page -------------------------------------------------------------------------------------
PAGE = (EXAMPLES.parent / "examples.md").read_text("utf-8")


def shown(name: str, info: str) -> list[str]:
    """The blocks of that kind in the section of the page that links to the script."""
    (part,) = (one for one in PAGE.split("\n## ") if f"\n[Script](examples/{name}.py)" in one)
    return re.findall(rf"^```{info}\n(.*?)^```$", part, re.M | re.S)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_lines_of_the_script(name: str) -> None:
    def plain(text: str) -> str:
        return "\n".join(line.strip() for line in text.strip().splitlines())

    script = plain((EXAMPLES / f"{name}.py").read_text("utf-8"))
    parts = [part for block in shown(name, "(?:py|sql)") for part in block.split("\n\n")]
    assert parts
    assert not [part for part in parts if plain(part) not in script]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_it_prints(
    name: str, tmp_path: Path, example: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    example(name).main(tmp_path)
    (printed,) = shown(name, "text")  # a line of three dots stands for lines that are left out
    pattern = ".*\n".join(re.escape(part) for part in printed.split("...\n"))
    assert re.fullmatch(pattern, capsys.readouterr().out, re.S)


@pytest.mark.sampled(1, among="long")
def test_it_runs_at_the_command_line(tmp_path: Path) -> None:
    """Without a word of warning, in a folder that is named."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / "customer_history.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2026-02-01: 1 versions closed, 2 added" in done.stdout
    assert (tmp_path / "customer_history/.hoodie").is_dir()


# --- a person is erased ---------------------------------------------------------------------------
def test_erase_a_person(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("erase_a_person").main(tmp_path)
    kinds = {path.rsplit(".", 1)[-1] for path in found["before"]}
    assert "parquet" in kinds and any(".log." in path for path in found["before"])
    assert any("/metadata/record_index/" in path for path in found["before"])
    assert found["after"] == [] and found["left"]["clicks"] == (196, 0)


def test_the_search_sees_what_a_delete_leaves(
    tmp_path: Path, example: Callable[[str], Any]
) -> None:
    job = example("erase_a_person")
    profiles, _, clicks = job.make_tables(tmp_path)
    for table in (profiles, clicks):
        table.delete(where=f"person = '{job.PERSON}'")
        assert table.read(where=f"person = '{job.PERSON}'").count() == 0
    left = job.files_with(tmp_path, job.PERSON)
    assert any(path.startswith("profiles/") for path in left)  # the savepoint's file
    clicks.compact()
    clicks.clean("by_versions", fileversions_retained=1)
    left = [p for p in job.files_with(tmp_path, job.PERSON) if p.startswith("clicks/")]
    assert left and all("/metadata/record_index/" in path for path in left)


# --- the others -----------------------------------------------------------------------------------
def test_customer_history(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("customer_history").main(tmp_path)
    assert found["closed"] == [0, 1, 2] and found["added"] == [3, 2, 2] and found["versions"] == 7


def test_the_check_of_the_history_sees_a_wrong_version(
    tmp_path: Path, example: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = example("customer_history")
    monkeypatch.setattr(job, "MERGE", job.MERGE.replace("t.valid_to = s.day, ", ""))
    with pytest.raises(AssertionError):
        job.main(tmp_path)


def test_postgres_changes(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("postgres_changes").main(tmp_path)
    assert [row[0] for row in found["rows"]] == [1, 2, 3, 4, 5, 7]
    assert found["unavailable"] >= 3
    log = list((tmp_path / "account/.hoodie/timeline").glob("*.deltacommit"))
    assert len(log) > 3  # merge on read


def test_postgres_changes_in_any_order(tmp_path: Path, example: Callable[[str], Any]) -> None:
    """The order in a batch does not matter: the position in the log decides."""
    job = example("postgres_changes")
    batches = [list(reversed(batch)) for batch in job.generated()]
    table = job.create(str(tmp_path / "account"))
    for batch in batches:
        job.apply(table, batch)
    rows = table.read(columns=list(job.COLUMNS)).to_arrow().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in rows] == job.expected(batches)


@pytest.fixture
def postgres() -> Iterator[str]:
    """A server of our own for logical decoding, on a socket; how to connect to it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None or shutil.which("psql") is None:
        pytest.skip("Postgres is not installed")
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as home:  # a socket's path is short
        user = None
        if os.geteuid() == 0:  # the server refuses to run as root
            user = "nobody"
            shutil.chown(home, user)

        def run(*command: str) -> None:
            subprocess.run(command, check=True, user=user, cwd=home, stdout=subprocess.DEVNULL)

        run(initdb, "-D", f"{home}/data", "-A", "trust", "-N", "-U", "postgres")
        control = (str(Path(initdb).with_name("pg_ctl")), "-w", "-D", f"{home}/data")
        options = f"-k {home} -c listen_addresses='' -c wal_level=logical"
        run(*control, "-l", f"{home}/log", "-o", options, "start")
        try:
            yield f"host={home} user=postgres dbname=postgres"
        finally:
            run(*control, "-m", "immediate", "stop")


@pytest.mark.sampled(1, among="long")
def test_postgres_changes_of_a_real_server(
    tmp_path: Path, example: Callable[[str], Any], postgres: str
) -> None:
    found = example("postgres_changes").main(tmp_path, postgres)
    assert [row[0] for row in found["rows"]] == [1, 2, 3, 4, 5, 7]
    assert len(found["rows"][0][3]) > 6000  # a large value that an update did not touch
    assert found["unavailable"] == 2


def test_feature_store(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("feature_store").main(tmp_path)
    assert found["sent"] == [3, 2, 2, 2] and found["online"] == 4
    assert (1, 2, 9, 90.0, 0) in found["rows"]  # as known on day 2, before the correction
    assert found["leaked"] > 0


def test_duckdb_pipeline(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("duckdb_pipeline").main(tmp_path)
    assert found["built"] == [["d1"], ["d1", "d2"], ["d3"]] and found["commits"] == 3
    report = hoodoo.open(str(tmp_path / "daily_revenue"))
    assert {piece.partition_path for piece in report.file_slices()} == {"d1", "d2", "d3"}


def test_event_stream(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("event_stream").main(tmp_path)
    assert (found["written"], found["skipped"], found["clusterings"]) == (12, 2, 3)
    assert found["files"] < 12


@pytest.mark.skipif(not importlib.util.find_spec("dbt"), reason="tox run -e dbt")
def test_dbt(tmp_path: Path, example: Callable[[str], Any]) -> None:
    found = example("dbt/run").main(tmp_path)
    assert found["reports"] == [
        [("d1", "oslo", 2, 15.0)],
        [("d1", "oslo", 2, 15.0), ("d1", "rome", 1, 25.0), ("d2", "rome", 1, 7.5)],
    ]

"""hoodoo inspect: each kind of file; every inspector that is installed keeps its contract."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo_cli.hookspecs.inspector import Inspector
from hoodoo_cli.testing.inspector import InspectorContract
from table_makers import KINDS, Run, said, trips

pytestmark = pytest.mark.sampled(4)


def file_of(folder: Path, inspector: str) -> Path:
    """A file of the kind that each of Hoodoo's inspectors decodes."""
    table = trips(folder / "trips", "mor9")
    if inspector == "hfile":
        table.rebuild_index()
    patterns = {
        "timeline_file": ".hoodie/timeline/*[0-9].deltacommit", "parquet": "oslo/*.parquet", "log": "oslo/.*.log.*",
        "hfile": ".hoodie/metadata/files/*.hfile",
    }  # fmt: skip
    found = max((folder / "trips").glob(patterns[inspector]), key=lambda path: path.stat().st_size)
    alone = folder / "alone"
    alone.mkdir()
    return Path(shutil.copy(found, alone / found.name))


@pytest.mark.parametrize("name", [offer.name for offer in kernel().offers("inspector")])
class TestInspectors(InspectorContract):
    @pytest.fixture
    def inspector(self, name: str) -> Inspector:
        found: Inspector = resolve("inspector", name).instance
        return found

    @pytest.fixture
    def file(self, name: str, tmp_path: Path) -> Path:
        return file_of(tmp_path, name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_table(run: Run, tmp_path: Path, kind: str) -> None:
    table = trips(tmp_path / "trips", kind)
    table.rebuild_index()
    seen = set()
    for path in sorted((tmp_path / "trips").rglob("*")):
        if not path.is_file() or ".hoodoo" in str(path) or path.name == ".keep":
            continue
        code, out, err = run("inspect", path)
        assert (code, err) == (0, ""), path
        assert max(map(len, out.splitlines())) <= 80, out
        seen.add(said(run("inspect", path, "--json"))["kind"])
    assert seen >= {"timeline file", "properties", "Parquet file"}
    assert "log file" in seen or not kind.startswith("mor")


def test_a_log_file(run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, "log")
    found = said(run("inspect", file, "--json", "-n", 2))
    assert found["facts"]["blocks"] == len(found["parts"]["blocks"]) > 0
    assert found["parts"]["blocks"][0]["headers"]["instant_time"].isdigit()
    assert len(found["parts"]["rows"]) == 2
    assert "instant_time" in run("inspect", file)[1]


def test_a_base_file(run: Run, tmp_path: Path) -> None:
    found = said(run("inspect", file_of(tmp_path, "parquet"), "--json"))
    assert found["facts"]["least key"] == "0" and found["facts"]["rows"] == 5
    assert found["details"]["metadata"]["parquet.avro.schema"]["type"] == "record"
    columns = {row["column"]: row for row in found["parts"]["columns"]}
    assert (columns["id"]["least"], columns["id"]["greatest"]) == (0, 8)


def test_an_hfile(run: Run, tmp_path: Path) -> None:
    found = said(run("inspect", file_of(tmp_path, "hfile"), "--json"))
    assert found["kind"] == "HFile" and found["facts"]["entries"] == 3
    assert found["facts"]["data blocks"] == len(found["parts"]["index"]) == 1
    assert "filesystemMetadata" in found["parts"]["entries"][0]["value"]


@pytest.mark.parametrize("kind", ["cow6", "mor9"])
def test_a_timeline_file(run: Run, tmp_path: Path, kind: str) -> None:
    table = trips(tmp_path / "trips", kind)
    instant = table.timeline().writes()[0]
    file = tmp_path / "trips" / table.timeline().path(instant)
    found = said(run("inspect", file, "--json"))
    assert (
        found["facts"]["instant"] == instant.requested and found["facts"]["operation"] == "UPSERT"
    )
    assert found["facts"]["encoding"] == ("JSON" if kind == "cow6" else "Avro")
    assert sum(row["inserts"] for row in found["parts"]["files"]) == 10
    assert set(found["details"]["contents"]["partitionToWriteStats"]) == {"oslo", "rome"}


@pytest.mark.parametrize(
    "name",
    ["valid_log_avro_data", "valid_log_delete", "valid_log_parquet_data", "valid_log_rollback"],
)
def test_logs_of_hudi(run: Run, name: str, golden_files: Callable[[str], Path]) -> None:
    for file in sorted(golden_files(f"logs/{name}").rglob("*log*")):
        if file.is_file():
            assert said(run("inspect", file, "--json"))["facts"]["blocks"] > 0


def test_hfiles_of_hudi(run: Run, golden_files: Callable[[str], Path]) -> None:
    for file in sorted(golden_files("hfiles").glob("*.hfile")):
        found = said(run("inspect", file, "--json"))
        assert found["kind"] == "HFile" and len(found["parts"].get("entries", ())) <= 5


def test_what_nobody_decodes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for path, word in (
        ("a.txt", "log files"),
        ("nothing", "does not exist"),
        ("", "names no file"),
    ):
        code, out, err = run("inspect", tmp_path / path if path else f"{tmp_path}/")
        assert (code, out) == (2, "") and word in err and err.count("\n") == 1


def test_a_file_in_a_store(run: Run, tmp_path: Path) -> None:
    trips(tmp_path / "trips", "cow9")
    assert hoodoo.open(f"file://{tmp_path}/trips").config.name == "trips"
    assert (
        said(run("inspect", f"file://{tmp_path}/trips/.hoodie/hoodie.properties", "--json"))["kind"]
        == "properties"
    )


def test_a_folder(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path, f"{tmp_path}/", "."):
        code, _, err = run("inspect", path)
        assert code == 2 and ("is a folder" in err or "names no file" in err)


def test_control_characters_are_not_printed(run: Run, tmp_path: Path) -> None:
    """A terminal would obey them."""
    (tmp_path / "hoodie.properties").write_text("a=\x1b[31mred\x07end\n\x1b[2Jb=c\n")
    code, out, _ = run("inspect", tmp_path / "hoodie.properties")
    assert code == 0 and "\\x1b[31mred\\x07end" in out and "\x1b" not in out

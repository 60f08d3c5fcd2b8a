"""Commands over many tables: of a folder, of a file; one that fails does not end the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, StorageError
from hoodoo_cli.toolkit import many
from hoodoo_cli.toolkit.prices import Prices

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    orders = {"record_key": "id", "ordering": "ts", "table_type": "mor"}
    table = hoodoo.create(tmp_path / "lake/sales/orders", [{"id": 1, "ts": 1}], **orders)
    table.upsert([{"id": 1, "ts": 2}])
    trips = hoodoo.create(tmp_path / "lake/trips", "id bigint", record_key="id")
    trips.insert([{"id": 1}, {"id": 2}])
    return tmp_path / "lake"


def said(answer: tuple[int, str, str], code: int = 0) -> Any:
    assert answer[0] == code, answer
    return json.loads(answer[1])


def spoil(lake: Path) -> None:
    path = lake / "trips/.hoodie/hoodie.properties"
    path.write_text(path.read_text().replace("hoodie.table.version=9", "hoodie.table.version=99"))


def test_figures_of_each(run: Run, lake: Path) -> None:
    orders, trips = said(run("stats", lake, "--json", "--price", "file=2000"))
    assert (orders["name"], orders["state"], orders["error"]) == ("sales/orders", "ok", None)
    found = orders["result"]
    assert (found["log_files"], found["compaction_lag"], found["rows"]) == (1, 1, 1)
    assert found["compaction_since"] and found["findings"] == []
    assert (trips["result"]["rows"], trips["result"]["week_rows"]) == (2, 2)
    assert trips["result"]["compaction_since"] is None
    size = sum(f.stat().st_size for f in (lake / "trips").glob("*.parquet"))
    assert trips["result"]["bytes"] == size
    assert trips["result"]["cost"] == pytest.approx(size * 2e-6)
    code, out, _ = run("stats", lake)
    assert code == 0 and "2 tables" in out and "sales/orders" in out
    assert "a month" in run("stats", lake, "--price", "1")[1]


def test_one_that_fails_does_not_end_the_others(run: Run, lake: Path) -> None:
    spoil(lake)
    for command in (("stats",), ("verify", "--quick")):
        first, second = said(run(command[0], lake, *command[1:], "--json"), 1)
        assert first["state"] == "ok" and first["result"]
        assert second["state"] == "unsupported" and second["result"] is None
        assert "99" in second["error"]
        code, out, _ = run(command[0], lake, *command[1:])
        assert code == 1 and "unsupported" in out


def test_a_fault_of_ours_is_a_line_too(
    run: Run, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("hoodoo_cli.commands.stats._summary", fail)
    first, second = said(run("stats", lake, "--json"), 1)
    assert first["state"] == second["state"] == "failed" and "KeyError" in first["error"]


def test_verify(run: Run, lake: Path) -> None:
    assert [one["result"]["ok"] for one in said(run("verify", lake, "--json"))] == [True, True]
    next((lake / "trips").glob("*.parquet")).unlink()
    orders, trips = said(run("verify", lake, "--json"), 1)
    assert orders["result"]["ok"] and trips["result"]["findings"]
    code, out, _ = run("verify", lake)
    assert code == 1 and "trips: 1 finding." in out and "1 with findings" in " ".join(out.split())


@pytest.mark.sampled(1, among="long")
def test_doctor(run: Run, lake: Path) -> None:
    found = json.loads(run("doctor", lake, "--no-probe", "--json")[1])
    assert found["environment"].keys() == found["tables"][0]["result"].keys()
    assert [one["result"]["ok"] for one in found["tables"]] == [True, True]
    spoil(lake)
    code, out, _ = run("doctor", lake)
    assert code == 1 and "trips: unsupported" in out


def test_a_file_of_paths(run: Run, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "empty/inner").mkdir(parents=True)
    paths = tmp_path / "paths.txt"
    lines = [
        "# ours",
        "",
        f"{lake}/trips",
        f"{lake}/sales/",
        f"{tmp_path}/none",
        f"{tmp_path}/empty",
    ]
    paths.write_text("\n".join(lines))
    found = said(run("ls", paths, "--json"), 1)
    states = {one["name"].removeprefix(f"{tmp_path}/"): one["state"] for one in found}
    assert states == {
        "lake/trips": "ok",
        "lake/sales/orders": "ok",
        "none": "unreachable",
        "empty": "damaged",
    }
    code, out, _ = run("verify", paths)
    assert code == 1 and "4 tables, 2 can't be read" in " ".join(out.split())
    code, out, _ = run("stats", paths)
    assert code == 1 and "4 tables, 2 can't be read, " in " ".join(out.split())
    paths.write_text(f"{lake}/trips")
    assert [one["state"] for one in said(run("verify", paths, "--json"))] == ["ok"]


@pytest.mark.parametrize(
    ("content", "rule"), [(b"# none\n", "has no tables"), (b"\xff\xfe", "is no text")]
)
def test_a_file_that_names_nothing_is_refused(
    run: Run, tmp_path: Path, content: bytes, rule: str
) -> None:
    (tmp_path / "paths").write_bytes(content)
    code, _, err = run("verify", tmp_path / "paths")
    assert code == 2 and rule in " ".join(err.split())


def test_a_folder_without_tables_is_no_table(run: Run, tmp_path: Path) -> None:
    """As before there were many: the table's own sentence."""
    (tmp_path / "a/b").mkdir(parents=True)
    code, _, err = run("stats", tmp_path)
    assert code == 2 and "table" in err


@pytest.mark.parametrize("given", [["s3=x"], ["-1"], ["nan"], ["1", "2"]])
def test_prices_that_are_none(given: list[str]) -> None:
    with pytest.raises(ConfigError, match="Fix: "):
        Prices.of(given)


def test_the_price_of_a_store() -> None:
    prices = Prices.of(["s3=1", "0.5"])
    assert prices.cost("s3://b/t", 10**9) == 1 and prices.cost("/t", 10**9) == 0.5
    assert Prices.of(["s3://=1"]).cost("/t", 1) is None


@pytest.mark.sampled(1, among="long")
def test_what_to_look_at(tmp_path: Path) -> None:
    """Each finding by a table that has it; now is later than the pending plan."""
    table = hoodoo.create(tmp_path / "t", [{"id": 1}], record_key="id", table_type="mor")
    for _ in range(20):
        table.upsert([{"id": 1}])
    table.schedule("compaction")
    found = table.report("summary")
    kinds = [one.kind for one in found.findings()]
    assert kinds == ["compaction.lag"] and found.pending == 1
    assert found.last_commit_at is not None
    later = found.findings(found.last_commit_at + 3 * 86_400)
    assert [one.kind for one in later] == ["compaction.lag", "instant.pending"]
    table.run("compaction")
    done = hoodoo.open(tmp_path / "t").report("summary")
    assert done.compaction_lag == 0 and done.findings() == () and done.pending == 0
    small = table.report("summary", now=found.last_commit_at + 8 * 86_400)
    assert small.week_bytes == 0 and done.week_bytes > 0


def test_small_files_and_old_ones(tmp_path: Path) -> None:
    options = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}
    table = hoodoo.create(tmp_path / "t", "id bigint", record_key="id", options=options)
    for number in range(10):
        table.insert([{"id": number}])
    assert table.report("summary", small_file=10**8).findings()[0].kind == "files.small"
    assert table.report("summary").clustering_lag is None
    reopened = hoodoo.open(tmp_path / "t")
    reopened.run("clustering")
    found = reopened.report("summary")
    assert found.clustering_lag == 0 and found.old_bytes > 0


def test_an_entry_that_fails_is_no_table() -> None:
    """What looks for tables must not take one error for the only table."""

    class Closed:
        def entry(self, name: str) -> object:
            raise StorageError("catalog", "answers 503.", "Wait.")

    (one,) = many._of_entry(Closed(), "db.t", {})
    assert not one.is_table and one.error is not None


def test_a_bucket_has_two_schemes() -> None:
    """A table that was listed is not listed again for an entry with the other one."""

    class Lake:
        def entry(self, name: str) -> Any:
            return SimpleNamespace(location="s3a://bucket/t/")

    assert many._of_entry(Lake(), "t", {}, {many.where_it_lies("s3://bucket/t")}) == []


def test_the_price_of_one_table(run: Run, lake: Path) -> None:
    code, out, _ = run("stats", lake / "trips", "--price", "file=2000")
    assert code == 0 and "a month" in out
    assert said(run("stats", lake / "trips", "--json", "--price", "file=2000"))["cost"] > 0
    assert "cost" not in said(run("stats", lake / "trips", "--json"))

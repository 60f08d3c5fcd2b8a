"""``hoodoo ls``: a line for each table, the same as JSON, and an exit code for what could not be read."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pytest
from table_makers import Run, said


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    hoodoo.create(tmp_path / "sales/orders", [{"id": 1}], record_key="id", table_type="mor")
    hoodoo.create(tmp_path / "trips", "id bigint", record_key="id", table_version=6)
    return tmp_path


def test_a_line_for_each(run: Run, lake: Path) -> None:
    code, out, _ = run("ls", lake)
    newest = hoodoo.open(lake / "sales/orders").timeline().writes()[-1].requested
    lines = [line.split() for line in out.splitlines()]
    assert code == 0 and ["sales/orders", "mor", "9", newest] in lines
    assert ["trips", "cow", "6"] in lines and "2 tables" in out


def test_json(run: Run, lake: Path) -> None:
    orders, trips = said(run("ls", lake, "--json"))
    table = hoodoo.open(lake / "sales/orders")
    last = table.timeline().writes()[-1]
    assert orders == {
        "path": table.path, "name": "sales/orders", "table": "orders", "type": "MERGE_ON_READ", "version": 9,
        "last": last.requested, "completed": last.completed, "action": "deltacommit", "pending": 0, "is_table": True, "is_backup": False,
        "state": "ok", "error": None,
    }  # fmt: skip
    assert (trips["name"], trips["last"]) == ("trips", None)


def test_what_can_not_be_read(run: Run, lake: Path) -> None:
    (lake / "trips/.hoodie/hoodie.properties").unlink()
    code, out, _ = run("ls", lake)
    assert code == 1 and "2 tables" in out and "damaged: " in " ".join(out.split())
    code, out, err = run("ls", lake / "nope")
    assert code == 2 and "does not exist" in err
    (lake / "empty/inner").mkdir(parents=True)
    code, out, _ = run("ls", lake / "empty")
    assert code == 0 and "no tables" in " ".join(out.split())

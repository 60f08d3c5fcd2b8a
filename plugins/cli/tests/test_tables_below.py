"""The tables below a folder: found whatever lies beside them, and what can't be read is told apart from what is not there."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import hoodoo
import pytest
from hoodoo.errors import ConfigError, StorageError
from hoodoo.table.settings import open_storage
from hoodoo.testing.stores import Delegating
from hoodoo_cli.tables_below import TableBelow, tables_below

T = TypeVar("T")
MANY = 500


def names(place: Path) -> list[str]:
    return [table.name for table in tables_below(place)]


def fabricated(folder: Path, count: int) -> None:
    """``count`` tables, in ten folders, with three completed writes and a pending one each."""
    hoodoo.create(folder / "first", "id bigint", record_key="id")
    text = (folder / "first/.hoodie/hoodie.properties").read_bytes()
    for number in range(1, count):
        home = folder / f"team{number % 10}" / f"t{number:03}" / ".hoodie"
        (home / "timeline").mkdir(parents=True)
        (home / "hoodie.properties").write_bytes(text)
        for day in (1, 2, 3):
            (home / f"timeline/2024010{day}000000000_2024010{day}000001000.commit").touch()
        (home / "timeline/20240104000000000.commit.requested").touch()


def test_tables_of_all_levels(tmp_path: Path) -> None:
    made = hoodoo.create(tmp_path / "a/b/orders", [{"id": 1}], record_key="id", table_type="mor")
    hoodoo.create(tmp_path / "trips", "id bigint", record_key="id", table_version=6)
    (tmp_path / "files/day=1").mkdir(parents=True)
    (tmp_path / "files/day=1/x.parquet").touch()
    for hidden in (".trash/t", "_old/t", "delta/_delta_log", "delta/t"):
        (tmp_path / hidden / ".hoodie").mkdir(parents=True)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    trips, orders = tables_below(tmp_path)
    assert (trips.name, orders.name) == ("trips", "a/b/orders")
    assert orders.path == made.path and orders.state == "ok" and orders.pending == 0
    assert orders.config is not None and orders.config.table_type == "MERGE_ON_READ"
    assert orders.last == made.timeline().writes()[-1]
    assert trips.config is not None and trips.config.version == 6 and trips.last is None


def test_the_place_itself_is_a_table(tmp_path: Path) -> None:
    hoodoo.create(tmp_path / "t", "id bigint")
    (found,) = tables_below(tmp_path / "t")
    assert (found.name, found.path) == ("", hoodoo.open(tmp_path / "t").path)
    (same,) = tables_below(open_storage(tmp_path / "t", {}))
    assert same == found


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, said in (("nope", "does not exist"), ("file", "is a file"), ("empty", "is empty")):
        with pytest.raises(ConfigError, match=said) as caught:
            tables_below(tmp_path / name)
        assert caught.value.fix
    assert names(tmp_path) == []


def test_tables_that_can_not_be_read(tmp_path: Path) -> None:
    fabricated(tmp_path, 3)
    (tmp_path / "team1/t001/.hoodie/hoodie.properties").unlink()
    properties = tmp_path / "team2/t002/.hoodie/hoodie.properties"
    properties.write_text("hoodie.table.name=t\nhoodie.table.version=77\n")
    (tmp_path / "cut/.hoodie").mkdir(parents=True)
    (tmp_path / "cut/.hoodie/hoodie.properties").write_text(
        "hoodie.table.name=t\nhoodie.table.checksum=1\n"
    )
    states = {table.name: table.state for table in tables_below(tmp_path)}
    assert states == {
        "first": "ok", "team1/t001": "damaged", "team2/t002": "unsupported", "cut": "damaged",
    }  # fmt: skip


class Refusing(Delegating):
    """A store that refuses what lies below some paths."""

    refused: tuple[str, ...] = ()
    cause: OSError = PermissionError(13, "Permission denied")

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if path and path.startswith(self.refused):
            raise StorageError(
                path, f"{op} failed: {self.cause.strerror}.", "Look."
            ) from self.cause
        return call()


@pytest.mark.parametrize(
    ("cause", "state"), [(PermissionError, "denied"), (OSError, "unreachable")]
)
def test_what_may_not_be_read_is_told_apart(
    tmp_path: Path, cause: type[OSError], state: str
) -> None:
    fabricated(tmp_path, 4)
    storage = Refusing(open_storage(tmp_path, {}))
    storage.refused, storage.cause = ("team1/t001/.hoodie", "team2"), cause(errno.EIO, "no")
    found: dict[str, TableBelow] = {table.name: table for table in tables_below(storage)}
    assert {name: table.state for name, table in found.items()} == {
        "first": "ok", "team1/t001": state, "team2": state, "team3/t003": "ok",
    }  # fmt: skip
    assert [found[name].is_table for name in ("team1/t001", "team2")] == [True, False]
    assert found["team2"].error is not None and found["team2"].error.fix


def test_many_tables(tmp_path: Path) -> None:
    fabricated(tmp_path, MANY)
    begun = time.monotonic()
    found = list(tables_below(tmp_path))
    took = time.monotonic() - begun
    assert len(found) == MANY and took < 10
    assert {table.pending for table in found[1:]} == {1}
    assert {table.last and table.last.requested for table in found[1:]} == {"20240103000000000"}

"""What a store says of itself, and what follows: whose processes see it, and where rows that wait may lie."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError, StorageError
from hoodoo.storage.api import has_plain_files, is_shared
from hoodoo.testing.stores import Delegating
from hoodoo_rows.engine.spill import Spill
from hoodoo_rows.testing.contracts.engine_streams import ROWS, rows
from hoodoo_rows.testing.engine_steps import Refuse, Route
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage


class Alone(Delegating):
    """A store that only its process sees, and whose bytes are its own."""

    shared = False
    plain_files = False


def test_a_store_says_what_others_find_in_it(tmp_path: Path) -> None:
    local = LocalStorage(str(tmp_path))
    assert is_shared(local)
    assert has_plain_files(local)
    alone: Any = Alone(local)
    assert not is_shared(alone)
    assert not has_plain_files(alone)


def test_rows_that_wait_lie_in_the_scratch_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exchange and a stage; where no table is known, in the system's directory."""
    made: list[str | None] = []
    mkdtemp = tempfile.mkdtemp

    def noted(prefix: str, dir: str | None) -> str:
        made.append(dir)
        return mkdtemp(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkdtemp", noted)
    storage = LocalStorage(str(tmp_path), durable=False)
    engine = LocalEngine(2).on(storage)
    stream = engine.map(engine.source(rows(1000)), Route(ROWS, 2, 1))
    assert engine.collect(engine.exchange(stream, 2)).num_rows == 1000
    assert made == [storage.scratch()]
    assert LocalEngine(2) == engine  # no other engine, for who compares
    LocalEngine(2).exchange(stream, 2)
    assert made[-1] is None


def test_an_error_that_is_held_keeps_no_file_in_the_table(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path), durable=False)
    engine = LocalEngine(1).on(storage)
    stream = engine.exchange(engine.map(engine.source(rows(100)), Route(ROWS, 2, 1)), 2)
    with pytest.raises(HoodooError) as caught:
        engine.collect(engine.map(stream, Refuse(stream.schema, 50)))
    assert caught.tb is not None  # and with it all that was under way
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@pytest.mark.parametrize("plain", [True, False])
def test_a_table_that_can_only_be_read_has_no_scratch_directory(
    tmp_path: Path, plain: bool
) -> None:
    """Rows may lie elsewhere where anybody can read its files; those of a store that protects them may not."""

    class ReadOnly(Delegating):
        plain_files = plain

        def scratch(self) -> str:
            raise StorageError("scratch", "read-only file system.", "")

    storage: Any = ReadOnly(LocalStorage(str(tmp_path), durable=False))
    if plain:
        assert Spill(storage).path(0).startswith(tempfile.gettempdir())
        return
    with pytest.raises(StorageError):
        Spill(storage)


def test_a_write_puts_nothing_where_the_system_has_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o500)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    used: list[str | None] = []
    mkdtemp = tempfile.mkdtemp
    monkeypatch.setattr(
        tempfile, "mkdtemp", lambda prefix, dir: used.append(dir) or mkdtemp(prefix=prefix, dir=dir)
    )
    data = pa.table({"id": list(range(50)), "v": ["x"] * 50})
    table = hoodoo.create(str(tmp_path / "t"), data.schema, record_key="id")
    table.upsert(data)
    table.upsert(data.slice(10))
    table.cluster(columns=["v"], order="linear")
    assert table.read().count() == 50
    assert used
    assert all(used)

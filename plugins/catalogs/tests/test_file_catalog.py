"""The file catalog keeps the contract of catalogs, on local disks and where writers are late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hoodoo.errors import StorageError
from hoodoo_catalogs.file import FOLDER, FileCatalog
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable
from hoodoo_catalogs.testing.catalog import CatalogContract
from hoodoo_catalogs.testing.fakes import MemoryCatalog
from hoodoo_standard.storage.local import LocalStorage

TABLE = CatalogTable("t", "s3://bucket/t")


class TestFileCatalog(CatalogContract):
    @pytest.fixture
    def catalog(self, tmp_path: Path) -> FileCatalog:
        return FileCatalog(LocalStorage(str(tmp_path / FOLDER)))


class TestMemoryCatalog(CatalogContract):
    @pytest.fixture
    def catalog(self) -> MemoryCatalog:
        return MemoryCatalog()


@pytest.fixture
def catalog(tmp_path: Path) -> FileCatalog:
    return FileCatalog(LocalStorage(str(tmp_path / "c")))


def files(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "c").iterdir() if path.is_file())


def test_one_file_for_each_table(tmp_path: Path, catalog: FileCatalog) -> None:
    for name in ("t", "db.t", "t.0000000001"):
        assert catalog.put(evolve(TABLE, name=name))
    for n in range(3):
        assert catalog.put(evolve(catalog.find("t"), parameters={"n": str(n)}))
    assert files(tmp_path) == [
        "db.t.0000000001.json",
        "t.0000000001.0000000001.json",
        "t.0000000004.json",
    ]
    assert catalog.tables() == ("db.t", "t", "t.0000000001")
    assert catalog.drop("t")
    assert files(tmp_path)[-1] == "t.0000000005.dropped"
    assert catalog.put(TABLE)
    assert files(tmp_path)[-1] == "t.0000000006.json"


def test_a_writer_that_is_late_replaces_nothing(
    tmp_path: Path, catalog: FileCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has looked, others put two versions and deleted its own: the file that it puts is taken
    back."""
    assert catalog.put(TABLE)
    old = catalog.find("t")
    late = FileCatalog(catalog.storage)
    newest = late._newest()
    for n in range(2):
        assert catalog.put(evolve(catalog.find("t"), parameters={"n": str(n)}))
    monkeypatch.setattr(FileCatalog, "_newest", lambda self: newest)
    assert not late.put(evolve(old, parameters={"n": "late"}))
    monkeypatch.undo()
    assert files(tmp_path) == ["t.0000000003.json"]
    found = catalog.find("t")
    assert found is not None and found.parameters == {"n": "1"}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 1}', b'{"format": 2}', b"\xff"])
def test_a_file_that_is_no_entry(tmp_path: Path, catalog: FileCatalog, content: bytes) -> None:
    assert catalog.put(TABLE)
    (tmp_path / "c" / files(tmp_path)[0]).write_bytes(content)
    with pytest.raises(CatalogError, match=r"t\.0000000001\.json"):
        catalog.find("t")


def test_a_store_that_fails_is_named(catalog: FileCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> Any:
        raise StorageError("the store", "is down.", "Wait.")

    assert catalog.put(TABLE)
    monkeypatch.setattr(LocalStorage, "list", fails)
    for call in (catalog.tables, lambda: catalog.find("t"), lambda: catalog.put(TABLE)):
        with pytest.raises(CatalogError, match="is down"):
            call()

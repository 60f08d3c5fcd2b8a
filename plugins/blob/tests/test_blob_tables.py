"""Tables with columns of the type BLOB: bytes in the table and in files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, SchemaError, StorageError


def blobs(tmp_path: Path, *references: dict[str, Any], **options: str) -> Any:
    table = hoodoo.create(
        tmp_path / "t", "id bigint, b BLOB", record_key="id", options=options or None
    )
    (tmp_path / "t/files").mkdir()
    (tmp_path / "t/files/a").write_bytes(b"0123456789")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/c").write_bytes(b"beside")
    made = [{"type": "OUT_OF_LINE", "reference": one} for one in references]
    table.upsert([{"id": n, "b": one} for n, one in enumerate(made)])
    return table


def test_blobs_are_read_where_they_are(tmp_path: Path) -> None:
    table = blobs(
        tmp_path,
        {"external_path": "files/a"},
        {"external_path": f"{tmp_path}/t/files/a", "offset": 2, "length": 3},
        {"external_path": f"file://{tmp_path}/t/files/a", "offset": 8},
    )
    table.upsert(pa.table({"id": [7, 8], "b": pa.array([b"inline", None])}))
    found = table.read_blob("b").sort_by("id")
    assert found["b"].to_pylist() == [b"0123456789", b"234", b"89", b"inline", None]
    assert table.read(where="id = 1").read_blob("b")["b"].to_pylist() == [b"234"]
    assert table.read_blob("b", where="id = 2", columns=["id"]).to_pylist() == [
        {"id": 2, "b": b"89"}
    ]
    sql = hoodoo.sql("SELECT read_blob(b) FROM t WHERE id = 1", tables={"t": table})
    assert sql.to_pylist() == [{"read_blob(b)": b"234"}]
    with pytest.raises(SchemaError, match="has no blobs"):
        table.read_blob("id")
    for wrong, error in ((pa.array([1]), SchemaError), (b"bytes", ConfigError)):
        with pytest.raises(error, match="blobs"):
            table.blob_bytes(wrong)


def test_rows_of_python_have_bytes_beside_references(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, b BLOB", record_key="id")
    where = {"type": "OUT_OF_LINE", "reference": {"external_path": "f"}}
    table.upsert([{"id": 0, "b": b"x"}, {"id": 1, "b": where}, {"id": 2, "b": None}])
    kinds = [b and b["type"] for b in table.read().to_arrow().sort_by("id")["b"].to_pylist()]
    assert kinds == ["INLINE", "OUT_OF_LINE", None]
    with pytest.raises(SchemaError, match="column b"):
        table.upsert([{"id": 3, "b": where}, {"id": 4, "b": 7}])
    assert table.count() == 3


def test_a_reference_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "beside")
    paths = ("../beside/c", f"{tmp_path}/beside/c", f"{tmp_path}/t/../beside/c")
    table = blobs(tmp_path, *({"external_path": one} for one in paths))
    (tmp_path / "t/files/link").symlink_to(tmp_path / "beside/c")
    linked = {"type": "OUT_OF_LINE", "reference": {"external_path": "files/link"}}
    table.upsert([{"id": 3, "b": linked}])
    assert table.read().count() == 4  # which opens no such file
    for number in range(4):
        with pytest.raises(ConfigError, match="outside of the table"):
            table.read_blob("b", where=f"id = {number}")
    allowed = hoodoo.open(tmp_path / "t", options={"hoodoo.blob.folders": f"{tmp_path}/beside"})
    assert allowed.read_blob("b")["b"].to_pylist() == [b"beside"] * 4
    folders = [f"{tmp_path}/beside"]
    assert table.read(where="id = 0").read_blob("b", folders)["b"].to_pylist() == [b"beside"]


def test_files_that_are_lost_or_short_are_named(tmp_path: Path) -> None:
    table = blobs(
        tmp_path,
        {"external_path": "files/lost"},
        {"external_path": "files/a", "offset": 5, "length": 9},
    )
    for number, words in enumerate(("file files/lost of a blob", "has 10 bytes")):
        with pytest.raises(StorageError, match=words):
            table.read_blob("b", where=f"id = {number}")


def test_wrong_blobs_are_refused(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, b BLOB", record_key="id")
    reference = {"external_path": "a", "managed": True}
    for wrong in ({"type": "INLINE"}, {"type": "OUT_OF_LINE", "reference": reference}):
        with pytest.raises(SchemaError, match="column b"):
            table.upsert([{"id": 1, "b": wrong}])
    assert table.read().count() == 0

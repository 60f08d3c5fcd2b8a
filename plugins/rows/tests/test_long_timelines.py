"""A long timeline costs a process its names once: an upsert, and a table opened anew, parse what has come since."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.timeline import replaced, replaced_note
from hoodoo.timeline.codec import large
from hoodoo.timeline.layouts.base import TimelineLayout
from hoodoo_rows.write import tagging
from hoodoo_standard.storage.local import LocalStorage

from tests.bench.scale import fabricate


def counts(path: str, monkeypatch: pytest.MonkeyPatch, commits: int, action: str) -> Counter[str]:
    fabricate.with_commits(path, commits, action)
    handle = hoodoo.open(path, fabricate.QUIET, engine="local")
    handle.upsert(fabricate.rows(10))
    found: Counter[str] = Counter()

    def counted(owner: type[Any], name: str) -> None:
        before = getattr(owner, name)

        def call(self: Any, *args: Any, **named: Any) -> Any:
            found[name] += 1
            return before(self, *args, **named)

        monkeypatch.setattr(owner, name, call)

    counted(TimelineLayout, "parse_instant")
    for name in ("names", "list", "get"):
        counted(LocalStorage, name)
    handle.upsert(fabricate.rows(10))
    found["upsert"] = found["parse_instant"]
    assert hoodoo.open(path, engine="local").read().to_arrow().num_rows == fabricate.ROWS
    monkeypatch.undo()
    return found


@pytest.mark.parametrize("action", ["commit", "replacecommit"])
def test_what_is_parsed_and_asked_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    few, many = (counts(str(tmp_path / f"{n}"), monkeypatch, n, action) for n in (100, 400))
    assert few == many
    assert many["upsert"] <= 12


def test_a_restore_brings_back_what_is_noted_as_replaced(tmp_path: Path) -> None:
    """And what replacecommits took out stays out, for a process that reads the note alone."""

    def rows() -> int:
        """As a new process sees them."""
        replaced._seen.clear()
        replaced_note._known.clear()
        return hoodoo.open(path, engine="local").read().to_arrow().num_rows

    path = str(tmp_path / "t")
    fabricate.with_commits(path, 60, "replacecommit")
    table = hoodoo.open(path, fabricate.QUIET, engine="local")
    kept = table.insert_overwrite(fabricate.rows(20)).instant
    assert not (tmp_path / "t" / replaced_note.PATH).exists()
    for count in range(1, 8):
        table.insert_overwrite(fabricate.rows(count))
    noted = replaced_note.load(table.handle.storage)
    assert len(noted) >= 65 and any(name.startswith(kept) for name in noted)
    assert rows() == 7
    table.restore(kept)
    assert rows() == 20
    table.insert_overwrite(fabricate.rows(3))
    assert rows() == 3
    (tmp_path / "t" / replaced_note.PATH).unlink()
    assert rows() == 3


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_small_write_after_a_large_commit_decodes_its_own_paths_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, metadata: str
) -> None:
    """Each write paid for all files of the largest commit before it."""
    monkeypatch.setattr(large, "LARGE", 0)
    monkeypatch.setattr(tagging, "_SAMPLE", 3)
    table = hoodoo.create(
        str(tmp_path / "t"), "id bigint, p string", record_key="id", partition_by="p", table_type=kind,
        options={"hoodie.metadata.enable": metadata},
    )  # fmt: skip
    table.bulk_insert(pa.table({"id": range(60), "p": [f"p{n % 20}" for n in range(60)]}))
    decoded, made = Counter[str](), large.LazyStats._made

    def counted(self: Any, raw: Any) -> Any:
        decoded["stats"] += sum(map(len, raw.values()))
        return made(self, raw)

    monkeypatch.setattr(large.LazyStats, "_made", counted)
    found = hoodoo.open(table.path).upsert([{"id": 1, "p": "p1"}, {"id": 1001, "p": "p1"}])
    assert (found.inserted, found.updated) == (1, 1)
    assert 0 < decoded["stats"] < 10, "of 20"

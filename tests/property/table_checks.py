"""What is compared: rows with the dictionary and with `hudi`, files and commits with the rows."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fastavro
import hoodoo
import hudi
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.write.commit import Commit
from table_model import Model, Setup

Place = tuple[str, str]


def canonical(table: pa.Table) -> list[str]:
    """Rows in one order, as text: NaN equals itself, -0.0 is not 0.0."""
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def table_of(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """``Table.from_pylist`` for schemas with variants."""
    found = {}
    for one in schema:
        values = [row[one.name] for row in rows]
        is_variant = one.type == hoodoo.variant()
        found[one.name] = hoodoo.variants(values) if is_variant else pa.array(values, one.type)
    return pa.table(found, schema)


def as_uuids(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Texts of UUIDs in Arrow's type."""
    return pa.array([t and uuid.UUID(t) for t in texts.to_pylist()], pa.uuid())


def compare(
    found: pa.Table | None, schema: pa.Schema, model: Model, where: str, exact: bool = True
) -> None:
    """``found`` (None: no rows) holds the rows of the model, meta columns included. ``exact``: also
    the schema."""
    if found is None:
        assert not exact and not model.rows, where
        return
    own = [n for n in found.schema.names if n not in META_COLUMNS]
    shown = model.setup.shown_meta
    if exact:
        assert found.schema.names == [*schema.names, *META_COLUMNS], where
        for name in () if shown is None else META_COLUMNS:  # no file has a value of the others
            assert name in shown or found[name].null_count == found.num_rows, f"{where}: {name}"
        assert found.select(own).schema.equals(schema), where
    rows = [
        {
            "_hoodie_commit_time": r.instant,
            "_hoodie_record_key": r.key,
            "_hoodie_partition_path": r.path,
            **r.values,
        }
        for r in model.rows.values()
    ]
    if shown is not None:  # `hudi` shows none of a table with virtual keys
        there = set(shown) & set(found.schema.names) if exact else set()
        rows = [
            {n: v for n, v in row.items() if n not in META_COLUMNS or n in there} for row in rows
        ]
    meta = pa.schema([(n, pa.string()) for n in META_COLUMNS if n in (rows[0] if rows else ())])
    expected = pa.Table.from_pylist(rows, schema=pa.schema([*meta, *schema]))
    seen, wanted = canonical(found.select(expected.schema.names)), canonical(expected)
    surplus = [row for row in seen if row not in wanted]
    missing = [row for row in wanted if row not in seen]
    assert seen == wanted, f"{where}\nsurplus {surplus}\nmissing {missing}"


def hudi_rows(path: Path, as_of: str | None = None) -> pa.Table | None:
    """What the independent reader gives; None for no rows (it doesn't say their schema then)."""
    read = hudi.HudiReadOptions()
    if as_of is not None:
        read = read.with_as_of_timestamp(as_of)
    with one_ordering_column(path):
        batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(read)
    return pa.Table.from_batches(batches) if batches else None


@contextmanager
def one_ordering_column(path: Path) -> Iterator[None]:
    """`hudi` refuses tables with two ordering columns, copy-on-write ones too, which it reads
    without looking at them: while it reads, the table says that there is one."""
    file = path / ".hoodie" / "hoodie.properties"
    text = file.read_bytes()
    try:
        file.write_bytes(
            text.replace(b"hoodie.table.ordering.fields=o0,o1", b"hoodie.table.ordering.fields=o0")
        )
        yield
    finally:
        file.write_bytes(text)


def check_files(
    table: hoodoo.Table,
    path: Path,
    model: Model,
    seqnos: dict[Place, tuple[str, str]],
    commit: Commit,
    where: str,
) -> dict[Place, tuple[str, str]]:
    """The files themselves, read by pyarrow; the new (commit time, sequence number) of every row.

    Every row names the file and the directory that it lies in; rows that a write did not touch keep
    commit time and sequence number; sequence numbers are unique.
    """
    now: dict[Place, tuple[str, str]] = {}
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        file = pq.ParquetFile(path / slice_.base_file.path)
        rows = file.read(columns=list(META_COLUMNS)).to_pylist()
        keys = [row["_hoodie_record_key"] for row in rows]
        for row in rows:
            assert row["_hoodie_file_name"] == slice_.base_file.name, where
            assert row["_hoodie_partition_path"] == slice_.partition_path, where
            place = (slice_.partition_path, row["_hoodie_record_key"])
            assert place not in now, where
            now[place] = (row["_hoodie_commit_time"], row["_hoodie_commit_seqno"])
        footer = file.metadata.metadata
        assert footer.get(b"hoodie_min_record_key", b"").decode() == min(keys, default=""), where
        assert footer.get(b"hoodie_max_record_key", b"").decode() == max(keys, default=""), where
    assert now.keys() == model.rows.keys(), where
    numbers = [number for _, number in now.values()]
    assert len(set(numbers)) == len(numbers), where
    for place, (instant, number) in now.items():
        assert number.startswith(f"{instant}_"), where
        if instant != commit.instant:
            assert seqnos[place] == (instant, number), where
    return now


def check_virtual_files(
    table: hoodoo.Table, path: Path, model: Model, where: str, old: bool = False
) -> None:
    """The files of a table with virtual keys: those of the meta columns that are kept, and nothing about
    keys. ``old``: files of before may be there, which store all of them."""
    kept = model.setup.shown_meta
    assert kept is not None
    found = set()
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        file = pq.ParquetFile(path / slice_.base_file.path)
        names = [*META_COLUMNS, *model.setup.key]
        rows = file.read(columns=list(dict.fromkeys(names))).to_pylist()
        footer = file.metadata.metadata
        before = old and b"hoodie_min_record_key" in footer
        for row in rows:
            place = (slice_.partition_path, model.setup.record_key(row))
            assert place not in found, where
            found.add(place)
            filled = {n for n in META_COLUMNS if row[n] is not None}
            assert filled == set(META_COLUMNS if before else kept), where
            if "_hoodie_commit_time" in kept:
                assert row["_hoodie_commit_time"] == model.rows[place].instant, where
        assert before or not [k for k in footer if b"record_key" in k or b"bloom" in k], where
    assert found == model.rows.keys(), where


def check_stats(path: Path, setup: Setup, commit: Commit, where: str, tidy: bool = True) -> None:
    """The commit file, decoded without Hoodoo, says what the files hold; if ``tidy``, nothing else is
    left."""
    content = _commit_file(path, setup, commit)
    stats = [s for found in (content["partitionToWriteStats"] or {}).values() for s in found]
    for stat in stats:
        if stat.get("logVersion") is not None:
            assert (path / stat["path"]).stat().st_size == stat["fileSizeInBytes"], where
            assert Path(stat["path"]).name in stat["logFiles"], where
            continue
        rows = pq.read_metadata(path / stat["path"]).num_rows
        size = (path / stat["path"]).stat().st_size
        assert (stat["numWrites"], stat["fileSizeInBytes"]) == (rows, size), where
        kept = rows - stat["numInserts"] - stat["numUpdateWrites"]
        assert kept >= 0 and (kept == 0 or stat["prevCommit"] != "null"), where
        directory = stat["path"].rpartition("/")[0]
        assert stat["partitionPath"] == directory, where
        assert (path / directory / ".hoodie_partition_metadata").is_file(), where
    if commit.operation not in ("compact", "cluster"):
        assert sum(s["numInserts"] for s in stats) == commit.inserted, where
        assert sum(s["numUpdateWrites"] for s in stats) == commit.updated, where
        assert sum(s["numDeletes"] for s in stats) == commit.deleted, where
    found = [*path.rglob(f"*_{commit.instant}.parquet"), *path.rglob(f".*_{commit.instant}.log.*")]
    written = {str(f.relative_to(path)) for f in found}
    written = {name for name in written if not name.startswith(".hoodie/")}
    if setup.version == 6:  # logs are named by their slice
        written |= {s["path"] for s in stats if s.get("logVersion") is not None}
        written &= {s["path"] for s in stats} | {w for w in written if w.endswith(".parquet")}
    assert written == {s["path"] for s in stats} == set(commit.files), where
    left = [f for f in (path / ".hoodie" / ".temp").rglob("*") if f.is_file()]
    assert not (tidy and left), where


def _commit_file(path: Path, setup: Setup, commit: Commit) -> dict[str, Any]:
    if setup.version == 6:
        text = (path / ".hoodie" / f"{commit.instant}.{commit.action}").read_text()
        return dict(json.loads(text))
    name = f"{commit.instant}_{commit.completed}.{commit.action}"
    data = (path / ".hoodie" / "timeline" / name).read_bytes()
    (record,) = fastavro.reader(io.BytesIO(data))
    return dict(record)

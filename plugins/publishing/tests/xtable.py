"""What Apache XTable makes of a Delta Lake or Iceberg table for readers of Hudi: a timeline over the
files of that table, which stay where they are.

By its rules (``HudiTableManager``, ``HudiConversionTarget``, ``BaseFileUpdatesExtractor``) and
Hudi's ``ExternalFilePathUtil``: one replacecommit for each state of the source, without an
operation; files have the id that is their name, and are named with the instant and ``_hudiext``;
partition paths are the folders of files; no meta columns, no keys but those of the source; and a
metadata table, which is what says that a file is in the table.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from unittest import mock

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.instant import Instant
from hoodoo_rows.api import Writes
from hoodoo_rows.produce.key_changes import WriteResult

SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"
_PAYLOAD = "hoodie.compaction.payload.class"
_OPTIONS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
}
NONPARTITIONED = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"


def synced(
    path: Path,
    schema: pa.Schema,
    files: set[str],
    *,
    keys: str = "",
    partition: str = "",
    version: int = 6,
) -> str:
    """Sync: the Hudi table at ``path`` has ``files`` (paths below it), and no others, from now on.
    The instant."""
    if not (path / ".hoodie").exists():
        _initialize(path, schema, keys, partition, version)
    # No writer here has this class; those of Hudi never call it in such a table.
    hoodoo.open(str(path)).handle.change_properties({_PAYLOAD: None})
    table = hoodoo.open(str(path), _OPTIONS)
    there = {s.base_file.path for s in table.handle.newest_slices()[1] if s.base_file}
    gone: dict[str, tuple[str, ...]] = {}
    for file in sorted(there - files):
        folder, _, name = file.rpartition("/")
        gone[folder] = (*gone.get(folder, ()), name)
    made = partial(_stats, path, sorted(files - there))
    request = table.handle.write_request(Writes.RELOCATE)
    with mock.patch("hoodoo_rows.kept_elsewhere.refuse_image"):  # we are XTable here
        Writes.replace(request, lambda target: (gone, made))
    table.handle.change_properties(
        {
            _PAYLOAD: "org.apache.hudi.common.model.HoodieAvroPayload",
            "hoodie.table.create.schema": None,
        }
    )
    return _as_xtable(path, table)


def _initialize(path: Path, schema: pa.Schema, keys: str, partition: str, version: int) -> None:
    # Hoodoo creates no table where files of others are: it is made beside them.
    begun = path.with_name(f"{path.name}-begun")
    hoodoo.create(
        str(begun),
        schema,
        record_key=keys or schema.names[0],
        partition_by=partition or None,
        table_version=version,
        options={**_OPTIONS, "hoodie.populate.meta.fields": "false"},
    )
    shutil.move(begun / ".hoodie", path / ".hoodie")
    begun.rmdir()
    table = hoodoo.open(str(path), _OPTIONS)
    styled = any("=" in child.name for child in path.iterdir() if child.is_dir())
    table.handle.change_properties(
        {
            "hoodie.table.name": path.name,
            "hoodie.table.recordkey.fields": keys,
            "hoodie.table.keygenerator.class": SIMPLE if partition else NONPARTITIONED,
            "hoodie.table.keygenerator.type": None,
            "hoodie.datasource.write.hive_style_partitioning": str(styled).lower(),
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.datasource.write.partitionpath.urlencode": "false",
        }
    )


def _stats(path: Path, added: list[str], instant: Instant) -> WriteResult:
    found = []
    for file in added:
        folder, _, name = file.rpartition("/")
        rows, size = pq.read_metadata(path / file).num_rows, (path / file).stat().st_size
        named = f"{file}_{instant.requested}_hudiext"
        found.append(WriteStat(folder, name, named, num_writes=rows, file_size=size))
    return WriteResult(tuple(found))


def _as_xtable(path: Path, table: hoodoo.Table) -> str:
    """The newest commit says what one of XTable says. Returns its instant."""
    timeline = table.timeline()
    newest = timeline.writes()[-1]
    file, said = path / timeline.path(newest), timeline.metadata(table.handle.storage, newest)
    metadata = {"lastInstantSynced": "2026-01-01T00:00:00Z", "instantsToConsiderForNextSync": []}
    extra = {
        "schema": said.extra["schema"],
        "XTABLE_METADATA": json.dumps(metadata),
        "XTABLE_SOURCE_IDENTIFIER": "0",
    }
    said = evolve(said, operation=Operation.UNKNOWN, extra=extra)
    file.write_bytes(timeline.layout.encode_commit(said, newest.action))
    return newest.requested
